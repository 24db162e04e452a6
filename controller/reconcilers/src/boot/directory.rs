//! What a machine shall boot and which address it has: the answers to the boot server.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use bessemer_api::bessemer::{BootStep, BootTarget, HostRecord, HostRecordStatus, StartsRecord};
use bessemer_api::metal3::{BareMetalHost, ProvisioningState};
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_PAUSED_ANNOTATION, HOST_STATUS_ANNOTATION};
use bessemer_protocol::BootId;
use jiff::{SignedDuration, Timestamp};
use kube::{Api, ResourceExt};
use uuid::Uuid;

use super::leases::{Holder, parse};
use super::{api_trouble, smbios, write_trouble};
use crate::hosts::Hosts;
use crate::kubernetes::{Key, time, write};
use crate::metal3::baremetalhost::host_id;
use crate::outside::{AddressPool, BootDirectory, BootFilesView, BootTargetView, BootView, DirectoryError, WhoseView};

/// What the API has to say what a host boots. A boot server waits three seconds for all of its answer.
const PATIENCE: Duration = Duration::from_secs(1);

#[async_trait]
impl BootDirectory for Hosts {
    fn whose(&self, macs: &[String], smbios_uuid: Option<Uuid>) -> WhoseView {
        let (key, mac) = match self.known(macs) {
            Known::Host(key, mac) => (key, mac),
            Known::Nobody => return WhoseView::Nobody,
            Known::Contradiction(why) => return WhoseView::Contradiction(why),
        };
        let record = self.cached_record(&key);
        let known = record.and_then(|record| smbios::parse(record.status.as_ref()?.smbios_uuid.as_deref()?));
        match known.zip(smbios_uuid) {
            Some((known, found)) if smbios::differ(known, found) => WhoseView::Contradiction(format!(
                "{mac} is of host {key}, whose SMBIOS UUID is {known}, not {found}: if its mainboard was replaced, delete the \
                 HostRecord {key}"
            )),
            _ => WhoseView::Host,
        }
    }

    async fn target(&self, macs: &[String]) -> Result<BootTargetView, DirectoryError> {
        let key = match self.known(macs) {
            Known::Host(key, _) => key,
            Known::Nobody => return Ok(self.target_of_stranger(macs)),
            Known::Contradiction(_) => return Ok(BootTargetView::Unknown),
        };
        let (host, record) = match in_time(&key, self.read(&key)).await {
            Ok(read) => read,
            // What was true a moment ago: silence would take an unprovisioned host to the disk of a previous tenant.
            Err(error) => match (self.cached(&key), self.cached_record(&key)) {
                (Some(host), Some(record)) => (Some(host.as_ref().clone()), Some(record.as_ref().clone())),
                _ => return Err(error),
            },
        };
        let Some(host) = host else { return Ok(BootTargetView::Unknown) };
        let status = record.and_then(|record| record.status).unwrap_or_default();
        Ok(target(&host, &status, Timestamp::now()))
    }

    async fn lease(
        &self,
        macs: &[String],
        boots: bool,
        pool: &dyn AddressPool,
    ) -> Result<Option<IpAddr>, DirectoryError> {
        let Some(holder) = self.holder(macs, boots) else { return Ok(None) };
        self.address(&holder, pool).await.map(Some)
    }

    async fn declined(&self, macs: &[String], address: IpAddr) -> Result<(), DirectoryError> {
        let Some(holder) = self.holder(macs, false) else { return Ok(()) };
        self.withdraw(&holder, address).await
    }

