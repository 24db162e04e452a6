//! A whole site is switched on for the first time: every machine asks for its first address at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bessemer_api::bessemer::BootLease;
use bessemer_reconcilers::Hosts;
use bessemer_reconcilers::outside::{AddressPool, BootDirectory, NoAddress};
use common::Lab;
use kube::api::ListParams;
use serde_json::json;
use tokio::task::JoinSet;

const MACHINES: usize = 1000;

/// What the boot server gives one question.
const DEADLINE: Duration = Duration::from_secs(3);

/// One subnet of 4,000 addresses. Where a machine begins to look is decided by its number, and by twenties the same.
struct Wide;

impl AddressPool for Wide {
    fn subnet(&self) -> String {
        "10.16.0.0/20".to_owned()
    }

    fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if (16..32).contains(&address.octets()[1]))
    }

    fn size(&self) -> u128 {
        4000
    }

    fn reserve(&self, _: IpAddr) -> Result<(), NoAddress> {
        Ok(())
    }

    fn pick(&self, mac: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let number = u16::from_str_radix(&mac[12..].replace(':', ""), 16).unwrap() / 20;
        let mut all = (0..4000).map(|step| {
            let [high, low] = ((number + step) % 4000 + 1).to_be_bytes();
            IpAddr::from([10, 16, high, low])
        });
        all.find(|address| !taken(*address)).ok_or_else(|| NoAddress("all are taken".to_owned()))
    }
}

fn mac(number: usize) -> String {
    format!("52:54:00:78:{:02x}:{:02x}", number / 256, number % 256)
}

async fn hosts_of(lab: &Lab) {
    let hosts = (0..MACHINES).map(|number| {
        lab.create::<bessemer_api::metal3::BareMetalHost>(json!({
            "apiVersion": "metal3.io/v1alpha1",
            "kind": "BareMetalHost",
            "metadata": { "name": format!("h{number}") },
            "spec": { "online": true, "bootMACAddress": mac(number) },
        }))
    });
    futures::future::join_all(hosts).await;
    tokio::time::timeout(common::PATIENCE, async {
        // The watch tells of them in the order in which they were made, more or less.
        for number in 0..MACHINES {
            while lab.hosts.lease(&[mac(number)], false, &Nothing).await.is_ok() {
                tokio::task::yield_now().await;
            }
        }
    })
    .await
    .expect("the cache does not learn of the hosts");
}

/// No address at all: whoever is known is refused.
struct Nothing;

impl AddressPool for Nothing {
    fn subnet(&self) -> String {
        "10.32.0.0/20".to_owned()
    }

    fn contains(&self, _: IpAddr) -> bool {
        false
    }

    fn size(&self) -> u128 {
        0
    }

    fn reserve(&self, _: IpAddr) -> Result<(), NoAddress> {
        Ok(())
    }

    fn pick(&self, _: &str, _: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        Err(NoAddress("there is none".to_owned()))
    }
}

/// As the boot server asks: what takes too long is dropped, and the machine asks again.
async fn ask(hosts: Hosts, mac: String) -> (IpAddr, Duration, usize) {
    let (begin, mut late) = (Instant::now(), 0);
    loop {
        match tokio::time::timeout(DEADLINE, hosts.lease(std::slice::from_ref(&mac), true, &Wide)).await {
            Ok(address) => return (address.unwrap().unwrap(), begin.elapsed(), late),
            Err(_) => late += 1,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_new_machines_at_once_get_a_thousand_addresses() {
    let lab = Lab::start_with(&[]).await;
    hosts_of(&lab).await;
    let (begin, mut asked) = (Instant::now(), JoinSet::new());
    for number in 0..MACHINES {
        asked.spawn(ask(lab.hosts.clone(), mac(number)));
    }
    let answers = asked.join_all().await;
    let whole = begin.elapsed();
    let mut took: Vec<Duration> = answers.iter().map(|(_, took, _)| *took).collect();
    took.sort_unstable();
    let late: usize = answers.iter().map(|(_, _, late)| late).sum();
    println!(
        "{MACHINES} first leases in {whole:.2?}: median {:.2?}, last {:.2?}, {late} late",
        took[MACHINES / 2],
        took[MACHINES - 1]
    );
    let addresses: BTreeSet<IpAddr> = answers.iter().map(|(address, ..)| *address).collect();
    assert_eq!(addresses.len(), MACHINES, "no address is given twice");
    let stored = lab.api::<BootLease>().list(&ListParams::default()).await.unwrap();
    let stored: BTreeSet<String> = stored
        .items
        .iter()
        .filter(|lease| lease.spec.confirmed)
        .map(|lease| lease.spec.address.as_str().to_owned())
        .collect();
    assert_eq!(stored, addresses.iter().map(ToString::to_string).collect());
}
