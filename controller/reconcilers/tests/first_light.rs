//! From the demo's objects to a Running machine, with the real API and a pretended outside; and the three ways in which
//! first light may end badly.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use bessemer_api::bessemer::HostRecord;
use bessemer_api::cluster::{Cluster, ClusterPhase, Machine, MachinePhase};
use bessemer_api::conditions::is_true;
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::{BareMetalHost, ErrorType, ProvisioningState};
use bessemer_bmc::fake::{Act, FakeBmc};
use bessemer_bmc::{BootDevice, BootOverride, Credentials, PowerAction, PowerState};
use bessemer_protocol::{
    AddressSource, BootReport, DeployReport, Digest, DigestAlgorithm, Disk, EraseMode, EraseReport, ErasedDisk,
    Failure, FailureCode, HardwareDetails, HostId, LeaveHow, LeaveReport, NetworkConfig, NodeAddress, NodePhase,
    NodeReport, Outcome, Report, Work, WorkItem,
};
use bessemer_reconcilers::outside::{
    AgentHub, AgentIdentity, BootDirectory, BootFilesView, BootTargetView, HostAuthority, RoleIdentity,
};
use common::{Lab, MAC, NAMESPACE};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::json;

fn state(host: &BareMetalHost) -> ProvisioningState {
    host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default()
}

fn inspected() -> Outcome {
    let mut hardware = HardwareDetails { ram_mebibytes: 2048, ..HardwareDetails::default() };
    hardware.cpu.clock_megahertz = 2400.5;
    hardware.system_vendor.serial_number = "ABC".to_owned();
    let disk =
        Disk { name: "/dev/vda".to_owned(), serial_number: "S1".to_owned(), size_bytes: 8 << 30, ..Disk::default() };
    hardware.storage.push(disk);
    Outcome::Done { report: Report::Inspected { hardware: Box::new(hardware) } }
}

fn deployed() -> Outcome {
    let report = DeployReport {
        disk: Box::new(Disk { name: "/dev/vda".to_owned(), ..Disk::default() }),
        fetched_bytes: 1,
        image_bytes: 2,
        digest: Digest { algorithm: DigestAlgorithm::Sha256, hex: "ab".repeat(32) },
        format: "raw".to_owned(),
        partitions: Vec::new(),
        boot: BootReport::default(),
        notes: Vec::new(),
    };
    Outcome::Done { report: Report::Deployed(report) }
}

/// The agent is told to erase the disks of the inspection, and does.
async fn erases(lab: &Lab) {
    let item = lab.hub.received().await;
    let Work::Erase(order) = &item.work else { panic!("{item:?}") };
    assert_eq!((order.mode, order.disks.len()), (EraseMode::Metadata, 1));
    assert_eq!(order.disks[0].serial_number, "S1");
    let disk = ErasedDisk { disk: order.disks[0].clone(), ..ErasedDisk::default() };
    let report = EraseReport { erased: vec![disk], skipped: Vec::new() };
    lab.hub.answer(&item, Outcome::Done { report: Report::Erased(report) });
}

async fn until_available(lab: &Lab) -> HostId {
    let host = lab.enrol().await;
    let item = lab.hub.received().await;
    assert_eq!(item.work, Work::Inspect);
    lab.hub.answer(&item, inspected());
    erases(lab).await;
    lab.host_until(|host| state(host) == ProvisioningState::Available).await;
    host
}

async fn until_deploy(lab: &Lab) -> (HostId, WorkItem) {
    let host = until_available(lab).await;
    lab.add_cluster().await;
    let item = lab.hub.received().await;
    assert!(matches!(item.work, Work::Deploy(_)), "{item:?}");
    (host, item)
}

