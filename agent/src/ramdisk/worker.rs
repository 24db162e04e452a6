//! Carries out work items, one after the other in the order in which they came, and refuses those that are not for this host.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::{
    BootConfig, Failure, FailureCode, HardwareDetails, HostId, LeaveHow, LeaveReport, Outcome, Report, Work, WorkId,
    WorkItem,
};
use tokio::sync::mpsc;
use tracing::{info, warn};

use super::clock::ControllerTime;
use super::network::Uplink;
use super::{deploy, erase, inspect, leave, mounts};
use crate::link::items::Items;
use crate::link::{Controllers, log};
use crate::mask::hide_delivered;

/// How long to wait for the controller to store what came of a `Leave` before leaving all the same: it was told to.
const LEAVE_DEADLINE: Duration = Duration::from_secs(10);

/// The one who works.
pub(super) struct Worker {
    pub(super) host: HostId,
    pub(super) items: Arc<Items>,
    pub(super) controllers: Arc<Controllers>,
    pub(super) config: Arc<BootConfig>,
    /// What deadlines are judged by.
    pub(super) time: ControllerTime,
    /// The NIC that this boot came through, and what it takes to know the others.
    pub(super) uplink: Uplink,
    /// Path of the disk that was deployed last in this boot.
    pub(super) deployed: Option<String>,
}

impl Worker {
    /// Works until the program ends.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<WorkItem>) {
        while let Some(item) = queue.recv().await {
            let id = item.id;
            let outcome = match refusal(&item, self.host, self.time.now()) {
                Some(message) => failed(FailureCode::Refused, message),
                None => Box::pin(self.carry_out(item)).await,
            };
            match &outcome {
                Outcome::Done { .. } => info!("item {id}: done"),
                Outcome::Failed(failure) => warn!("item {id}: {}", failure.message),
            }
            self.items.end(id, outcome);
        }
    }

    async fn carry_out(&mut self, item: WorkItem) -> Outcome {
        let WorkItem { id, claim, deadline, work, .. } = item;
        match work {
            Work::Inspect => self.inspect().await,
            Work::Erase(order) => {
                info!("item {id}: erasing");
                let job =
                    erase::Job { id, deadline: self.time.instant_of(deadline), order, items: Arc::clone(&self.items) };
                match Box::pin(erase::erase(job)).await {
                    Ok(report) => Outcome::Done { report: Report::Erased(report) },
                    Err(error) => failed(error.code(), error.to_string()),
                }
            }
            Work::Deploy(order) => {
                info!("item {id}: deploying for {}", claim.as_deref().unwrap_or("nobody"));
                let job = deploy::Job {
                    id,
                    host: self.host,
                    claim,
                    deadline: self.time.instant_of(deadline),
                    order,
                    config: Arc::clone(&self.config),
                    controllers: Arc::clone(&self.controllers),
                    items: Arc::clone(&self.items),
                };
                match Box::pin(deploy::deploy(job)).await {
                    Ok(report) => {
                        self.deployed = Some(report.disk.name.clone());
                        Outcome::Done { report: Report::Deployed(report) }
                    }
                    Err(error) => failed(error.code(), error.to_string()),
                }
            }
            Work::SetBootEntry(order) => {
                match tokio::task::spawn_blocking(move || deploy::set_boot_entry(&order)).await {
                    Ok(Ok(report)) => Outcome::Done { report: Report::BootEntrySet(report) },
                    Ok(Err(error)) => failed(error.code(), error.to_string()),
                    Err(error) => failed(FailureCode::Internal, format!("setting the boot entry ended: {error}")),
                }
            }
            Work::WriteSeed(order) => {
                let written = tokio::task::spawn_blocking(move || deploy::write_seed(&order, claim.as_deref())).await;
                match written {
                    Ok(Ok(disk)) => Outcome::Done { report: Report::Seeded { disk: Box::new(disk) } },
                    Ok(Err(error)) => failed(error.code(), error.to_string()),
                    Err(error) => failed(FailureCode::Internal, format!("writing the seed ended: {error}")),
                }
            }
            // The stream answers it without us.
            Work::Collect => Outcome::Done { report: log::collected() },
            Work::Leave { how } => self.leave(id, how).await,
        }
    }

    async fn inspect(&self) -> Outcome {
        match inspect_all(&self.uplink).await {
            Ok(hardware) => Outcome::Done { report: Report::Inspected { hardware: Box::new(hardware) } },
            Err(error) => failed(FailureCode::Internal, format!("inspection ended: {error}")),
        }
    }

    async fn leave(&self, id: WorkId, how: LeaveHow) -> Outcome {
        let disk = self.deployed.clone();
        let prepared = tokio::task::spawn_blocking(move || leave::prepare(how, disk.as_deref())).await;
        let report = prepared.unwrap_or(LeaveReport { how: LeaveHow::Reboot, detail: None });
        let how = report.how;
        self.items.end(id, Outcome::Done { report: Report::Leaving(report) });
        let mut changes = self.items.changes();
        let stored = async { while !self.items.is_stored(id) && changes.changed().await.is_ok() {} };
        if tokio::time::timeout(LEAVE_DEADLINE, stored).await.is_err() {
            warn!("the controller did not store the answer within {} s", LEAVE_DEADLINE.as_secs());
        }
        let _ = tokio::task::spawn_blocking(move || leave::leave(how)).await;
        failed(FailureCode::Internal, format!("the kernel does not {how:?}"))
    }
}

