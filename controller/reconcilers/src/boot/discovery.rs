//! Unknown machines, where the site wants to learn what they are: they boot the ramdisk without any secret, and what it
//! reports becomes a record that belongs to nobody. Bounded in number and rate, since anybody on the boot network can
//! make up hardware addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, DiscoveredRecord, HostRecord, HostRecordSpec};
use bessemer_protocol::{BootId, DiscoverRequest, DiscoverResponse};
use jiff::Timestamp;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, ResourceExt};

use super::is_mac;
use super::leases::Holder;
use crate::hosts::Hosts;
use crate::kubernetes::{ReconcileError, create_or_get, delete, time, write};
use crate::outside::Refused;

/// Unknown machines that may have an address, a boot or a record at the same time.
const MACHINES: usize = 200;

/// How long a machine's boot id is the same: firmware and iPXE ask several times, and POST takes its time.
const BOOT_AGE: Duration = Duration::from_secs(30 * 60);

/// How long an unknown machine keeps its address.
const LEASE_AGE: Duration = Duration::from_secs(24 * 3600);

/// When a machine that reported reports again.
const AGAIN: Duration = Duration::from_secs(10 * 60);

/// Lists of a report that are kept; a server has fewer.
const MACS: usize = 64;

/// A site's wish to learn about unknown machines.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// Where records and leases of unknown machines lie.
    namespace: String,
    boots: Mutex<BTreeMap<String, (BootId, Timestamp)>>,
}

impl Discovery {
    pub(crate) fn new(namespace: String) -> Self {
        Self { namespace, boots: Mutex::default() }
    }

    /// The boot of an unknown machine, the same for a while; none if there are too many machines.
    pub(super) fn boot_of(&self, mac: &str, now: Timestamp) -> Option<BootId> {
        let mut boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        boots.retain(|_, (_, made)| now.duration_since(*made).unsigned_abs() < BOOT_AGE);
        if let Some((boot, _)) = boots.get(mac) {
            return Some(*boot);
        }
        if boots.len() >= MACHINES {
            return None;
        }
        let boot = BootId::random();
        boots.insert(mac.to_owned(), (boot, now));
        Some(boot)
    }

    /// When that boot was made, if it is one of an unknown machine.
    pub(super) fn issued(&self, boot: BootId) -> Option<Timestamp> {
        let boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        boots.values().find(|(known, _)| *known == boot).map(|(_, issued)| *issued)
    }
}

impl Hosts {
    /// Who an unknown machine's lease is for; none where discovery is off or too many have one. A machine that does not
    /// `boot` from the network gets no new one: phones and laptops are not to be learnt about.
    pub(super) fn stranger(&self, macs: &[String], boots: bool) -> Option<Holder> {
        let namespace = &self.discovery()?.namespace;
        let mac = macs.first()?;
        let has_one = |lease: &BootLease| lease.spec.host.is_none();
        let strangers = self.leases_where(has_one);
        let known = strangers.iter().any(|lease| lease.spec.mac == *mac);
        (known || (boots && strangers.len() < MACHINES)).then(|| Holder {
            mac: mac.clone(),
            namespace: namespace.clone(),
            host: None,
        })
    }

