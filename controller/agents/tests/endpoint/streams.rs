//! Both directions of the long-lived stream, and the ways in which it ends.

use bessemer_protocol::{
    BootId, Down, Failure, FailureCode, HostId, LeaveHow, LeaveReport, MAX_LINE, NodePhase, NodeReport, Outcome,
    Report, Role, Up, Work, WorkId, WorkItem,
};
use bessemer_reconcilers::outside::{AgentHub, AgentHubError};
use reqwest::Client;

use crate::site::{Site, Stream, hello};

fn inspect(host: HostId) -> WorkItem {
    WorkItem { id: WorkId::random(), host_id: host, claim: None, deadline: i64::MAX, work: Work::Inspect }
}

/// A site with one ramdisk connected.
async fn connected() -> (Site, HostId, Stream) {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let stream = Stream::open(&site, &client).await;
    stream.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;
    (site, host, stream)
}

#[tokio::test]
async fn work_goes_down_while_progress_and_results_come_up() {
    let (site, host, mut stream) = connected().await;
    let item = inspect(host);
    site.hub.send(item.clone()).await.unwrap();
    assert!(site.hub.view(&host).items.contains_key(&item.id));
    assert_eq!(stream.hear().await, Some(Down::Work(item.clone())));

    stream.say(&Up::Progress { work_id: item.id, phase: "disks\u{7}".into(), done: 1, total: Some(4) }).await;
    let view = site.view(host, |view| view.items[&item.id].progress.is_some()).await;
    assert_eq!(view.items[&item.id].progress.as_ref().unwrap().phase, "disks ");

    // The next item goes down although the first is not answered yet.
    let second = inspect(host);
    site.hub.send(second.clone()).await.unwrap();
    assert_eq!(stream.hear().await, Some(Down::Work(second)));

    let outcome = Outcome::Failed(Failure { code: FailureCode::Internal, message: "no disk bus".into() });
    stream.say(&Up::Result { work_id: item.id, outcome: outcome.clone() }).await;
    let view = site.view(host, |view| view.items[&item.id].outcome.is_some()).await;
    assert_eq!(view.items[&item.id].outcome, Some(outcome));
    site.hub.stored(&host, item.id).await;
    assert_eq!(stream.hear().await, Some(Down::Stored { work_id: item.id }));
    assert!(!site.hub.view(&host).items.contains_key(&item.id));
}

#[tokio::test]
async fn what_the_agent_remembers_is_known_from_its_hello() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let stream = Stream::open(&site, &client).await;
    let outcome = Outcome::Done { report: Report::Leaving(LeaveReport { how: LeaveHow::Reboot, detail: None }) };
    let Up::Hello { role, agent_version, identity, protocol, .. } = hello(Role::Ramdisk) else { panic!("no hello") };
    let items = vec![bessemer_protocol::ItemState { work_id: WorkId::random(), outcome: Some(outcome.clone()) }];
    let id = items[0].work_id;
    stream.say(&Up::Hello { role, agent_version, identity, items, protocol }).await;
    let view = site.view(host, |view| view.connected).await;
    assert_eq!(view.items[&id].outcome, Some(outcome));
    assert_eq!(view.agent_version.as_deref(), Some("0.1.0"));
}

#[tokio::test]
async fn a_node_reports() {
    let (site, host) = (Site::start().await, HostId::random());
    let boot = site.boot(host);
    let ramdisk = site.ramdisk(&boot).await;
    let work = WorkId::random();
    *site.objects.deploying.lock().unwrap() = Some(work);
    let key = rcgen::KeyPair::generate().unwrap();
    let request = bessemer_protocol::NodeCertificateRequest { work_id: work, csr: crate::site::csr(&key) };
    let answer: bessemer_protocol::NodeCertificateResponse =
        ramdisk.post(site.url("/v1/node-certificate")).json(&request).send().await.unwrap().json().await.unwrap();
    let node = site.client(&boot.ca, Some((&answer.certificate, &key)));
    let stream = Stream::open(&site, &node).await;
    stream.say(&hello(Role::Node)).await;
    let report = NodeReport {
        hostname: "r7-u12".into(),
        phase: NodePhase::Kubeadm { command: "init".into(), kubeadm_phase: "certs".into() },
        ..NodeReport::default()
    };
    stream.say(&Up::Node(report.clone())).await;
    let view = site.view(host, |view| view.node.is_some()).await;
    assert_eq!(view.node, Some(report));
}

