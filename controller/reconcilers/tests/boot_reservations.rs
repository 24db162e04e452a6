//! Addresses that people chose.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::net::IpAddr;

use bessemer_api::bessemer::BootLease;
use bessemer_api::metal3::BareMetalHost;
use bessemer_reconcilers::outside::{AddressPool, BootDirectory, DirectoryError, NoAddress};
use common::Lab;
use kube::api::ListParams;
use serde_json::json;

/// `10.9.0.1` to `.9`, of which every machine wants the first free one.
struct Nine;

impl AddressPool for Nine {
    fn subnet(&self) -> String {
        "10.9.0.0/24".to_owned()
    }

    fn contains(&self, address: IpAddr) -> bool {
        (1..=9).any(|last| address == IpAddr::from([10, 9, 0, last]))
    }

    fn size(&self) -> u128 {
        9
    }

    fn reserve(&self, address: IpAddr) -> Result<(), NoAddress> {
        match address.to_string().starts_with("10.9.0.") {
            true => Ok(()),
            false => Err(NoAddress(format!("{address} lies outside"))),
        }
    }

    fn pick(&self, _: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let mut all = (1..=9).map(|last| IpAddr::from([10, 9, 0, last]));
        all.find(|address| !taken(*address)).ok_or_else(|| NoAddress("all are taken".to_owned()))
    }
}

fn mac(number: u8) -> Vec<String> {
    vec![format!("52:54:00:77:02:{number:02x}")]
}

async fn annotate(lab: &Lab, number: u8, reserved: &str) {
    let patch = json!({ "metadata": { "annotations": { "bessemer.dev/reserved-addresses": reserved } } });
    lab.patch::<BareMetalHost>(&format!("h{number}"), patch).await;
}

async fn ask(lab: &Lab, number: u8) -> Result<String, DirectoryError> {
    lab.hosts
        .lease(&mac(number), true, &Nine)
        .await
        .map(|address| address.map_or_else(String::new, |it| it.to_string()))
}

/// Asks until the caches know enough for `wanted`.
async fn until(lab: &Lab, number: u8, wanted: &str) {
    let mut last = String::new();
    let asked = tokio::time::timeout(common::PATIENCE, async {
        loop {
            last = ask(lab, number).await.unwrap_or_else(|error| error.to_string());
            if last.contains(wanted) {
                return;
            }
            tokio::task::yield_now().await;
        }
    });
    let outcome = asked.await;
    assert!(outcome.is_ok(), "h{number} gets {last} instead of {wanted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reserved_address_is_its_cards_or_nobodys() {
    let lab = Lab::start_with(&[]).await;
    let (first, second) = (&mac(0)[0], &mac(1)[0]);
    // Known with the host: one that asks before has an address of the pool.
    let reserved = [format!("{first}=10.9.0.200"), format!("{second}=10.9.0.1, {second}=10.10.0.1")];
    for (number, reserved) in [(1, &*reserved[1]), (0, &*reserved[0]), (2, ""), (3, "")] {
        lab.create::<BareMetalHost>(json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": { "name": format!("h{number}"), "annotations": { "bessemer.dev/reserved-addresses": reserved } },
            "spec": { "online": true, "bootMACAddress": mac(number)[0] },
        }))
        .await;
    }
    // Beside the pool, and in it; there nobody else gets it, though its host was never heard.
    // The host made later is known, so the earlier one is.
    until(&lab, 0, "10.9.0.200").await;
    until(&lab, 2, "10.9.0.2").await;
    until(&lab, 1, "10.9.0.1").await;

    // A decline does not take it away: anybody can send one.
    lab.hosts.declined(&mac(0), "10.9.0.200".parse().unwrap()).await.unwrap();
    let name = format!("{}.net-10-9-0-0-24", mac(0)[0].replace(':', "-"));
    assert!(lab.api::<BootLease>().get(&name).await.unwrap().spec.declined.is_empty());

    // What cannot be given is said, and nothing else is given instead.
    for (reserved, why) in [
        ("10.10.0.7", "10.10.0.7 lies outside"),
        (
            "10.9.0.2",
            "is leased to 52:54:00:77:02:02: reserve another, or delete the BootLease metal/52-54-00-77-02-02",
        ),
        ("10.9.0.1", "10.9.0.1 is reserved for 52:54:00:77:02:03 and for 52:54:00:77:02:01"),
        ("10.9.0", "is no `MAC=IP`"),
    ] {
        annotate(&lab, 3, &format!("{}={reserved}", mac(3)[0])).await;
        until(&lab, 3, why).await;
    }
    assert_eq!(lab.api::<BootLease>().list(&ListParams::default()).await.unwrap().items.len(), 3);
    // A host that has an address moves to the one that is reserved for it.
    annotate(&lab, 2, &format!("{}=10.9.0.222", mac(2)[0].to_uppercase())).await;
    until(&lab, 2, "10.9.0.222").await;
    annotate(&lab, 3, &format!("{}=10.9.0.2", mac(3)[0])).await;
    until(&lab, 3, "10.9.0.2").await;
}
