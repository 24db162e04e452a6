use std::time::{Duration, Instant};

use bessemer_fake_bmc::redfish::{Fault, Rule};
use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Bmc, SESSIONS, SYSTEM, read};

async fn with(fault: Fault) -> Bmc {
    let bmc = Bmc::start().await;
    bmc.fake.redfish().faults().add(Rule::on("GET", "/Systems/1$", fault).times(1));
    bmc
}

async fn then_well(bmc: &Bmc) {
    assert_eq!(bmc.get(SYSTEM).await["Id"], "1", "the next one is well");
}

#[tokio::test]
async fn late() {
    let bmc = with(Fault::Delay(Duration::from_millis(200))).await;
    let start = Instant::now();
    then_well(&bmc).await;
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn statuses() {
    let bmc = with(Fault::Status(503, Some(Duration::from_secs(7)))).await;
    let sent = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((sent.status, sent.header("retry-after")), (503, "7"));
    then_well(&bmc).await;
    let bmc = with(Fault::Status(500, None)).await;
    let sent = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((sent.status, sent.header("retry-after")), (500, ""));
    let bmc = with(Fault::Redirect(308, "/redfish/v1/Systems/1/".to_owned())).await;
    let sent = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((sent.status, sent.header("location")), (308, "/redfish/v1/Systems/1/"));
    let bmc = with(Fault::NotFound).await;
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.status, 404);
}

#[tokio::test]
async fn bodies_that_are_no_json() {
    for fault in [Fault::Garbage, Fault::EmptyBody, Fault::Html(200)] {
        let bmc = with(fault.clone()).await;
        let sent = bmc.send(Method::GET, SYSTEM, None).await;
        assert_eq!(sent.status, 200);
        assert!(sent.body.is_string(), "{fault:?}: {:?}", sent.body);
        then_well(&bmc).await;
    }
    let bmc = with(Fault::Html(403)).await;
    let sent = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((sent.status, sent.header("content-type")), (403, "text/html"));
    let bmc = with(Fault::ContentType("text/plain".to_owned())).await;
    let sent = bmc.send(Method::GET, SYSTEM, None).await;
    assert_eq!((sent.header("content-type"), &sent.body["Id"]), ("text/plain", &json!("1")));
}

#[tokio::test]
async fn nothing_and_half() {
    let bmc = with(Fault::Hang).await;
    let request = bmc.request(Method::GET, SYSTEM).basic_auth("admin", Some("password"));
    assert!(request.timeout(Duration::from_millis(200)).send().await.unwrap_err().is_timeout());
    then_well(&bmc).await;
    let bmc = with(Fault::Disconnect).await;
    assert!(bmc.request(Method::GET, SYSTEM).send().await.unwrap_err().is_request());
    then_well(&bmc).await;
    let bmc = with(Fault::Truncate).await;
    let begun = bmc.request(Method::GET, SYSTEM).basic_auth("admin", Some("password")).send().await.unwrap();
    let promised = begun.content_length().unwrap();
    let mut got = 0;
    let mut stream = begun.bytes_stream();
    let ended = loop {
        match stream.next().await.expect("an error, not an end") {
            Ok(chunk) => got += chunk.len() as u64,
            Err(error) => break error,
        }
    };
    assert!(got < promised, "{got} of {promised}, then {ended}");
    then_well(&bmc).await;
}

#[tokio::test]
async fn too_much() {
    let bmc = with(Fault::Huge(100 << 20)).await;
    let answer = bmc.request(Method::GET, SYSTEM).basic_auth("admin", Some("password")).send().await.unwrap();
    let mut stream = answer.bytes_stream();
    let mut length = 0;
    while let Some(chunk) = stream.next().await {
        length += chunk.unwrap().len() as u64;
    }
    assert!(length > 100 << 20, "{length}");
}

#[tokio::test]
async fn sessions_that_end_in_the_middle() {
    let bmc = Bmc::start().await;
    let who = json!({ "UserName": "admin", "Password": "password" });
    let made = read(bmc.request(Method::POST, SESSIONS).json(&who).send().await.unwrap()).await;
    let token = made.header("x-auth-token").to_owned();
    bmc.fake.redfish().faults().add(Rule::on("GET", SYSTEM, Fault::DropSessions).after(1).times(1));
    let mut statuses = Vec::new();
    for _ in 0..2 {
        let answer = bmc.request(Method::GET, SYSTEM).header("X-Auth-Token", &token).send().await.unwrap();
        statuses.push(answer.status().as_u16());
    }
    assert_eq!(statuses, [200, 401]);
    assert_eq!(bmc.fake.redfish().session_counts().dropped, 1);
}

#[tokio::test]
async fn an_answer_that_is_lost_after_the_deed() {
    let bmc = Bmc::start().await;
    bmc.fake.redfish().faults().add(Rule::on("POST", "Reset", Fault::LoseAnswer).times(1));
    let request = bmc.request(Method::POST, crate::client::RESET).basic_auth("admin", Some("password"));
    assert!(request.json(&json!({ "ResetType": "On" })).send().await.is_err());
    assert_eq!(bmc.get(SYSTEM).await["PowerState"], "On");
}

#[tokio::test]
async fn the_specification_s_own_refusals() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.needs_odata_version = true);
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.status, 412);
    let request = bmc.request(Method::GET, SYSTEM).basic_auth("admin", Some("password"));
    assert_eq!(request.header("OData-Version", "4.0").send().await.unwrap().status(), 200);
    bmc.change(|behaviour| behaviour.needs_odata_version = false);
    assert_eq!(bmc.send(Method::GET, "/redfish/v1/Nothing", None).await.status, 404);
    assert_eq!(bmc.send(Method::DELETE, SYSTEM, None).await.status, 405);
    assert_eq!(bmc.send(Method::PUT, SYSTEM, None).await.status, 405);
    assert_eq!(bmc.post("/redfish/v1/Systems", json!({})).await.status, 405);
    assert_eq!(bmc.send(Method::GET, "/redfish/v1/Systems?$filter=x", None).await.status, 501);
    let request = bmc.request(Method::PATCH, SYSTEM).basic_auth("admin", Some("password")).body("{");
    assert_eq!(read(request.send().await.unwrap()).await.message(), "MalformedJSON");
}

#[tokio::test]
async fn links_pages_and_expansion() {
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| (behaviour.trailing_slashes, behaviour.page) = (true, Some(3)));
    let sensors = "/redfish/v1/Chassis/1/Sensors";
    let mut found = Vec::new();
    let mut next = sensors.to_owned();
    loop {
        let page = bmc.get(&next).await;
        assert_eq!(page["Members@odata.count"], 7);
        found.extend(page["Members"].as_array().unwrap().iter().map(|member| member["@odata.id"].to_string()));
        match page.get("Members@odata.nextLink") {
            Some(Value::String(link)) => next.clone_from(link),
            _ => break,
        }
    }
    assert_eq!(found.len(), 7);
    assert!(found.iter().all(|path| path.ends_with("/\"")), "{found:?}");
    assert_eq!(bmc.get(found[0].trim_matches('"')).await["Id"], "Intake");
    let expanded = bmc.get("/redfish/v1/Systems?$expand=.($levels=1)").await;
    assert_eq!(expanded["Members"][0]["SystemType"], "Physical");
}
