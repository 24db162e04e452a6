//! Machines that no BareMetalHost knows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use std::net::IpAddr;

use bessemer_api::bessemer::HostRecord;
use bessemer_protocol::{BootId, DiscoverRequest, HardwareDetails, HardwareIdentity, PROTOCOL_VERSION};
use bessemer_reconcilers::outside::{
    AddressPool, BootDirectory, BootFilesView, BootTargetView, HostAuthority, NoAddress,
};
use common::{Lab, MAC, NAMESPACE};
use kube::Api;

const STRANGER: &str = "3c:ec:ef:00:00:07";

struct One;

impl AddressPool for One {
    fn subnet(&self) -> String {
        "10.9.0.0/24".to_owned()
    }

    fn contains(&self, address: IpAddr) -> bool {
        address == IpAddr::from([10, 9, 0, 1])
    }

    fn size(&self) -> u128 {
        2
    }

    fn reserve(&self, _: IpAddr) -> Result<(), NoAddress> {
        Ok(())
    }

    fn pick(&self, _: &str, _: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
        Ok([10, 9, 0, 1].into())
    }
}

fn report(macs: &[&str]) -> DiscoverRequest {
    let mut hardware = HardwareDetails { ram_mebibytes: 2048, ..HardwareDetails::default() };
    hardware.cpu.clock_megahertz = 2400.5;
    hardware.system_vendor.manufacturer = "Maker".to_owned();
    let macs = macs.iter().map(|mac| (*mac).to_owned()).collect();
    let identity = HardwareIdentity { smbios_uuid: None, serial: Some("S1".to_owned()), macs };
    DiscoverRequest { protocol: PROTOCOL_VERSION, agent_version: "0.1.0".to_owned(), identity, hardware }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_gets_nothing_unless_the_site_wants_to_learn() {
    let lab = Lab::start().await;
    let (from, stranger) = (IpAddr::from([10, 9, 0, 1]), [STRANGER.to_owned()]);
    assert_eq!(lab.hosts.target(&stranger).await.unwrap(), BootTargetView::Unknown);
    assert_eq!(lab.hosts.lease(&stranger, true, &One).await.unwrap(), None);
    let refused = lab.hosts.discovered(from, &report(&[STRANGER])).await.unwrap_err();
    assert!(refused.message.contains("discovery is off"), "{refused}");

    let hosts = lab.hosts.clone().discovering(NAMESPACE);
    let BootTargetView::Discover { boot } = hosts.target(&stranger).await.unwrap() else { panic!("no discovery") };
    assert_eq!(hosts.target(&stranger).await.unwrap(), BootTargetView::Discover { boot }, "firmware asks often");
    let laptop = hosts.lease(&["3c:ec:ef:00:00:0a".to_owned()], false, &One).await.unwrap();
    assert_eq!(laptop, None, "a running system is nobody's to learn about");
    assert_eq!(hosts.lease(&stranger, true, &One).await.unwrap(), Some(from));
    // Its ramdisk is a running system too, and has its address already.
    assert_eq!(hosts.lease(&stranger, false, &One).await.unwrap(), Some(from));
    assert!(matches!(hosts.boot(boot).await.unwrap(), BootFilesView::Discover { .. }));
    assert_eq!(hosts.boot(BootId::random()).await.unwrap(), BootFilesView::Unknown);
    // Its boot opens nothing.
    assert!(hosts.admit(boot, &report(&[STRANGER]).identity, "0.1.0").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_stranger_reports_is_a_record_of_nobody() {
    let lab = Lab::start().await;
    let hosts = lab.hosts.clone().discovering(NAMESPACE);
    let from = IpAddr::from([10, 9, 0, 1]);
    for _ in 0..2 {
        let answer = hosts.discovered(from, &report(&["3C:EC:EF:00:00:07", "3c:ec:ef:00:00:08"])).await.unwrap();
        assert!(answer.again_after_seconds.is_some());
    }
    let records: Api<HostRecord> = lab.api();
    let record = records.get("discovered-3c-ec-ef-00-00-07").await.unwrap();
    let status = record.status.unwrap();
    let said = status.discovered.unwrap();
    assert_eq!(said.macs, ["3c:ec:ef:00:00:07", "3c:ec:ef:00:00:08"]);
    assert_eq!((said.serial.as_deref(), said.manufacturer.as_str()), (Some("S1"), "Maker"));
    assert_eq!(said.hardware.unwrap()["ramMebibytes"], 2048);
    assert_eq!(status.story.len(), 1, "told once");

    let refused = hosts.discovered(from, &report(&[])).await.unwrap_err();
    assert!(refused.message.contains("no hardware address"), "{refused}");

    // A machine that is a host is not a stranger, and a stranger that became one leaves no record.
    lab.add_host_with("r7-u12", STRANGER, serde_json::json!({ "address": "ipmi://10.0.0.1", "credentialsName": "x" }))
        .await;
    lab.add_host_with("r7-u13", MAC, serde_json::json!({ "address": "ipmi://10.0.0.2", "credentialsName": "x" })).await;
    lab.host_until(|host| host.status.is_some()).await;
    let deadline = tokio::time::Instant::now() + common::PATIENCE;
    while hosts.discovered(from, &report(&[STRANGER])).await.is_ok() {
        assert!(tokio::time::Instant::now() < deadline, "the host is not known");
    }
    hosts.discovered(from, &report(&["3c:ec:ef:00:00:09"])).await.unwrap();
    assert!(records.get_opt("discovered-3c-ec-ef-00-00-07").await.unwrap().is_none());
}