    /// Takes addresses back from strangers that have had them for [`LEASE_AGE`]; one that is still there asks again.
    pub(super) async fn forget_strangers_leases(&self, namespace: &str) {
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), namespace);
        let now = Timestamp::now();
        let is_old = |lease: &BootLease| {
            let since = lease.spec.first_seen.as_ref().map_or(Timestamp::UNIX_EPOCH, |at| at.0);
            lease.spec.host.is_none() && now.duration_since(since).unsigned_abs() > LEASE_AGE
        };
        for lease in self.leases_where(is_old) {
            if let Err(error) = delete(&leases, lease.as_ref()).await {
                tracing::warn!(lease = lease.name_any(), %error, "an old lease of an unknown machine was not removed");
            }
        }
    }

    /// Takes an unknown machine's report.
    pub(crate) async fn take_report(
        &self,
        from: IpAddr,
        report: &DiscoverRequest,
    ) -> Result<DiscoverResponse, Refused> {
        let off = || Refused::for_good("discovery is off at this site: register the machine's MAC as a BareMetalHost");
        let discovery = self.discovery().ok_or_else(off)?;
        let macs: Vec<String> = report.identity.macs.iter().take(MACS).map(|mac| mac.to_ascii_lowercase()).collect();
        let Some(first) = macs.iter().find(|mac| is_mac(mac)) else {
            return Err(Refused::for_good("the report names no hardware address"));
        };
        if let Some(host) = macs.iter().find_map(|mac| self.key_of_mac(mac)) {
            tracing::warn!(%host, %from, "a machine that is a host reports as unknown");
            return Err(Refused::for_good("this machine is known: power it on through its BMC"));
        }
        let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &discovery.namespace);
        let name = format!("discovered-{}", first.replace(':', "-"));
        let kept = self.store_report(&records, &name, from, macs.clone(), report).await;
        kept.map_err(|error| Refused::for_now(error.to_string()))?;
        Ok(DiscoverResponse { again_after_seconds: u32::try_from(AGAIN.as_secs()).ok() })
    }

    async fn store_report(
        &self,
        records: &Api<HostRecord>,
        name: &str,
        from: IpAddr,
        macs: Vec<String>,
        report: &DiscoverRequest,
    ) -> Result<(), ReconcileError> {
        let vendor = &report.hardware.system_vendor;
        let now = time(Timestamp::now());
        let said = DiscoveredRecord {
            at: now.clone(),
            from: IpText(from.to_string()),
            macs,
            serial: report.identity.serial.clone(),
            smbios_uuid: report.identity.smbios_uuid.clone(),
            manufacturer: vendor.manufacturer.clone(),
            product_name: vendor.product_name.clone(),
            hardware: serde_json::to_value(&report.hardware).ok(),
        };
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let fresh = HostRecord { metadata, spec: HostRecordSpec {}, status: None };
        self.forget_reports(records, name).await?;
        let before = create_or_get(records, &fresh).await?;
        let mut after = before.clone();
        let status = after.status.get_or_insert_default();
        if status.discovered.is_none() {
            let product = format!("{} {}", said.manufacturer, said.product_name);
            status.tell(now, "discovered", format!("{} reports from {from}", product.trim()));
        }
        status.discovered = Some(said);
        write(records, &before, &after).await.map(drop)
    }

    /// Reports of machines that are hosts by now, and the oldest that are too many beside `name`.
    async fn forget_reports(&self, records: &Api<HostRecord>, name: &str) -> Result<(), ReconcileError> {
        let all = records.list(&ListParams::default()).await;
        let Ok(all) = all else { return Ok(()) };
        let mut others: Vec<(Timestamp, HostRecord)> = all
            .items
            .into_iter()
            .filter(|record| record.name_any() != name)
            .filter_map(|record| Some((record.status.as_ref()?.discovered.as_ref()?.at.0, record)))
            .collect();
        others.sort_by_key(|(at, _)| *at);
        let surplus = (others.len() + 1).saturating_sub(MACHINES);
        for (index, (_, record)) in others.iter().enumerate() {
            let discovered = record.status.as_ref().and_then(|status| status.discovered.as_ref());
            let is_host = discovered.is_some_and(|said| said.macs.iter().any(|mac| self.key_of_mac(mac).is_some()));
            if index < surplus || is_host {
                delete(records, record).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_keeps_its_boot_for_a_while_and_there_are_only_so_many() {
        let discovery = Discovery::new("site".to_owned());
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let first = discovery.boot_of("a", at(0)).unwrap();
        assert_eq!(discovery.boot_of("a", at(1799)), Some(first));
        assert_eq!(discovery.issued(first), Some(at(0)));
        assert_ne!(discovery.boot_of("a", at(1800)), Some(first));
        assert_eq!(discovery.issued(first), None);
        for number in 1..MACHINES {
            assert!(discovery.boot_of(&number.to_string(), at(1801)).is_some());
        }
        assert_eq!(discovery.boot_of("one too many", at(1802)), None);
        assert!(discovery.boot_of("one too many", at(9000)).is_some());
    }
}
