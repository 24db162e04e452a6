//! Machines that nobody knows.

use bessemer_protocol::{BootId, DiscoverRequest, DiscoverResponse, HardwareDetails, PROTOCOL_VERSION, Refusal};
use reqwest::StatusCode;

use crate::site::Site;

fn report() -> DiscoverRequest {
    DiscoverRequest {
        protocol: PROTOCOL_VERSION,
        agent_version: "0.1.0\u{1b}[2J".into(),
        identity: bessemer_protocol::HardwareIdentity { macs: vec!["52:54:00:00:00:09".into()], ..Default::default() },
        hardware: HardwareDetails::default(),
    }
}

#[tokio::test]
async fn an_unknown_machine_may_say_what_it_is_and_gets_nothing_for_it() {
    let site = Site::start().await;
    let overlay = site.authority.boot().discovery_overlay(BootId::random(), &[site.url("")], 1_700_000_000).unwrap();
    assert!(!String::from_utf8(overlay.clone()).unwrap().contains("token"));
    let overlay: bessemer_protocol::BootConfig = serde_json::from_slice(&overlay).unwrap();
    assert_eq!(overlay.token, "");
    *site.objects.discovered.lock().unwrap() = Some(Vec::new());
    let client = site.client(&overlay.ca, None);
    let ask = || client.post(site.url("/v1/discover")).json(&report()).send();
    let answer: DiscoverResponse = ask().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    assert_eq!(answer.again_after_seconds, Some(60));
    let seen = site.objects.discovered.lock().unwrap().clone().unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].agent_version, "0.1.0 [2J", "freed of control characters");
    let again = ask().await.unwrap();
    assert_eq!(again.status(), StatusCode::TOO_MANY_REQUESTS, "the same address at once");
    assert!(again.json::<Refusal>().await.unwrap().retry);
}

#[tokio::test]
async fn where_discovery_is_off_or_the_report_is_none_the_answer_is_a_reason() {
    let site = Site::start().await;
    let client = site.client(site.authority.certificate_pem(), None);
    let off = client.post(site.url("/v1/discover")).json(&report()).send().await.unwrap();
    assert_eq!(off.status(), StatusCode::FORBIDDEN);
    for body in [b"{}".to_vec(), vec![b' '; DiscoverRequest::MAX_BYTES + 1]] {
        let site = Site::start().await;
        let request = site.client(site.authority.certificate_pem(), None).post(site.url("/v1/discover"));
        let answer = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
    }
}
