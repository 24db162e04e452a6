//! What a machine shall boot and which address it has: the answers to the boot server.

use std::net::IpAddr;

use async_trait::async_trait;
use bessemer_api::bessemer::{BootStep, BootTarget, HostRecord, HostRecordStatus};
use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_PAUSED_ANNOTATION};
use bessemer_protocol::BootId;
use jiff::Timestamp;
use kube::{Api, ResourceExt};

use super::leases::{Holder, parse};
use super::{api_trouble, write_trouble};
use crate::hosts::Hosts;
use crate::kubernetes::{Key, time, write};
use crate::metal3::baremetalhost::host_id;
use crate::outside::{AddressPool, BootDirectory, BootFilesView, BootTargetView, BootView, DirectoryError};

#[async_trait]
impl BootDirectory for Hosts {
    async fn target(&self, macs: &[String]) -> Result<BootTargetView, DirectoryError> {
        let key = match self.known(macs) {
            Known::Host(key, _) => key,
            Known::Nobody => return Ok(self.target_of_stranger(macs)),
            Known::Contradiction => return Ok(BootTargetView::Unknown),
        };
        let (host, record) = match self.read(&key).await {
            Ok(read) => read,
            // What was true a moment ago: silence would take an unprovisioned host to the disk of a previous tenant.
            Err(source) => match (self.cached(&key), self.cached_record(&key)) {
                (Some(host), Some(record)) => (Some(host.as_ref().clone()), Some(record.as_ref().clone())),
                _ => return Err(api_trouble(format!("host {key}"), source)),
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

/// Writers of the same record, one after the other, before one gives up.
const ATTEMPTS: usize = 5;

/// Whose MACs they are.
enum Known {
    /// One host's; and which of them it is known by.
    Host(Key, String),
    /// Nobody's.
    Nobody,
    /// Of several hosts, or several hosts claim one of them: none is picked.
    Contradiction,
}

impl Hosts {
    fn known(&self, macs: &[String]) -> Known {
        let mut found: Option<(Key, String)> = None;
        for mac in macs {
            match self.key_of_mac(mac) {
                None if self.is_claimed(mac) => return Known::Contradiction,
                None => {}
                Some(key) => match &found {
                    Some((known, _)) if *known != key => {
                        tracing::warn!(%known, other = %key, mac, "a machine has hardware addresses of two hosts");
                        return Known::Contradiction;
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
            Known::Contradiction => None,
        }
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
    let Some(boot) = &status.boot else { return BootTargetView::Unknown };
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

#[cfg(test)]
mod tests {
    use bessemer_api::bessemer::BootRecord;

    use super::*;

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
        let nothing = HostRecordStatus::default();
        assert_eq!(target(&BareMetalHost::default(), &nothing, now), BootTargetView::Unknown);
    }
}
