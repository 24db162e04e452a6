//! Secrets are given away with a line in the host's story, and where the site wants it only to what a trusted boot
//! installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use bessemer_api::bessemer::{HostRecord, StoryLine};
use bessemer_api::metal3::BareMetalHost;
use bessemer_protocol::HostId;
use bessemer_reconcilers::outside::HostAuthority as _;
use common::{Lab, MAC};
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

const CLAIM: &str = "metal/cp-abcde";
const HOST: &str = "r7-u12";

/// A host that was installed for [`CLAIM`], and its record.
async fn installed(lab: &Lab) -> HostId {
    let id = HostId::random();
    lab.create::<Secret>(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cp-abcde"}, "stringData": {"value": "s3cr3t"},
    }))
    .await;
    lab.create::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": HOST, "annotations": {"bessemer.dev/host-id": id.to_string()}},
        "spec": {
            "online": true, "bootMACAddress": MAC, "userData": {"name": "cp-abcde"},
            "consumerRef": {"kind": "Metal3Machine", "name": "cp-abcde", "namespace": common::NAMESPACE},
        },
    }))
    .await;
    lab.create::<HostRecord>(json!({
        "apiVersion": "bessemer.dev/v1alpha1", "kind": "HostRecord", "metadata": {"name": HOST}, "spec": {},
    }))
    .await;
    // Known by its id once the cache has it.
    let deadline = tokio::time::Instant::now() + common::PATIENCE;
    while lab.hosts.holds_key(id, CLAIM, "").await.is_err() {
        assert!(tokio::time::Instant::now() < deadline, "the host is not known");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    id
}

async fn booted(lab: &Lab, trust: Value) {
    let boot = json!({
        "id": "00000000-0000-4000-8000-000000000001", "target": "LocalDisk", "step": "Left", "enrolled": true,
        "issued": "2026-11-30T12:00:00Z", "expires": "2026-11-30T12:30:00Z", "trust": trust,
    });
    lab.patch_status::<HostRecord>(HOST, json!({"status": {"boot": boot}})).await;
}

async fn story(lab: &Lab) -> Vec<StoryLine> {
    lab.api::<HostRecord>().get(HOST).await.unwrap().status.unwrap_or_default().story
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_data_is_given_away_with_a_line_or_withheld_with_one() {
    let lab = Lab::start_with(&[]).await;
    let id = installed(&lab).await;
    let strict = lab.hosts.clone().requiring_trusted_boot();

    booted(&lab, json!("plain")).await;
    let refused = strict.bootstrap(id, CLAIM).await.unwrap_err();
    assert!(!refused.retry && refused.message.contains("metal/r7-u12"), "{refused}");
    assert!(!format!("{refused:?}").contains("s3cr3t"));
    let lines = story(&lab).await;
    assert_eq!(lines.len(), 1);
    assert!(lines[0].event == "bootstrap data" && lines[0].detail.contains("withheld"), "{lines:?}");

    // A site that does not ask for trust gives it away, and says so; a repeat of a lost answer is no second line.
    for _ in 0..2 {
        assert_eq!(lab.hosts.bootstrap(id, CLAIM).await.unwrap().data, "s3cr3t");
        let lines = story(&lab).await;
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert_eq!(lines[1].detail, "delivered to the system of metal/cp-abcde; trust of its boot: plain");
    }

    booted(&lab, json!("media")).await;
    assert_eq!(strict.bootstrap(id, CLAIM).await.unwrap().data, "s3cr3t");
    let lines = story(&lab).await;
    assert!(lines[2].detail.ends_with("trust of its boot: media"), "{lines:?}");

    // A certificate is a secret's twin: it opens the way to the data.
    lab.hosts.certified(id, CLAIM, &"ab".repeat(32)).await.unwrap();
    let line = story(&lab).await.pop().unwrap();
    assert_eq!(
        (line.event.as_str(), line.detail.as_str()),
        ("certificate", "for the installed system of metal/cp-abcde, key abababab…")
    );
    lab.stop();
}