    async fn boot(&self, boot: BootId) -> Result<BootFilesView, DirectoryError> {
        let Some(key) = self.key_of_boot(boot) else {
            let issued = self.discovery().and_then(|discovery| discovery.issued(boot));
            return Ok(issued.map_or(BootFilesView::Unknown, |issued| BootFilesView::Discover { issued }));
        };
        let (host, record) = self.read(&key).await.map_err(|source| api_trouble(format!("host {key}"), source))?;
        let (Some(host), Some(record)) = (host, record) else { return Ok(BootFilesView::Unknown) };
        let current = record.status.and_then(|status| status.boot).filter(|current| current.id == boot.to_string());
        let (Some(id), Some(current)) = (host_id(&host), current) else {
            return Ok(BootFilesView::Unknown);
        };
        let addresses = self.leases_of_host(&key).iter().filter_map(|lease| parse(&lease.spec.address)).collect();
        if let (BootTarget::LiveIso, Some(url)) = (current.target, &current.live) {
            return Ok(BootFilesView::Live { url: url.clone(), addresses });
        }
        let open = current.target == BootTarget::Ramdisk
            && current.step != BootStep::Streaming
            && current.expires.0 > Timestamp::now();
        if !open {
            return Ok(BootFilesView::Over);
        }
        Ok(BootFilesView::Ready(BootView {
            host: id,
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            media: current.media.is_some(),
            addresses,
            issued: current.issued.0,
            // A controller of another version may have written it; without it the ramdisk would ask on networks it must not.
            network: current.network.map(serde_json::from_value).transpose().map_err(|_| {
                DirectoryError::Busy(format!("the network of boot {boot} is not understood: boot host {key} anew"))
            })?,
        }))
    }

    async fn started(&self, boot: BootId) -> Result<Option<u32>, DirectoryError> {
        let Some(key) = self.key_of_boot(boot) else { return Ok(None) };
        for _ in 0..ATTEMPTS {
            match self.note_start(&key, boot).await {
                Err(DirectoryError::Busy(_)) => {}
                result => return result,
            }
        }
        Err(DirectoryError::Busy(format!("the record of host {key} is written by others all the time")))
    }

    async fn gave_up(&self, boot: BootId, why: &str) -> Result<(), DirectoryError> {
        let Some(key) = self.key_of_boot(boot) else { return Ok(()) };
        for _ in 0..ATTEMPTS {
            match self.note_gave_up(&key, boot, why).await {
                // The host's reconciler was faster.
                Err(DirectoryError::Busy(_)) => {}
                result => return result,
            }
        }
        Err(DirectoryError::Busy(format!("the record of host {key} is written by others all the time")))
    }
}

/// Within this time, what another boot server saw is the same start.
const SAME_START: SignedDuration = SignedDuration::from_secs(30);

/// Writers of the same record, one after the other, before one gives up.
const ATTEMPTS: usize = 5;

/// Whose MACs they are.
enum Known {
    /// One host's; and which of them it is known by.
    Host(Key, String),
    /// Nobody's.
    Nobody,
    /// Of several hosts, or several hosts claim one of them: none is picked. With the reason.
    Contradiction(String),
}

impl Hosts {
    fn known(&self, macs: &[String]) -> Known {
        let mut found: Option<(Key, String)> = None;
        for mac in macs {
            match self.key_of_mac(mac) {
                None if self.is_claimed(mac) => {
                    return Known::Contradiction(format!("several BareMetalHosts have {mac}: leave it in one"));
                }
                None => {}
                Some(key) => match &found {
                    Some((known, _)) if *known != key => {
                        tracing::warn!(%known, other = %key, mac, "a machine has hardware addresses of two hosts");
                        return Known::Contradiction(format!("it has a card of host {known}, and {mac} of host {key}"));
                    }
                    Some(_) => {}
                    None => found = Some((key, mac.clone())),
                },
            }
        }
        found.map_or(Known::Nobody, |(key, mac)| Known::Host(key, mac))
    }

    fn holder(&self, macs: &[String], boots: bool) -> Option<Holder> {
        match self.known(macs) {
            Known::Host(host, mac) => Some(Holder { mac, namespace: host.namespace.clone(), host: Some(host) }),
            Known::Nobody => self.stranger(macs, boots),
            Known::Contradiction(_) => None,
        }
    }