async fn the<K>(lab: &Lab) -> K
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let mut list = lab.api::<K>().list(&ListParams::default()).await.unwrap().items;
    assert_eq!(list.len(), 1);
    list.remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_powered_off_host_becomes_a_running_machine() {
    let lab = Lab::start().await;
    assert_eq!(lab.hosts.target(&[MAC.to_owned()]).await.unwrap(), BootTargetView::Unknown);
    lab.add_host("right").await;
    let (host, deploy) = until_deploy(&lab).await;
    let pxe = BootOverride::once(BootDevice::Pxe);
    assert_eq!(lab.bmc.acts(), [Act::Identify, Act::BootOverride(pxe), Act::Power(PowerAction::On)]);

    // The agent may ask for the identity of what it writes, as long as it writes.
    let claim = lab.hosts.deploying(host, deploy.id).await.unwrap();
    assert_eq!(deploy.claim.as_deref(), Some(claim.as_str()));
    let (_, machine) = claim.split_once('/').unwrap();
    assert!(machine.starts_with("first-cp-"), "{machine}");
    lab.hub.answer(&deploy, deployed());
    let leave = lab.hub.received().await;
    assert!(matches!(leave.work, Work::Leave { .. }), "{leave:?}");
    assert_eq!(lab.hosts.target(&[MAC.to_owned()]).await.unwrap(), BootTargetView::LocalDisk);
    assert!(lab.hosts.deploying(host, deploy.id).await.is_err());
    lab.hub
        .answer(&leave, Outcome::Done { report: Report::Leaving(LeaveReport { how: LeaveHow::Reboot, detail: None }) });
    lab.host_until(|host| state(host) == ProvisioningState::Provisioned).await;

    // The installed system comes up and fetches its bootstrap data.
    let node = AgentIdentity { host, role: RoleIdentity::Node { claim: claim.clone() } };
    lab.hosts.authorise(&node).await.unwrap();
    let bootstrap = lab.hosts.bootstrap(host, &claim).await.unwrap();
    assert_eq!(bootstrap.provider_id, format!("metal3://metal/r7-u12/{machine}"));
    assert!(bootstrap.data.contains("kubeadm init --config /run/kubeadm/kubeadm.yaml"));
    assert!(bootstrap.data.contains("/etc/kubernetes/pki/etcd/ca.key"));
    lab.hub.connect_node(
        host,
        NodeReport {
            hostname: "r7-u12".to_owned(),
            addresses: vec![NodeAddress { kind: "InternalIP".to_owned(), address: "10.77.0.112".to_owned() }],
            provider_id: Some(bootstrap.provider_id.clone()),
            phase: NodePhase::Done,
            ..NodeReport::default()
        },
    );
    lab.workload.serve(&bootstrap.provider_id, false);
    let name = machine.to_owned();
    let phase = |machine: &Machine| machine.status.as_ref().and_then(|status| status.phase);
    lab.until::<Machine>(&name, |machine| phase(machine) == Some(MachinePhase::Running)).await;
    lab.workload.serve(&bootstrap.provider_id, true);
    let ready = |list: &[bessemer_api::Condition]| is_true(list, "Ready") && is_true(list, "Available");
    let machine = lab.until::<Machine>(&name, |machine| ready(&machine.status.clone().unwrap().conditions)).await;
    assert_eq!(machine.status.clone().unwrap().node_ref.unwrap().name, "r7-u12");
    assert_eq!(machine.spec.provider_id, Some(bootstrap.provider_id));
    let addresses = machine.status.unwrap().addresses;
    assert!(addresses.iter().any(|address| address.address == "10.77.0.112"), "{addresses:?}");

    lab.until::<KubeadmControlPlane>("first-cp", |object| {
        is_true(&object.status.clone().unwrap_or_default().conditions, "Available")
    })
    .await;
    lab.until::<Cluster>("first", |cluster| {
        let status = cluster.status.clone().unwrap_or_default();
        status.phase == Some(ClusterPhase::Provisioned) && is_true(&status.conditions, "Available")
    })
    .await;
    settles(&lab).await;
    deletes(&lab).await;
}

/// Whatever is reconciled again writes nothing: a controller that starts anew finds everything as it should be.
async fn settles(lab: &Lab) {
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = versions(lab).await;
    let acts = lab.bmc.acts();
    let another = lab.another().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(versions(lab).await, before);
    assert_eq!(lab.bmc.acts(), acts);
    another.cancel();
}

async fn versions(lab: &Lab) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    macro_rules! take {
        ($($kind:ty),*) => { $(
            for object in lab.api::<$kind>().list(&ListParams::default()).await.unwrap() {
                let name = format!("{} {}", <$kind as kube::Resource>::kind(&()), object.name_any());
                versions.insert(name, object.resource_version().unwrap());
            }
        )* };
    }
    take!(
        BareMetalHost,
        HostRecord,
        Metal3Machine,
        bessemer_api::infrastructure::Metal3Cluster,
        Machine,
        Cluster,
        KubeadmControlPlane,
        bessemer_api::bootstrap::KubeadmConfig,
        Secret
    );
    versions
}

