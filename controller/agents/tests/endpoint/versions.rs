//! Agents and controllers of different releases.

use bessemer_protocol::{Down, EnrolResponse, HostId, OLDEST_PROTOCOL, PROTOCOL_VERSION, Refusal, Role};
use rcgen::KeyPair;
use reqwest::StatusCode;
use time::OffsetDateTime;

use crate::site::{Site, Stream, hello_of, request};

#[tokio::test]
async fn enrolment_settles_on_the_newest_shared_version_or_says_why_not() {
    for (theirs, spoken) in
        [(OLDEST_PROTOCOL, Some(OLDEST_PROTOCOL)), (PROTOCOL_VERSION + 7, Some(PROTOCOL_VERSION)), (0, None)]
    {
        let (site, key) = (Site::start().await, KeyPair::generate().unwrap());
        let boot = site.boot(HostId::random());
        let mut request = request(&boot, &key);
        request.protocol = theirs;
        let answer = site.client(&boot.ca, None).post(site.url("/v1/enrol")).json(&request).send().await.unwrap();
        match spoken {
            Some(version) => assert_eq!(answer.json::<EnrolResponse>().await.unwrap().protocol, version),
            None => {
                assert_eq!(answer.status(), StatusCode::CONFLICT);
                let refusal: Refusal = answer.json().await.unwrap();
                assert_eq!((refusal.speaks, refusal.retry), (Some(PROTOCOL_VERSION), false));
                assert!(refusal.message.contains("version 0"), "{refusal:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_stream_is_welcomed_in_its_version() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    for (theirs, spoken) in [(1, None), (PROTOCOL_VERSION, Some(PROTOCOL_VERSION)), (99, Some(PROTOCOL_VERSION))] {
        let mut stream = Stream::open(&site, &client).await;
        stream.say(&hello_of(Role::Ramdisk, theirs)).await;
        match (stream.first().await, spoken) {
            (Down::Heartbeat, None) => {}
            (Down::Welcome { protocol, ca, controllers, now }, Some(version)) => {
                let here = OffsetDateTime::now_utc().unix_timestamp();
                assert!(now.is_some_and(|now| (here - 5..=here).contains(&now)), "{now:?}");
                assert_eq!(protocol, version);
                assert_eq!(ca, site.authority.trusted_pem());
                assert_eq!(controllers, ["https://192.0.2.1:8444"]);
            }
            (other, _) => panic!("{theirs}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_refused_hears_the_reason() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let mut stream = Stream::open(&site, &client).await;
    stream.say(&hello_of(Role::Node, PROTOCOL_VERSION)).await;
    let Some(Down::Refused(refusal)) = stream.hear().await else { panic!("no reason") };
    assert!(refusal.message.contains("certificate Ramdisk"), "{refusal:?}");
    assert_eq!(stream.hear().await, None);
    let mut ancient = Stream::open(&site, &client).await;
    ancient.say(&hello_of(Role::Ramdisk, 0)).await;
    assert_eq!(ancient.hear().await, None, "a version that has no word for it");
}

#[tokio::test]
async fn only_the_leader_has_streams() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let mut stream = Stream::open(&site, &client).await;
    stream.say(&hello_of(Role::Ramdisk, PROTOCOL_VERSION)).await;
    site.view(host, |view| view.connected).await;
    site.hub.lead(false);
    assert_eq!(stream.hear().await, None);
    let answer = client.post(site.url("/v1/stream")).send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers()["retry-after"], "2");
    assert!(answer.json::<Refusal>().await.unwrap().retry);
    site.hub.lead(true);
    let again = Stream::open(&site, &client).await;
    again.say(&hello_of(Role::Ramdisk, PROTOCOL_VERSION)).await;
    site.view(host, |view| view.connected).await;
}