    async fn note_start(&self, key: &Key, boot: BootId) -> Result<Option<u32>, DirectoryError> {
        let (_, record) = self.read(key).await.map_err(|source| api_trouble(format!("host {key}"), source))?;
        let Some(record) = record else { return Ok(None) };
        let mut after = record.clone();
        let (status, now) = (after.status.get_or_insert_default(), Timestamp::now());
        let known = status.starts.take().filter(|starts| starts.boot == boot.to_string());
        let count = known.as_ref().map_or(0, |starts| starts.count);
        if known.is_some_and(|starts| now.duration_since(starts.last.0) < SAME_START) {
            return Ok(Some(count));
        }
        let count = count.saturating_add(1);
        status.starts = Some(StartsRecord { boot: boot.to_string(), count, last: time(now) });
        let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &key.namespace);
        write(&records, &record, &after).await.map_err(write_trouble).map(|_| Some(count))
    }

    async fn note_gave_up(&self, key: &Key, boot: BootId, why: &str) -> Result<(), DirectoryError> {
        let (_, record) = self.read(key).await.map_err(|source| api_trouble(format!("host {key}"), source))?;
        let Some(record) = record else { return Ok(()) };
        let mut after = record.clone();
        let status = after.status.get_or_insert_default();
        let asked = status.boot.as_mut().filter(|current| current.id == boot.to_string() && !current.enrolled);
        let Some(current) = asked.filter(|current| current.gave_up.is_none()) else { return Ok(()) };
        current.gave_up = Some(why.to_owned());
        status.tell(time(Timestamp::now()), "boot", why);
        let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &key.namespace);
        write(&records, &record, &after).await.map_err(write_trouble).map(drop)
    }

    fn target_of_stranger(&self, macs: &[String]) -> BootTargetView {
        let boot = macs.first().zip(self.discovery()).and_then(|(mac, found)| found.boot_of(mac, Timestamp::now()));
        boot.map_or(BootTargetView::Unknown, |boot| BootTargetView::Discover { boot })
    }
}

/// The stored target, as long as the host is ours to boot.
fn target(host: &BareMetalHost, status: &HostRecordStatus, now: Timestamp) -> BootTargetView {
    let Some(boot) = &status.boot else { return undecided(host) };
    let annotations = host.annotations();
    let left_alone =
        annotations.contains_key(HOST_PAUSED_ANNOTATION) || annotations.contains_key(HOST_DETACHED_ANNOTATION);
    match boot.target {
        BootTarget::Nothing => BootTargetView::Unknown,
        BootTarget::LocalDisk => BootTargetView::LocalDisk,
        BootTarget::PowerOff => BootTargetView::PowerOff,
        // Also where it is by virtual media: firmware that passes the drive by gets the same system.
        BootTarget::LiveIso => match (boot.id.parse(), &boot.live) {
            (Ok(boot), Some(url)) => BootTargetView::LiveIso { boot, url: url.clone() },
            _ => BootTargetView::PowerOff,
        },
        // Nobody boots it now, and its disk must not boot by itself.
        BootTarget::Ramdisk if left_alone => BootTargetView::PowerOff,
        // Firmware passed its virtual CD by: not on to the disk.
        BootTarget::Ramdisk if boot.media.is_some() => BootTargetView::PowerOff,
        // The token is spent, or nothing came of so many boots: it would boot in vain. It is held until the next boot is
        // decided on.
        BootTarget::Ramdisk if boot.step == BootStep::Streaming || boot.expires.0 <= now || boot.gave_up.is_some() => {
            BootTargetView::PowerOff
        }
        BootTarget::Ramdisk => {
            boot.id.parse().map_or(BootTargetView::PowerOff, |boot| BootTargetView::Ramdisk { boot })
        }
    }
}

/// An API that is silent, as one behind a broken link is, counts as one that refuses.
async fn in_time<T>(key: &Key, read: impl Future<Output = Result<T, kube::Error>>) -> Result<T, DirectoryError> {
    match tokio::time::timeout(PATIENCE, read).await {
        Ok(read) => read.map_err(|source| api_trouble(format!("host {key}"), source)),
        Err(_) => Err(DirectoryError::Busy(format!("the Kubernetes API is silent about host {key}"))),
    }
}

/// Nothing was decided yet, or the record was deleted: its disk boots only where that is its own system's. A host without
/// a BMC is nobody's to hold, and neither is one whose state is still to be restored.
fn undecided(host: &BareMetalHost) -> BootTargetView {
    let state = host.status.as_ref().map(|status| status.provisioning.state);
    let is_managed = host.spec.bmc.as_ref().is_some_and(|bmc| !bmc.address.is_empty());
    match state {
        Some(ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned) => BootTargetView::LocalDisk,
        _ if host.spec.externally_provisioned == Some(true) => BootTargetView::LocalDisk,
        _ if !is_managed => BootTargetView::Unknown,
        None if host.annotations().contains_key(HOST_STATUS_ANNOTATION) => BootTargetView::Unknown,
        _ => BootTargetView::PowerOff,
    }
}

