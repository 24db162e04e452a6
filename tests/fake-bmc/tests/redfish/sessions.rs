use std::time::Duration;

use bessemer_fake_bmc::redfish::SessionCounts;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Bmc, Read, SESSIONS, SYSTEM, read};

async fn log_in(bmc: &Bmc, password: &str) -> Read {
    let body = json!({ "UserName": "admin", "Password": password });
    read(bmc.request(Method::POST, SESSIONS).json(&body).send().await.unwrap()).await
}

async fn with_token(bmc: &Bmc, method: Method, path: &str, token: &str) -> u16 {
    bmc.request(method, path).header("X-Auth-Token", token).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_session_lives_from_its_making_to_its_end() {
    let bmc = Bmc::start().await;
    let made = log_in(&bmc, "password").await;
    assert_eq!(made.status, 201, "{made:?}");
    let (token, location) = (made.header("x-auth-token").to_owned(), made.header("location").to_owned());
    assert_eq!(made.body["@odata.id"], location.as_str());
    assert_eq!(with_token(&bmc, Method::GET, SYSTEM, &token).await, 200);
    let listed = bmc.get(SESSIONS).await;
    assert_eq!(listed["Members"], json!([{ "@odata.id": location }]));
    assert_eq!(bmc.get(&location).await["UserName"], "admin");
    assert_eq!(with_token(&bmc, Method::DELETE, &location, &token).await, 204);
    assert_eq!(with_token(&bmc, Method::GET, SYSTEM, &token).await, 401);
    assert_eq!(bmc.get(SESSIONS).await["Members@odata.count"], 0);
    let counts = SessionCounts { created: 1, deleted: 1, peak: 1, ..SessionCounts::default() };
    assert_eq!(bmc.fake.redfish().session_counts(), counts);
}

#[tokio::test]
async fn the_table_has_an_end_and_counts() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.session_limit = 2);
    for expected in [201, 201, 503] {
        assert_eq!(log_in(&bmc, "password").await.status, expected);
    }
    assert_eq!(log_in(&bmc, "wrong").await.status, 401);
    bmc.change(|behaviour| behaviour.session_limit_status = 400);
    let refused = log_in(&bmc, "password").await;
    assert_eq!((refused.status, refused.message()), (400, "SessionLimitExceeded"));
    let counts = bmc.fake.redfish().session_counts();
    let expected = SessionCounts { created: 2, refused: 2, failed: 1, open: 2, peak: 2, ..SessionCounts::default() };
    assert_eq!(counts, expected);
}

#[tokio::test]
async fn a_session_that_is_not_used_ends() {
    let bmc = Bmc::start().await;
    let token = log_in(&bmc, "password").await.header("x-auth-token").to_owned();
    assert_eq!(with_token(&bmc, Method::GET, SYSTEM, &token).await, 200);
    bmc.change(|behaviour| behaviour.session_timeout = Duration::ZERO);
    assert_eq!(with_token(&bmc, Method::GET, SYSTEM, &token).await, 401);
    assert_eq!(bmc.fake.redfish().session_counts().expired, 1);
}

#[tokio::test]
async fn only_the_root_is_open() {
    let bmc = Bmc::start().await;
    let bare = |path: &'static str| bmc.request(Method::GET, path).send();
    for path in ["/redfish", "/redfish/v1", "/redfish/v1/", "/redfish/v1/odata", "/redfish/v1/$metadata"] {
        assert_eq!(bare(path).await.unwrap().status(), 200, "{path}");
    }
    let closed = bare(SYSTEM).await.unwrap();
    assert_eq!(closed.status(), 401);
    assert!(closed.headers().contains_key("www-authenticate"));
    bmc.change(|behaviour| behaviour.basic = false);
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.status, 401, "only sessions now");
}

#[tokio::test]
async fn wrong_locked_and_overdue_passwords() {
    let bmc = Bmc::start().await;
    bmc.fake.host().users().lockout = Some(1);
    assert_eq!(log_in(&bmc, "wrong").await.status, 401);
    let locked = log_in(&bmc, "password").await;
    assert_eq!((locked.status, &locked.body["error"]["message"]), (401, &json!("the account is locked")));
    {
        let mut users = bmc.fake.host().users();
        users.lockout = None;
        let admin = users.named_mut("admin").unwrap();
        (admin.locked, admin.must_change_password) = (false, true);
    }
    let made = log_in(&bmc, "password").await;
    assert_eq!(made.status, 201);
    let said = &made.body["@Message.ExtendedInfo"][0];
    let account = said["MessageArgs"][0].as_str().unwrap().to_owned();
    assert!(said["MessageId"].as_str().unwrap().ends_with(".PasswordChangeRequired"), "{said}");
    let closed = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((closed.status, closed.message()), (403, "PasswordChangeRequired"));
    assert_eq!(bmc.patch(&account, json!({ "Password": "short" })).await.status, 400);
    assert_eq!(bmc.patch(&account, json!({ "Password": "long enough" })).await.status, 204);
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.status, 401, "the old one is no more");
    assert_eq!(log_in(&bmc, "long enough").await.status, 201);
}

#[tokio::test]
async fn accounts_are_made_changed_and_limited_by_their_roles() {
    let bmc = Bmc::start().await;
    let accounts = "/redfish/v1/AccountService/Accounts";
    let body = json!({ "UserName": "guest", "Password": "guest-password", "RoleId": "ReadOnly" });
    let made = bmc.post(accounts, body.clone()).await;
    assert_eq!((made.status, made.header("location")), (201, "/redfish/v1/AccountService/Accounts/2"));
    assert_eq!(made.body["Password"], Value::Null);
    assert_eq!(bmc.post(accounts, body).await.message(), "ResourceAlreadyExists");
    let as_guest = |method: Method, path: &'static str| {
        let request = bmc.request(method, path).basic_auth("guest", Some("guest-password"));
        async move { request.json(&json!({ "AssetTag": "x" })).send().await.unwrap().status().as_u16() }
    };
    assert_eq!(as_guest(Method::GET, SYSTEM).await, 200);
    assert_eq!(as_guest(Method::PATCH, SYSTEM).await, 403);
    assert_eq!(bmc.patch(&format!("{accounts}/2"), json!({ "RoleId": "Operator" })).await.status, 204);
    assert_eq!(as_guest(Method::PATCH, SYSTEM).await, 204);
    assert_eq!(as_guest(Method::DELETE, "/redfish/v1/AccountService/Accounts/1").await, 403);
    assert_eq!(bmc.send(Method::DELETE, &format!("{accounts}/2"), None).await.status, 204);
    assert_eq!(as_guest(Method::GET, SYSTEM).await, 401);
}
