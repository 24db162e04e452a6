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
use kube::Api;
use kube::api::{ListParams, PostParams};
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

    fn size(&self) -> u128 {
        self.0.into()
    }

    fn reserve(&self, address: IpAddr) -> Result<(), NoAddress> {
        match address.to_string().starts_with("10.9.0.") {
            true => Ok(()),
            false => Err(NoAddress(format!("{address} lies outside"))),
        }
    }

    fn pick(&self, _: &str, taken: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        let mut all = (1..=self.0).map(|last| IpAddr::from([10, 9, 0, last]));
        all.find(|address| !taken(*address)).ok_or_else(|| NoAddress("all are taken".to_owned()))
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
    let lab = Lab::start_with(&[]).await;
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

/// As somebody else left it: another process, or a person.
async fn store(lab: &Lab, number: usize, address: &str, more: serde_json::Value) {
    let octets: std::net::Ipv4Addr = address.parse().unwrap();
    let mut spec = json!({ "mac": mac(number)[0], "address": address, "subnet": "10.9.0.0/24" });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    lab.create::<BootLease>(json!({
        "apiVersion": "bessemer.dev/v1alpha1",
        "kind": "BootLease",
        "metadata": { "name": name(number), "labels": { "bessemer.dev/address": format!("{:08x}", octets.to_bits()) } },
        "spec": spec,
    }))
    .await;
}

fn name(number: usize) -> String {
    format!("{}.net-10-9-0-0-24", mac(number)[0].replace(':', "-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_address_is_given_to_nobody() {
    let lab = Lab::start_with(&[]).await;
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
    server.declined(&mac(0), "10.9.0.1".parse().unwrap()).await.unwrap();
    tokio::time::timeout(common::PATIENCE, async { while lease(0, 9).await.unwrap() == "10.9.0.1" {} }).await.unwrap();
    assert_eq!(lease(0, 9).await.unwrap(), "10.9.0.2");
    assert_eq!(lease(1, 9).await.unwrap(), "10.9.0.3");
    // Anybody can say so in its name: not again within the hour.
    server.declined(&mac(0), "10.9.0.2".parse().unwrap()).await.unwrap();
    let stored = lab.api::<BootLease>().get(&name(0)).await.unwrap();
    let declined: Vec<&str> = stored.spec.declined.iter().map(|old| old.address.as_str()).collect();
    assert_eq!((declined, stored.spec.address.as_str()), (vec!["10.9.0.1"], "10.9.0.2"));
    // A pool that is exhausted says so, and nothing grows.
    let error = lease(1, 2).await.unwrap_err();
    assert!(matches!(error, DirectoryError::NoAddress(_)), "{error}");
    assert_eq!(lab.api::<BootLease>().list(&ListParams::default()).await.unwrap().items.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_was_left_behind_is_taken_up_by_its_machine_alone() {
    let lab = Lab::start_with(&[]).await;
    let declined = json!([{ "address": "10.9.0.9", "at": "2026-11-30T12:00:00Z" }]);
    // Written by servers that were ended before they had looked; the second by an old one, without the word `confirmed`.
    store(&lab, 0, "10.9.0.1", json!({ "confirmed": false })).await;
    store(&lab, 1, "10.9.0.2", json!({})).await;
    // Of two that proposed the same, neither had looked yet.
    store(&lab, 2, "10.9.0.3", json!({ "confirmed": false, "declined": declined })).await;
    store(&lab, 3, "10.9.0.3", json!({ "confirmed": true })).await;
    for number in 0..5 {
        host(&lab, &format!("h{number}"), &mac(number)[0]).await;
        known(&lab.hosts, &mac(number)).await;
    }
    let lease = async |number| lab.hosts.lease(&mac(number), true, &Greedy(9)).await.unwrap().unwrap().to_string();
    assert_eq!(lease(4).await, "10.9.0.4", "what is proposed is taken");
    assert_eq!((lease(0).await.as_str(), lease(1).await.as_str()), ("10.9.0.1", "10.9.0.2"));
    lab.hosts.declined(&mac(1), "10.9.0.2".parse().unwrap()).await.unwrap();
    let noted = lab.api::<BootLease>().get(&name(1)).await.unwrap();
    assert_eq!((noted.spec.confirmed, noted.spec.declined.len()), (true, 1));
    // The loser gets another address, and what it found in use stays known.
    assert_eq!(lease(2).await, "10.9.0.5");
    let moved = lab.api::<BootLease>().get(&name(2)).await.unwrap();
    assert_eq!((moved.spec.confirmed, moved.spec.declined[0].address.as_str()), (true, "10.9.0.9"));
    assert_eq!(moved.metadata.labels.unwrap()["bessemer.dev/address"], "0a090005");
    assert_eq!(lease(3).await, "10.9.0.3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_that_becomes_a_host_keeps_its_address_and_hosts_keep_a_part_of_the_pool() {
    let lab = Lab::start_with(&[]).await;
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(lab.client.clone());
    let site = serde_json::from_value(json!({ "metadata": { "name": "site" } })).unwrap();
    namespaces.create(&PostParams::default(), &site).await.unwrap();
    let (hosts, strangers) = (lab.hosts.clone().discovering("site"), Api::namespaced(lab.client.clone(), "site"));
    let lease = async |number: usize| {
        hosts.lease(&mac(number), true, &Greedy(8)).await.map(|address| address.unwrap().to_string())
    };
    for number in 0..6 {
        assert_eq!(lease(number).await.unwrap(), format!("10.9.0.{}", number + 1));
    }
    let error = lease(6).await.unwrap_err().to_string();
    assert!(error.contains("the last 2 addresses of 10.9.0.0/24 are kept for hosts"), "{error}");
    assert_eq!(lease(5).await.unwrap(), "10.9.0.6", "what it has it keeps");
    host(&lab, "h6", &mac(6)[0]).await;
    known(&lab.hosts, &mac(6)).await;
    assert_eq!(lease(6).await.unwrap(), "10.9.0.7");

    // Until the leases are in the cache.
    let cached = async || {
        while lab.hosts.lease(&mac(6), true, &Greedy(8)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(common::PATIENCE, cached()).await.unwrap();
    host(&lab, "h2", &mac(2)[0]).await;
    known(&lab.hosts, &mac(2)).await;
    assert_eq!(lease(2).await.unwrap(), "10.9.0.3");
    let stored: BootLease = lab.api().get(&name(2)).await.unwrap();
    assert_eq!((stored.spec.host.as_deref(), stored.spec.confirmed), (Some("h2"), true));
    let left: Vec<String> = strangers
        .list(&ListParams::default())
        .await
        .unwrap()
        .items
        .into_iter()
        .map(|lease: BootLease| lease.spec.mac)
        .collect();
    assert_eq!((left.len(), left.contains(&mac(2)[0])), (5, false), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_is_known_by_any_card_that_was_found_in_it() {
    let lab = Lab::start_with(&[]).await;
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
