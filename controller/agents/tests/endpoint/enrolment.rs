//! From a token to a certificate, once.

use bessemer_protocol::{EnrolResponse, HostId, Refusal, Role};
use rcgen::KeyPair;
use reqwest::{Response, StatusCode};

use crate::site::{Site, Stream, hello, request};

async fn refused(answer: Response) -> (StatusCode, Refusal) {
    (answer.status(), answer.json().await.unwrap())
}

#[tokio::test]
async fn a_booted_machine_gets_a_certificate() {
    let (site, host, key) = (Site::start().await, HostId::random(), KeyPair::generate().unwrap());
    let boot = site.boot(host);
    let answer: EnrolResponse = site.enrol(&boot, &key).await.error_for_status().unwrap().json().await.unwrap();
    assert_eq!(answer.host_id, host);
    assert_eq!(*site.objects.admitted.lock().unwrap(), [(boot.boot_id, "52:54:00:00:00:01".to_owned())]);
}

#[tokio::test]
async fn a_repeated_enrolment_gets_the_same_certificate_until_the_stream_is_used() {
    let (site, key) = (Site::start().await, KeyPair::generate().unwrap());
    let boot = site.boot(HostId::random());
    let first: EnrolResponse = site.enrol(&boot, &key).await.json().await.unwrap();
    let second: EnrolResponse = site.enrol(&boot, &key).await.json().await.unwrap();
    assert_eq!(first, second);

    let client = site.client(&boot.ca, Some((&first.certificate, &key)));
    let stream = Stream::open(&site, &client).await;
    stream.say(&hello(Role::Ramdisk)).await;
    site.view(first.host_id, |view| view.connected).await;
    let (status, refusal) = refused(site.enrol(&boot, &key).await).await;
    assert_eq!(status, StatusCode::GONE, "{refusal:?}");
    assert!(!refusal.retry);
}

#[tokio::test]
async fn a_machine_reset_before_its_stream_enrols_anew_and_the_first_certificate_ends() {
    let (site, host) = (Site::start().await, HostId::random());
    let boot = site.boot(host);
    let (first, second) = (site.ramdisk(&boot).await, site.ramdisk(&boot).await);
    let (status, refusal) = refused(first.post(site.url("/v1/stream")).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{refusal:?}");
    let stream = Stream::open(&site, &second).await;
    stream.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.boot_id == Some(boot.boot_id)).await;
}

#[tokio::test]
async fn a_second_key_while_the_first_is_connected_ends_both() {
    let (site, host) = (Site::start().await, HostId::random());
    let boot = site.boot(host);
    let first = site.ramdisk(&boot).await;
    let mut stream = Stream::open(&site, &first).await;
    stream.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;
    let second = KeyPair::generate().unwrap();
    for _ in 0..2 {
        let (status, refusal) = refused(site.enrol(&boot, &second).await).await;
        assert_eq!(status, StatusCode::CONFLICT);
        assert!(refusal.message.contains("two keys came for this boot") && !refusal.retry, "{refusal:?}");
    }
    assert_eq!(stream.hear().await, None);
    site.view(host, |view| !view.connected).await;
    assert_eq!(first.post(site.url("/v1/stream")).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    assert_eq!(*site.objects.contested.lock().unwrap(), [boot.boot_id], "people are told once");
}

#[tokio::test]
async fn a_token_is_of_its_boot_and_site_only() {
    let (site, other, key) = (Site::start().await, Site::start().await, KeyPair::generate().unwrap());
    let boot = site.boot(HostId::random());
    for token in [String::new(), "0".repeat(32), other.boot(HostId::random()).token, site.boot(HostId::random()).token]
    {
        let mut wrong = boot.clone();
        wrong.token = token;
        let (status, refusal) = refused(site.enrol(&wrong, &key).await).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{refusal:?}");
    }
    assert!(site.objects.admitted.lock().unwrap().is_empty(), "nobody was asked about a machine without a token");
}

#[tokio::test]
async fn what_the_objects_refuse_is_refused() {
    let (site, key) = (Site::start().await, KeyPair::generate().unwrap());
    let boot = site.boot(HostId::random());
    site.objects.over.lock().unwrap().insert(boot.boot_id);
    let (status, refusal) = refused(site.enrol(&boot, &key).await).await;
    assert_eq!((status, refusal.message.as_str()), (StatusCode::FORBIDDEN, "that boot is over"));
}

#[tokio::test]
async fn what_is_no_request_is_refused() {
    let site = Site::start().await;
    let boot = site.boot(HostId::random());
    let client = site.client(&boot.ca, None);
    let mut broken = request(&boot, &KeyPair::generate().unwrap());
    broken.csr = broken.csr.replace('M', "N");
    for body in [serde_json::to_vec(&broken).unwrap(), b"{}".to_vec(), vec![b' '; 100 << 10]] {
        let answer = client
            .post(site.url("/v1/enrol"))
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap();
        let (status, refusal) = refused(answer).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{refusal:?}");
    }
}

#[tokio::test]
async fn a_restarted_controller_takes_the_token_and_the_certificate_of_before() {
    let (before, host, key) = (Site::start().await, HostId::random(), KeyPair::generate().unwrap());
    let boot = before.boot(host);
    let answer: EnrolResponse = before.enrol(&boot, &key).await.json().await.unwrap();
    let after = Site::restart(before.secret.clone(), before.objects.clone()).await;
    let again: EnrolResponse = after.enrol(&boot, &key).await.error_for_status().unwrap().json().await.unwrap();
    assert_eq!(again.host_id, host);
    let client = after.client(&boot.ca, Some((&answer.certificate, &key)));
    let stream = Stream::open(&after, &client).await;
    stream.say(&hello(Role::Ramdisk)).await;
    after.view(host, |view| view.boot_id == Some(boot.boot_id)).await;
}

#[tokio::test]
async fn an_agent_that_pins_another_ca_does_not_talk() {
    let (site, other) = (Site::start().await, Site::start().await);
    let boot = site.boot(HostId::random());
    let request = request(&boot, &KeyPair::generate().unwrap());
    let client = site.client(other.authority.certificate_pem(), None);
    assert!(client.post(site.url("/v1/enrol")).json(&request).send().await.is_err());
}
