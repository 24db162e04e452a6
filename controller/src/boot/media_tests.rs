//! A host of virtual media, whole but for its firmware: reconcilers, a BMC over Redfish, and our boot server, from which
//! the address that the BMC was told is fetched.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use bessemer_agents::Hub;
use bessemer_api::bessemer::HostRecord;
use bessemer_api::metal3::BareMetalHost;
use bessemer_apiserver::ApiServer;
use bessemer_bmc::Connector;
use bessemer_fake_bmc::host::power::PowerState;
use bessemer_fake_bmc::machine::BootSource;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{FakeBmc, HostOptions, fleet, seed};
use bessemer_pxe::{Interface, Ipxe, Media, Mode, Reach, Subnet};
use bessemer_reconcilers::{BootSettings, Group, KubeWorkloadClusters, Outside, Site};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::*;

/// Served beside the ISO; nobody asks for it here.
const IPXE: &str = "/usr/lib/ipxe/snponly.efi";
const PATIENCE: Duration = Duration::from_secs(30);
const SECTOR: usize = 2048;

/// An ISO in outline, with a slot of two sectors for the overlay.
fn iso() -> Vec<u8> {
    let mut octets = vec![1; 40 * SECTOR];
    octets[16 * SECTOR + 1..16 * SECTOR + 6].copy_from_slice(b"CD001");
    octets[20 * SECTOR..20 * SECTOR + 32].copy_from_slice(b"BESSEMER-OVERLAY-SLOT-1\0\0\0\0\0\0\0\0\0");
    octets[20 * SECTOR + 32..20 * SECTOR + 40].copy_from_slice(&(4 * SECTOR as u64).to_le_bytes());
    octets
}

/// Without DHCP, on an address of loopback that no other run of this test has: TFTP's port is fixed.
fn config(iso: &Path) -> Config {
    let third = u8::try_from(std::process::id() % 251).unwrap();
    let prefix = format!("127.71.{third}.0/24").parse().unwrap();
    Config {
        interfaces: vec![Interface::new("lo", Ipv4Addr::new(127, 71, third, 77))],
        subnets: vec![Subnet { mode: Mode::Off, ..Subnet::new(prefix, Reach::OnLink("lo".into())) }],
        ipxe: Ipxe { x64: std::fs::read(IPXE).unwrap().into(), ..Ipxe::default() },
        media: Media { iso: Some(iso.to_owned()), ..Media::default() },
        http_port: 8080,
        ..Config::default()
    }
}

async fn apply(client: &Client, bmc: &FakeBmc) {
    let namespace = json!({"metadata": {"name": "metal"}});
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
    let secret = json!({
        "metadata": {"name": "r7-u12-bmc"}, "stringData": {"username": "admin", "password": "password"},
    });
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "metal");
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    let host = json!({
        "apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost", "metadata": {"name": "r7-u12"},
        "spec": {"online": true, "bmc": {
            "address": format!("redfish-virtualmedia+http://{}", bmc.address()), "credentialsName": "r7-u12-bmc",
        }},
    });
    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "metal");
    hosts.create(&PostParams::default(), &serde_json::from_value(host).unwrap()).await.unwrap();
}

/// Looks until it is so.
async fn until(client: &Client, what: &str, holds: impl Fn() -> bool) {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while !holds() {
        if tokio::time::Instant::now() > deadline {
            let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "metal");
            let records: Api<HostRecord> = Api::namespaced(client.clone(), "metal");
            let (host, record) = (hosts.get_opt("r7-u12").await, records.get_opt("r7-u12").await);
            panic!("not in {PATIENCE:?}: {what}\n{host:#?}\n{record:#?}");
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Status and body, as a BMC fetches it.
async fn get(url: &str) -> (u16, Vec<u8>) {
    let (authority, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut socket = TcpStream::connect(authority.parse::<SocketAddr>().unwrap()).await.unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut reply = Vec::new();
    socket.read_to_end(&mut reply).await.unwrap();
    let end = reply.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let status = std::str::from_utf8(&reply[9..12]).unwrap().parse().unwrap();
    (status, reply.split_off(end + 4))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_url_that_the_bmc_is_told_is_the_iso_with_the_overlay_of_that_boot() {
    if !Path::new(IPXE).exists() {
        println!("SKIP the_url_that_the_bmc_is_told_is_the_iso_with_the_overlay_of_that_boot: no {IPXE}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("agent.iso");
    std::fs::write(&file, iso()).unwrap();
    let api = ApiServer::open(&folder.path().join("state")).await.unwrap();
    let crds: Vec<_> = bessemer_api::crds().iter().map(|crd| serde_json::to_value(crd).unwrap()).collect();
    api.install_crds(&crds).await.unwrap();
    let client = Client::new(api.router(), "default");
    let (stop, mut parts) = (CancellationToken::new(), JoinSet::new());
    let site = Site::start(client.clone(), stop.clone()).await.unwrap();
    let authority = site::open(&client).await.unwrap().boot().clone();
    let controllers = vec!["https://192.0.2.1:9".to_owned()];
    let running = start(config(&file), site.hosts(), authority, controllers, &stop, &mut parts).await.unwrap();
    let outside = Outside {
        bmc: Arc::new(Connector::new()),
        agents: Hub::new(),
        workload: Arc::new(KubeWorkloadClusters::new(client.clone())),
        boot: BootSettings { media_url: running.urls.first().cloned(), ..BootSettings::default() },
    };
    tokio::spawn(site.run(outside, [Group::Metal3].into()));

    let bmc = fleet::start_one(&seed::minimal().unwrap(), HostOptions::numbered(1), Tls::Off).await.unwrap();
    apply(&client, &bmc).await;
    until(&client, "the host is on", || bmc.host().power() == PowerState::On).await;
    let boot = bmc.host().last_boot().unwrap();
    let url = bmc.host().media().image("CD").unwrap();
    assert_eq!(boot.source, BootSource::Cd { image: Some(url.clone()) });
    println!("the BMC was told {url}");
    let records: Api<HostRecord> = Api::namespaced(client.clone(), "metal");
    let id = records.get("r7-u12").await.unwrap().status.unwrap().boot.unwrap().id;
    assert!(url.ends_with(&format!("/b/{}/boot.iso", id.replace('-', ""))), "{url} {id}");

    let (status, body) = get(&url).await;
    assert_eq!((status, body.len()), (200, iso().len()));
    assert!(body[..20 * SECTOR] == iso()[..20 * SECTOR] && body[24 * SECTOR..] == iso()[24 * SECTOR..]);
    let slot = &body[20 * SECTOR..24 * SECTOR];
    assert!(slot.starts_with(b"070701"), "an overlay");
    assert!(slot.windows(id.len()).any(|part| part == id.as_bytes()), "of this boot");
    // From the network, nothing of it.
    assert_eq!(get(&url.replace("boot.iso", "initrd")).await.0, 404);

    let hosts: Api<BareMetalHost> = Api::namespaced(client.clone(), "metal");
    hosts.delete("r7-u12", &DeleteParams::default()).await.unwrap();
    until(&client, "the drive is empty", || bmc.host().media().image("CD").is_none()).await;
    assert_eq!(bmc.host().power(), PowerState::Off);
    assert_ne!(get(&url).await.0, 200, "the boot is over");
    stop.cancel();
    while parts.join_next().await.is_some() {}
    api.close();
}
