//! Conversations with boot servers end up where operators look for them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bessemer_api::Time;
use bessemer_api::bessemer::{BootExchange, BootTrace};
use bessemer_reconcilers::Journal;
use common::{Lab, MAC, NAMESPACE};
use kube::{Api, ResourceExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const SITE: &str = "bessemer-system";
/// In 2100: not so old that it is thrown away.
const START: i64 = 4_102_444_800;

fn exchange(second: i64, asked: &str) -> BootExchange {
    BootExchange {
        at: Time(jiff::Timestamp::from_second(START + second).unwrap()),
        server: "rack-1".to_owned(),
        protocol: "dhcp4".to_owned(),
        asked: asked.to_owned(),
        answer: "offered 10.0.0.9".to_owned(),
        why: String::new(),
    }
}

async fn site(lab: &Lab) -> Api<BootTrace> {
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(lab.client.clone());
    let namespace = serde_json::from_value(json!({ "metadata": { "name": SITE } })).unwrap();
    namespaces.create(&Default::default(), &namespace).await.unwrap();
    Api::namespaced(lab.client.clone(), SITE)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosts_conversation_lies_beside_it_and_a_strangers_with_the_controller() {
    let lab = Lab::start().await;
    let strangers = site(&lab).await;
    lab.add_host("right").await;
    lab.host_until(|host| host.status.is_some()).await;
    // Two boot servers over one API hear the same machine.
    let (stop, journals) = (CancellationToken::new(), [Journal::new(), Journal::new()]);
    let running = journals
        .each_ref()
        .map(|journal| tokio::spawn(journal.clone().run(lab.hosts.clone(), SITE.to_owned(), stop.clone())));
    for second in 0..80 {
        journals[0].heard(MAC, exchange(second * 2, "discover"));
        journals[1].heard(MAC, exchange(second * 2 + 1, "request"));
    }
    journals[0].heard("52:54:00:aa:aa:aa", exchange(7, "discover"));

    let ours: BootTrace = lab
        .until("52-54-00-77-00-01", |trace: &BootTrace| {
            trace.status.as_ref().is_some_and(|status| status.forgotten == 60)
        })
        .await;
    let owners = ours.owner_references().iter().map(|owner| (owner.kind.as_str(), owner.name.as_str()));
    assert_eq!(owners.collect::<Vec<_>>(), [("BareMetalHost", "r7-u12")]);
    assert_eq!(ours.namespace().as_deref(), Some(NAMESPACE));
    let status = ours.status.unwrap();
    assert_eq!((status.machine.as_str(), status.host.as_deref()), (MAC, Some("r7-u12")));
    let seconds: Vec<i64> = status.exchanges.iter().map(|exchange| exchange.at.0.as_second() - START).collect();
    assert_eq!(seconds, (60..160).collect::<Vec<_>>(), "merged in the order of time");

    stop.cancel();
    for journal in running {
        journal.await.unwrap();
    }
    let stranger = strangers.get("52-54-00-aa-aa-aa").await.unwrap();
    assert!(stranger.owner_references().is_empty());
    assert_eq!(stranger.status.unwrap().host, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn invented_addresses_do_not_fill_the_store() {
    let lab = Lab::start().await;
    let strangers = site(&lab).await;
    let journal = Journal::new();
    for number in 0..5000 {
        journal.heard(&format!("52:54:00:bb:{:02x}:{:02x}", number / 256, number % 256), exchange(1, "discover"));
    }
    // What was heard is written at the end too.
    let stop = CancellationToken::new();
    let running = tokio::spawn(journal.clone().run(lab.hosts.clone(), SITE.to_owned(), stop.clone()));
    stop.cancel();
    running.await.unwrap();
    assert_eq!(strangers.list(&Default::default()).await.unwrap().items.len(), 50);
}
