//! What a machine shall boot and which address it has: the answers to the boot server.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use async_trait::async_trait;
use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, BootLeaseSpec, BootStep, BootTarget, HostRecordStatus};
use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_PAUSED_ANNOTATION};
use bessemer_protocol::BootId;
use jiff::Timestamp;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, ResourceExt};

use super::observed::host_id;
use crate::hosts::Hosts;
use crate::kubernetes::{Key, ReconcileError, create_or_get, own, time, write};
use crate::outside::{AddressPool, BootDirectory, BootTargetView, BootView, DirectoryError};

#[async_trait]
impl BootDirectory for Hosts {
    async fn target(&self, mac: &str) -> Result<BootTargetView, DirectoryError> {
        let Some(key) = self.key_of_mac(mac) else { return Ok(BootTargetView::Unknown) };
        let (host, record) = self.read(&key).await.map_err(|source| api(format!("host {key}"), source))?;
        let Some(host) = host else { return Ok(BootTargetView::Unknown) };
        let status = record.and_then(|record| record.status).unwrap_or_default();
        Ok(target(&host, &status, Timestamp::now()))
    }

    async fn lease(&self, mac: &str, pool: &dyn AddressPool) -> Result<Option<Ipv4Addr>, DirectoryError> {
        let Some(key) = self.key_of_mac(mac) else { return Ok(None) };
        // Two machines must not be given the same address between our look and our write.
        let _turn = self.leasing().lock().await;
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &key.namespace);
        let known = leases.get_opt(&lease_name(mac)).await.map_err(|source| api(format!("lease of {mac}"), source))?;
        let address = |lease: &BootLease| lease.spec.address.as_str().parse::<Ipv4Addr>().ok();
        if let Some(address) = known.as_ref().and_then(address).filter(|address| pool.contains(*address)) {
            return Ok(Some(address));
        }
        let all: Api<BootLease> = Api::all(self.client().clone());
        let all = all.list(&ListParams::default()).await.map_err(|source| api("leases".to_owned(), source))?;
        let taken: BTreeSet<Ipv4Addr> = all.iter().filter(|lease| lease.spec.mac != mac).filter_map(address).collect();
        let picked = pool.pick(mac, &taken)?;
        self.store_lease(&leases, &key, mac, picked, pool.subnet(), known).await?;
        Ok(Some(picked))
    }

    async fn boot(&self, boot: BootId) -> Result<Option<BootView>, DirectoryError> {
        let Some(key) = self.key_of_boot(boot) else { return Ok(None) };
        let (host, record) = self.read(&key).await.map_err(|source| api(format!("host {key}"), source))?;
        let (Some(host), Some(record)) = (host, record) else { return Ok(None) };
        let current = record.status.and_then(|status| status.boot).filter(|current| current.id == boot.to_string());
        let (Some(id), Some(current), Some(mac)) = (host_id(&host), current, host.spec.boot_mac_address) else {
            return Ok(None);
        };
        let open = current.target == BootTarget::Ramdisk
            && current.step != BootStep::Streaming
            && current.expires.0 > Timestamp::now();
        if !open {
            return Ok(None);
        }
        let mac = mac.to_ascii_lowercase();
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &key.namespace);
        let lease = leases.get_opt(&lease_name(&mac)).await.map_err(|source| api(format!("lease of {mac}"), source))?;
        Ok(Some(BootView {
            host: id,
            namespace: key.namespace,
            name: key.name,
            mac,
            address: lease.and_then(|lease| lease.spec.address.as_str().parse().ok()),
            issued: current.issued.0,
        }))
    }
}

impl Hosts {
    async fn store_lease(
        &self,
        leases: &Api<BootLease>,
        key: &Key,
        mac: &str,
        address: Ipv4Addr,
        subnet: String,
        known: Option<BootLease>,
    ) -> Result<(), DirectoryError> {
        let spec = BootLeaseSpec {
            mac: mac.to_owned(),
            address: IpText(address.to_string()),
            subnet,
            host: key.name.clone(),
            first_seen: Some(time(Timestamp::now())),
        };
        let mut metadata =
            ObjectMeta { name: Some(lease_name(mac)), namespace: Some(key.namespace.clone()), ..ObjectMeta::default() };
        if let Some(host) = self.cached(key) {
            own(&mut metadata, host.as_ref(), false);
        }
        let fresh = BootLease { metadata, spec: spec.clone() };
        let known = match known {
            Some(known) => known,
            None => create_or_get(leases, &fresh).await.map_err(trouble)?,
        };
        let after = BootLease { metadata: known.metadata.clone(), spec };
        write(leases, &known, &after).await.map_err(trouble).map(drop)
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
        BootTarget::Ramdisk if left_alone => BootTargetView::Unknown,
        // The token is spent: it would boot in vain. It is held until the next boot is decided on.
        BootTarget::Ramdisk if boot.step == BootStep::Streaming || boot.expires.0 <= now => BootTargetView::PowerOff,
        BootTarget::Ramdisk => {
            boot.id.parse().map_or(BootTargetView::PowerOff, |boot| BootTargetView::Ramdisk { boot })
        }
    }
}

/// MACs are no object names; with dashes they are.
fn lease_name(mac: &str) -> String {
    mac.to_ascii_lowercase().replace(':', "-")
}

fn api(what: String, source: kube::Error) -> DirectoryError {
    DirectoryError::Api { what, source: Box::new(source) }
}

fn trouble(error: ReconcileError) -> DirectoryError {
    match error {
        ReconcileError::Api { what, source, .. } => DirectoryError::Api { what, source },
        other => DirectoryError::Busy(other.to_string()),
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
            (BootTarget::Ramdisk, BootStep::Waiting, 2000, true, BootTargetView::Unknown),
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
            };
            let status = HostRecordStatus { boot: Some(boot), ..HostRecordStatus::default() };
            assert_eq!(target(&host, &status, now), wanted, "{stored:?} {step:?} {expires} {paused}");
        }
        let nothing = HostRecordStatus::default();
        assert_eq!(target(&BareMetalHost::default(), &nothing, now), BootTargetView::Unknown);
    }
}