#[cfg(test)]
mod tests {
    use bessemer_api::bessemer::BootRecord;
    use bessemer_api::metal3::BmcDetails;

    use super::*;

    #[tokio::test]
    async fn a_silent_api_does_not_hold_up_a_boot() {
        let silent = std::future::pending::<Result<(), kube::Error>>();
        let error = in_time(&Key::new("metal", "h0"), silent).await.unwrap_err();
        assert!(error.to_string().contains("metal/h0"), "{error}");
    }

    #[test]
    fn the_target_is_what_is_stored_while_it_can_be_booted() {
        let now = Timestamp::from_second(1000).unwrap();
        let at = |seconds: i64| time(Timestamp::from_second(seconds).unwrap());
        let id = BootId::random();
        for (stored, step, expires, paused, wanted) in [
            (BootTarget::Ramdisk, BootStep::Waiting, 2000, false, BootTargetView::Ramdisk { boot: id }),
            (BootTarget::Ramdisk, BootStep::Waiting, 999, false, BootTargetView::PowerOff),
            (BootTarget::Ramdisk, BootStep::Streaming, 2000, false, BootTargetView::PowerOff),
            (BootTarget::Ramdisk, BootStep::Waiting, 2000, true, BootTargetView::PowerOff),
            (BootTarget::LocalDisk, BootStep::Leaving, 0, true, BootTargetView::LocalDisk),
            (BootTarget::PowerOff, BootStep::Leaving, 0, false, BootTargetView::PowerOff),
            (BootTarget::Nothing, BootStep::Leaving, 0, false, BootTargetView::Unknown),
        ] {
            let mut host = BareMetalHost::new("h", Default::default());
            if paused {
                host.annotations_mut().insert(HOST_PAUSED_ANNOTATION.to_owned(), String::new());
            }
            let boot = BootRecord {
                id: id.to_string(),
                target: stored,
                step,
                issued: at(0),
                expires: at(expires),
                enrolled: false,
                gave_up: None,
                media: None,
                live: None,
                trust: None,
                network: None,
            };
            let status = HostRecordStatus { boot: Some(boot), ..HostRecordStatus::default() };
            assert_eq!(target(&host, &status, now), wanted, "{stored:?} {step:?} {expires} {paused}");
        }
    }

    #[test]
    fn a_host_that_nothing_is_decided_about_is_held_unless_its_disk_is_its_own() {
        use BootTargetView::{LocalDisk, PowerOff, Unknown};
        use ProvisioningState::{
            Deprovisioning, ExternallyProvisioned, Inspecting, Provisioned, Registering, Unmanaged,
        };
        for (state, external, bmc, annotation, wanted) in [
            (None, false, true, "", PowerOff),
            (None, false, true, HOST_PAUSED_ANNOTATION, PowerOff),
            (None, false, true, HOST_DETACHED_ANNOTATION, PowerOff),
            (None, false, true, HOST_STATUS_ANNOTATION, Unknown),
            (None, false, false, "", Unknown),
            (None, true, true, "", LocalDisk),
            (Some(Registering), false, true, "", PowerOff),
            (Some(Inspecting), false, true, HOST_PAUSED_ANNOTATION, PowerOff),
            (Some(Deprovisioning), false, true, "", PowerOff),
            (Some(Unmanaged), false, false, "", Unknown),
            (Some(Provisioned), false, true, HOST_PAUSED_ANNOTATION, LocalDisk),
            (Some(ExternallyProvisioned), true, false, "", LocalDisk),
        ] {
            let mut host = BareMetalHost::default();
            host.spec.externally_provisioned = external.then_some(true);
            host.spec.bmc = bmc.then(|| BmcDetails { address: "ipmi://10.0.0.1".to_owned(), ..BmcDetails::default() });
            if let Some(state) = state {
                host.status.get_or_insert_default().provisioning.state = state;
            }
            if !annotation.is_empty() {
                host.annotations_mut().insert(annotation.to_owned(), String::new());
            }
            let said = target(&host, &HostRecordStatus::default(), Timestamp::now());
            assert_eq!(said, wanted, "{state:?} {external} {bmc} {annotation}");
        }
    }
}