#[tokio::test]
async fn a_newer_stream_replaces_the_older_and_loses_nothing() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let mut older = Stream::open(&site, &client).await;
    older.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;
    let mut newer = Stream::open(&site, &client).await;
    newer.say(&hello(Role::Ramdisk)).await;
    assert_eq!(older.hear().await, None);
    let item = inspect(host);
    site.hub.send(item.clone()).await.unwrap();
    assert_eq!(newer.hear().await, Some(Down::Work(item)));
    let view = site.hub.view(&host);
    assert!(view.connected && view.lost_since.is_none());
}

#[tokio::test]
async fn an_agent_that_goes_away_is_lost_with_its_time() {
    let (site, host, stream) = connected().await;
    drop(stream);
    let view = site.view(host, |view| !view.connected).await;
    assert!(view.lost_since.is_some());
    assert_eq!(site.hub.send(inspect(host)).await, Err(AgentHubError::NotConnected(host)));
}

#[tokio::test]
async fn a_disconnected_key_does_not_come_back() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    let mut stream = Stream::open(&site, &client).await;
    stream.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;
    site.hub.disconnect(&host, "the host was released").await;
    assert_eq!(stream.hear().await, None);
    site.view(host, |view| !view.connected).await;
    let mut again = Stream::open(&site, &client).await;
    again.say(&hello(Role::Ramdisk)).await;
    assert!(matches!(again.hear().await, Some(Down::Refused(_))));
    assert_eq!(again.hear().await, None);
}

/// A stream that is open and has not said hello.
async fn silent() -> (Site, HostId, BootId, Stream, Client) {
    let (site, host) = (Site::start().await, HostId::random());
    let boot = site.boot(host);
    let client = site.ramdisk(&boot).await;
    let stream = Stream::open(&site, &client).await;
    (site, host, boot.boot_id, stream, client)
}

/// Whether it may come again, of a stream that is refused.
async fn refused(mut stream: Stream) -> bool {
    stream.say(&hello(Role::Ramdisk)).await;
    let Some(Down::Refused(refusal)) = stream.hear().await else { panic!("the stream was taken in") };
    assert_eq!(stream.hear().await, None);
    refusal.retry
}

#[tokio::test]
async fn what_happens_between_a_streams_request_and_its_hello_is_not_lost() {
    // Its boot ended.
    let (site, host, boot, stream, _) = silent().await;
    site.objects.over.lock().unwrap().insert(boot);
    assert!(!refused(stream).await);
    assert!(!site.hub.view(&host).connected);

    // The host was told to go: the objects decide when it comes again.
    let (site, host, _, stream, client) = silent().await;
    site.hub.disconnect(&host, "the host was released").await;
    assert!(refused(stream).await);
    let again = Stream::open(&site, &client).await;
    again.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;

    // Another controller leads, and then this one again.
    let (site, host, _, stream, client) = silent().await;
    site.hub.lead(false);
    assert!(refused(stream).await);
    assert!(!site.hub.view(&host).connected);
    site.hub.lead(true);
    let again = Stream::open(&site, &client).await;
    again.say(&hello(Role::Ramdisk)).await;
    site.view(host, |view| view.connected).await;
}

#[tokio::test]
async fn what_breaks_the_protocol_ends_the_stream() {
    let node = encode(&hello(Role::Node));
    for said in [vec![b'x'; MAX_LINE + 1], b"{}\n".to_vec(), b"[[[[\n".to_vec(), encode(&hello(Role::Ramdisk)), node] {
        let (site, host, mut stream) = connected().await;
        stream.say_bytes(said).await;
        assert_eq!(stream.hear().await, None);
        site.view(host, |view| !view.connected).await;
    }
}

#[tokio::test]
async fn a_stream_begins_with_hello_of_the_certificates_role() {
    let (site, host) = (Site::start().await, HostId::random());
    let client = site.ramdisk(&site.boot(host)).await;
    for first in [Up::Heartbeat, hello(Role::Node)] {
        let mut stream = Stream::open(&site, &client).await;
        stream.say(&first).await;
        while let Some(heard) = stream.hear().await {
            assert!(matches!(heard, Down::Refused(_)), "{heard:?}");
        }
        assert!(!site.hub.view(&host).connected);
    }
}

fn encode(message: &Up) -> Vec<u8> {
    bessemer_protocol::encode_line(message).unwrap()
}