/// Everything can be taken down again. The host is taken back: it boots the ramdisk, is erased, and only then is it
/// anybody's. Deleted after that, it is switched off.
async fn deletes(lab: &Lab) {
    lab.api::<Cluster>().delete("first", &DeleteParams::default()).await.unwrap();
    lab.host_until(|host| state(host) == ProvisioningState::Deprovisioning).await;
    assert_ne!(lab.hosts.target(&[MAC.to_owned()]).await.unwrap(), BootTargetView::LocalDisk);
    let id = lab.enrol().await;
    let boot = lab.hub.view(&id).boot_id.unwrap();
    let ramdisk = AgentIdentity { host: id, role: RoleIdentity::Ramdisk { boot } };
    lab.hosts.authorise(&ramdisk).await.unwrap();
    assert!(lab.api::<Cluster>().get_opt("first").await.unwrap().is_some(), "gone before its host was erased");
    erases(lab).await;
    let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
    while lab.api::<Cluster>().get_opt("first").await.unwrap().is_some() {
        assert!(tokio::time::Instant::now() < deadline, "the cluster is still there");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let host = lab.host_until(|host| host.spec.consumer_ref.is_none()).await;
    assert_eq!((state(&host), host.spec.online), (ProvisioningState::Available, true));
    let story = lab.api::<HostRecord>().get("r7-u12").await.unwrap().status.unwrap().story;
    assert_eq!(story.iter().filter(|line| line.event == "erased").count(), 2, "{story:?}");
    lab.api::<BareMetalHost>().delete("r7-u12", &DeleteParams::default()).await.unwrap();
    while lab.api::<BareMetalHost>().get_opt("r7-u12").await.unwrap().is_some() {
        assert!(tokio::time::Instant::now() < deadline, "the host is still there");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(lab.bmc.power_now(), PowerState::Off);
    // No garbage collector is here: the record goes with the host even if it is not the host's in a collector's eyes.
    assert_eq!(lab.api::<HostRecord>().get_opt("r7-u12").await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_shown_and_a_changed_secret_retries_at_once() {
    let lab = Lab::start().await;
    lab.add_host("hunter2-refused").await;
    let host = lab.host_until(|host| host.status.as_ref().is_some_and(|status| status.error_type.is_some())).await;
    let status = host.status.unwrap();
    assert_eq!(status.error_type, Some(ErrorType::Registration));
    assert_eq!(status.provisioning.state, ProvisioningState::Registering);
    assert!(
        status.error_message.contains("The password in secret metal/r7-u12-bmc is refused"),
        "{}",
        status.error_message
    );
    let shown = serde_json::to_string(&status).unwrap();
    assert!(!shown.contains("hunter2"), "the password is in the status: {shown}");
    assert_eq!(lab.bmc.acts(), []);
    another_host_registers(&lab).await;
    let later = lab.host_until(|_| true).await.status.unwrap();
    assert_eq!(later.error_count, 1, "not tried again at once: {}", later.error_message);
    lab.patch::<Secret>("r7-u12-bmc", json!({ "stringData": { "password": "right" } })).await;
    let host = lab.host_until(|host| state(host) == ProvisioningState::Inspecting).await;
    assert_eq!(host.status.unwrap().error_message, "");
}

/// Whatever waited for its turn before has had it by then.
async fn another_host_registers(lab: &Lab) {
    lab.bmcs.add(FakeBmc::new("ipmi://10.0.0.2".parse().unwrap(), Credentials::new("admin", "right")));
    lab.secret("r7-u13-bmc", "right").await;
    let bmc = json!({ "address": "ipmi://10.0.0.2", "credentialsName": "r7-u13-bmc" });
    lab.add_host_with("r7-u13", "52:54:00:77:00:02", bmc).await;
    lab.until::<BareMetalHost>("r7-u13", |host| state(host) == ProvisioningState::Inspecting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_digest_is_shown_and_not_retried_at_once() {
    let lab = Lab::start().await;
    lab.add_host("right").await;
    let (_, deploy) = until_deploy(&lab).await;
    let message = "sha256 differs after 2147483648 bytes (want abab…, got 41aa…)".to_owned();
    lab.hub.answer(&deploy, Outcome::Failed(Failure { code: FailureCode::DigestMismatch, message }));
    let host = lab.host_until(|host| host.status.as_ref().is_some_and(|status| status.error_type.is_some())).await;
    let status = host.status.unwrap();
    assert_eq!(status.error_type, Some(ErrorType::Provisioning));
    assert_eq!(status.provisioning.state, ProvisioningState::Provisioning);
    assert!(status.error_message.contains("got 41aa…)"), "{}", status.error_message);
    // It reaches the machine that waits for the host.
    let machine: Metal3Machine = the(&lab).await;
    lab.until::<Metal3Machine>(&machine.name_any(), |machine| {
        let conditions = machine.status.clone().unwrap_or_default().conditions;
        conditions.iter().any(|condition| condition.type_ == "Ready" && condition.message.contains("got 41aa…"))
    })
    .await;
    assert_eq!(lab.hosts.target(&[MAC.to_owned()]).await.unwrap(), BootTargetView::PowerOff, "its disk never boots");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_agent_is_shown_and_its_host_is_booted_again() {
    let lab = Lab::start().await;
    lab.add_host("right").await;
    let (host, deploy) = until_deploy(&lab).await;
    lab.hub.lose(host);
    let seen = lab.host_until(|host| host.status.as_ref().is_some_and(|status| status.error_type.is_some())).await;
    let status = seen.status.unwrap();
    assert_eq!(status.error_type, Some(ErrorType::Provisioning));
    assert!(
        status.error_message.starts_with("agent lost: the stream of r7-u12 is silent since"),
        "{}",
        status.error_message
    );
    // An edit ends the wait; the same image is written again, as another attempt.
    lab.patch::<BareMetalHost>("r7-u12", json!({ "spec": { "description": "go on" } })).await;
    lab.enrol().await;
    let again = lab.hub.received().await;
    assert!(matches!(again.work, Work::Deploy(_)));
    assert_ne!(again.id, deploy.id);
    assert_eq!(again.claim, deploy.claim);
    let record = lab.api::<HostRecord>().get("r7-u12").await.unwrap();
    assert_eq!(record.status.unwrap().work.unwrap().attempt, 2);
    assert_eq!(record.metadata.namespace.as_deref(), Some(NAMESPACE));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosts_own_network_reaches_its_ramdisk_and_stays_with_the_boot() {
    let lab = Lab::start().await;
    let data = |address: &str| {
        json!({
            "links": [{"id": "a", "type": "phy", "ethernet_mac_address": MAC}],
            "networks": [{"link": "a", "type": "ipv4", "ip_address": address, "netmask": "255.255.255.0"}],
        })
        .to_string()
    };
    lab.create::<Secret>(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "net" },
        "stringData": { "networkData": data("10.77.0.50") },
    }))
    .await;
    lab.secret("r7-u12-bmc", "right").await;
    lab.create::<BareMetalHost>(json!({
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": { "name": "r7-u12" },
        "spec": {
            "online": true,
            "bootMACAddress": MAC,
            "bmc": { "address": "ipmi://10.0.0.1", "credentialsName": "r7-u12-bmc" },
            "preprovisioningNetworkDataName": "net",
        },
    }))
    .await;
    let booting = |record: &HostRecord| record.status.as_ref().is_some_and(|status| status.boot.is_some());
    let boot = lab.until::<HostRecord>("r7-u12", booting).await.status.unwrap().boot.unwrap().id.parse().unwrap();
    let network = async || match lab.hosts.boot(boot).await.unwrap() {
        BootFilesView::Ready(view) => view.network.unwrap(),
        other => panic!("{other:?}"),
    };
    let first = network().await;
    let address = "10.77.0.50".parse().unwrap();
    assert_eq!(first.links[0].addresses, [AddressSource::Static { address, prefix: 24 }]);
    lab.patch::<Secret>("net", json!({ "stringData": { "networkData": data("10.77.0.51") } })).await;
    lab.patch::<BareMetalHost>("r7-u12", json!({ "spec": { "description": "look again" } })).await;
    lab.enrol().await;
    let record = lab.api::<HostRecord>().get("r7-u12").await.unwrap().status.unwrap();
    assert_eq!(serde_json::from_value::<NetworkConfig>(record.boot.unwrap().network.unwrap()).unwrap(), first);
}
