//! Addresses of machines: never one for two, whoever asks where.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bessemer_api::bessemer::BootLease;
use bessemer_api::metal3::BareMetalHost;
use bessemer_reconcilers::outside::{AddressPool, BootDirectory, DirectoryError, NoAddress};
use bessemer_reconcilers::{Hosts, Site};
use common::{Lab, MAC};
use kube::api::ListParams;
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// The addresses from `.1` on, of which every machine wants the first free one: the worst rule of choice.
struct Greedy(u8);

impl AddressPool for Greedy {
    fn subnet(&self) -> String {
        "10.9.0.0/24".to_owned()
    }

    fn contains(&self, address: IpAddr) -> bool {
        (1..=self.0).any(|last| address == IpAddr::from([10, 9, 0, last]))
    }

    fn pick(&self, _: &str, taken: &BTreeSet<IpAddr>) -> Result<IpAddr, NoAddress> {
        let mut all = (1..=self.0).map(|last| IpAddr::from([10, 9, 0, last]));
        all.find(|address| !taken.contains(address)).ok_or_else(|| NoAddress("all are taken".to_owned()))
    }
}

fn mac(number: usize) -> Vec<String> {
    vec![format!("52:54:00:77:01:{number:02x}")]
}

async fn another_boot_server(lab: &Lab) -> Hosts {
    Site::start(lab.client.clone(), CancellationToken::new()).await.unwrap().hosts()
}

/// Without a BMC: nothing else happens to it.
async fn host(lab: &Lab, name: &str, mac: &str) {
    lab.create::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": name },
        "spec": { "online": true, "bootMACAddress": mac },
    }))
    .await;
}

async fn known(hosts: &Hosts, mac: &[String]) {
    tokio::time::timeout(common::PATIENCE, async {
        while hosts.lease(mac, true, &Greedy(0)).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the cache does not learn of the host");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_boot_servers_never_give_one_address_to_two_machines() {
    let lab = Lab::start().await;
    let servers = [another_boot_server(&lab).await, another_boot_server(&lab).await];
    const MACHINES: usize = 12;
    for number in 0..MACHINES {
        host(&lab, &format!("h{number}"), &mac(number)[0]).await;
    }
    for server in &servers {
        for number in 0..MACHINES {
            known(server, &mac(number)).await;
        }
    }
    // Every machine is heard by both at once, as on a link with two servers.
    let mut asked = tokio::task::JoinSet::new();
    for number in 0..MACHINES {
        for server in servers.clone() {
            asked.spawn(async move {
                loop {
                    match server.lease(&mac(number), true, &Greedy(40)).await {
                        Ok(address) => return (number, address.unwrap()),
                        // The machine asks again.
                        Err(DirectoryError::Busy(_)) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    }
    let mut answers: BTreeMap<IpAddr, BTreeSet<usize>> = BTreeMap::new();
    for (number, address) in asked.join_all().await {
        answers.entry(address).or_default().insert(number);
    }
    assert!(answers.values().all(|machines| machines.len() == 1), "{answers:?}");
    // What is stored is what each machine has, and asking again changes nothing.
    let stored = lab.api::<BootLease>().list(&ListParams::default()).await.unwrap();
    assert_eq!(stored.items.len(), MACHINES);
    let addresses: BTreeSet<&str> = stored.items.iter().map(|lease| lease.spec.address.as_str()).collect();
    assert_eq!(addresses.len(), MACHINES, "{addresses:?}");
    for lease in &stored {
        let again = servers[0].lease(std::slice::from_ref(&lease.spec.mac), true, &Greedy(40)).await.unwrap();
        assert_eq!(again.unwrap().to_string(), lease.spec.address.as_str());
    }
    let after = lab.api::<BootLease>().list(&ListParams::default()).await.unwrap();
    assert_eq!(after.metadata.resource_version, stored.metadata.resource_version, "renewals write nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_address_is_given_to_nobody() {
    let lab = Lab::start().await;
    let server = another_boot_server(&lab).await;
    for number in 0..2 {
        host(&lab, &format!("h{number}"), &mac(number)[0]).await;
        known(&server, &mac(number)).await;
    }
    let lease = async |number, pool| {
        server.lease(&mac(number), true, &Greedy(pool)).await.map(|address| address.unwrap().to_string())
    };
    assert_eq!(lease(0, 9).await.unwrap(), "10.9.0.1");
    // Only what is leased to the machine is withdrawn.
    server.declined(&mac(1), "10.9.0.1".parse().unwrap()).await.unwrap();
    assert_eq!(lease(0, 9).await.unwrap(), "10.9.0.1");
    lab.until::<BootLease>("52-54-00-77-01-00.net-10-9-0-0-24", |_| true).await;
    server.declined(&mac(0), "10.9.0.1".parse().unwrap()).await.unwrap();
    tokio::time::timeout(common::PATIENCE, async { while lease(0, 9).await.unwrap() == "10.9.0.1" {} }).await.unwrap();
    assert_eq!(lease(0, 9).await.unwrap(), "10.9.0.2");
    assert_eq!(lease(1, 9).await.unwrap(), "10.9.0.3");
    // A pool that is exhausted says so, and nothing grows.
    let error = lease(1, 2).await.unwrap_err();
    assert!(matches!(error, DirectoryError::NoAddress(_)), "{error}");
    assert_eq!(lab.api::<BootLease>().list(&ListParams::default()).await.unwrap().items.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_known_by_any_card_that_was_found_in_it() {
    let lab = Lab::start().await;
    host(&lab, "h0", MAC).await;
    let second = vec!["3c:ec:ef:00:00:02".to_owned()];
    assert_eq!(lab.hosts.lease(&second, true, &Greedy(9)).await.unwrap(), None);
    // With what a status must have besides.
    let cards = |nics: serde_json::Value| {
        json!({ "status": {
            "errorMessage": "",
            "operationalStatus": "OK",
            "poweredOn": false,
            "provisioning": { "ID": "", "state": "available" },
            "hardware": { "nics": nics },
        } })
    };
    // Made-up addresses, such as those of BMCs' USB cards, are the same in every server.
    let nics = json!([{ "mac": "3C:EC:EF:00:00:02" }, { "mac": "be:3a:f2:b6:05:9f" }]);
    lab.patch_status::<BareMetalHost>("h0", cards(nics)).await;
    tokio::time::timeout(common::PATIENCE, async {
        while lab.hosts.lease(&second, true, &Greedy(9)).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert_eq!(lab.hosts.lease(&["be:3a:f2:b6:05:9f".to_owned()], true, &Greedy(9)).await.unwrap(), None);
}