/// The whole inventory of this machine, which came up through `uplink`.
pub(super) async fn inspect_all(uplink: &Uplink) -> Result<HardwareDetails, tokio::task::JoinError> {
    let places = inspect::Places::real();
    let boot = inspect::Boot { mac: uplink.mac.clone(), address: Some(uplink.address) };
    let (neighbours, silent) = uplink.lldp.neighbours(&inspect::awaited(places)).await;
    let addresses = inspect::addresses::read(&uplink.handle).await.unwrap_or_else(|error| {
        warn!("addresses of the NICs: {error}");
        BTreeMap::new()
    });
    if let Err(error) = mounts::mount_firmware_variables(places.sys) {
        warn!("firmware's variables: {error}; secure boot stays unknown");
    }
    let network = inspect::Network { addresses, neighbours, silent };
    tokio::task::spawn_blocking(move || inspect::inspect(places, &boot, &network)).await
}

/// Why `item` must not be touched by this host at `now` (the controller's, in seconds since the epoch).
fn refusal(item: &WorkItem, host: HostId, now: i64) -> Option<String> {
    if item.host_id != host {
        return Some(format!("item is for host {}, this is {host}", item.host_id));
    }
    if now >= item.deadline {
        return Some(format!("item's deadline passed {} s ago", now - item.deadline));
    }
    let claim = item.claim.as_deref()?;
    let named = claim.split_once('/').is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    (!named).then(|| format!("claim {claim:?} is not of the form namespace/name"))
}

fn failed(code: FailureCode, message: String) -> Outcome {
    let message = hide_delivered(&message);
    Outcome::Failed(Failure { code, message })
}

#[cfg(test)]
mod tests {
    use bessemer_protocol::{Deploy, Digest, DigestAlgorithm, Image, ImageFormat, RootDeviceHints, Seed};

    use super::*;

    fn deploy() -> Work {
        let digest = Digest { algorithm: DigestAlgorithm::Sha256, hex: "00".into() };
        Work::Deploy(Deploy {
            sources: vec![],
            image: Image { format: ImageFormat::Raw, checksum: digest.into() },
            root: RootDeviceHints::default(),
            disk: None,
            keep: Vec::new(),
            seed: Seed { hostname: "n".into(), instance_id: "i".into(), ..Seed::default() },
        })
    }

    #[test]
    fn only_items_for_this_host_in_time_and_well_claimed_are_touched() {
        let us = HostId::random();
        let other = HostId::random();
        let table = [
            (us, Some("metal/m0"), 100, deploy(), None),
            (other, Some("metal/m0"), 100, deploy(), Some("item is for host")),
            (us, None, 100, deploy(), None),
            (us, Some("m0"), 100, deploy(), Some("not of the form")),
            (us, Some("metal/m0"), 49, deploy(), Some("deadline passed 1 s ago")),
            (us, None, 100, Work::Inspect, None),
            (other, None, 100, Work::Leave { how: LeaveHow::Reboot }, Some("item is for host")),
        ];
        for (host_id, claim, deadline, work, expected) in table {
            let item = WorkItem { id: WorkId::random(), host_id, claim: claim.map(Into::into), deadline, work };
            let refusal = refusal(&item, us, 50);
            assert_eq!(refusal.is_some(), expected.is_some(), "{refusal:?}");
            assert!(expected.is_none_or(|part| refusal.unwrap().contains(part)), "{expected:?}");
        }
    }
}
