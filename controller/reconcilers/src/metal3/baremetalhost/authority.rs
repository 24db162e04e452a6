//! Who may do what, by the objects as they are now: the answers to the agents' endpoint.

use std::net::IpAddr;

use async_trait::async_trait;
use bessemer_api::bessemer::{
    BootRecord, BootStep, BootTarget, BootTrust, HostRecord, HostRecordStatus, NodeKeyRecord, StoryLine, WorkKind,
};
use bessemer_api::metal3::{BareMetalHost, ProvisioningState};
use bessemer_protocol::{BootId, Bootstrap, DiscoverRequest, DiscoverResponse, HardwareIdentity, HostId, WorkId};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use super::observed::{claim, host_id};
use super::seed_data;
use crate::boot::smbios;
use crate::hosts::Hosts;
use crate::kubernetes::{Key, ReconcileError, is_deleting, time, write};
use crate::outside::{AgentIdentity, HostAuthority, Refused, RoleIdentity};

/// Serial numbers that firmware shows when nobody set one.
const JUNK_SERIALS: [&str; 8] =
    ["", "none", "0", "not specified", "default string", "to be filled by o.e.m.", "system serial number", "n/a"];

#[async_trait]
impl HostAuthority for Hosts {
    async fn admit(&self, boot: BootId, identity: &HardwareIdentity, agent_version: &str) -> Result<HostId, Refused> {
        let unknown = || Refused::for_good(format!("boot {boot} is over or was never started: power the host on anew"));
        let key = self.key_of_boot(boot).ok_or_else(unknown)?;
        let (host, record) = self.look_up(&key).await?;
        let mut status = record.status.clone().unwrap_or_default();
        check_boot(&status, boot, Timestamp::now())?;
        check_identity(&host, identity, status.boot.as_ref().is_some_and(|boot| boot.media.is_some()))?;
        check_uuid(&key, &mut status, identity)?;
        let id = host_id(&host).ok_or_else(unknown)?;
        self.note_enrolment(&key, &record, status, agent_version).await?;
        Ok(id)
    }

    async fn authorise(&self, who: &AgentIdentity) -> Result<(), Refused> {
        let (_, host, record) = self.look_up_host(who.host).await?;
        let status = record.and_then(|record| record.status).unwrap_or_default();
        let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
        // Only its ramdisk is still needed, to erase it.
        let erases = state == ProvisioningState::Deprovisioning && matches!(who.role, RoleIdentity::Ramdisk { .. });
        if is_deleting(&host) && !erases {
            return Err(Refused::for_good(format!("host {} is being deleted", host.name_any())));
        }
        match &who.role {
            RoleIdentity::Ramdisk { boot } => check_ramdisk(&host, &status, *boot),
            RoleIdentity::Node { claim } => check_claim(&host, claim),
        }
    }

    async fn deploying(&self, host: HostId, work: WorkId) -> Result<String, Refused> {
        let (_, host, record) = self.look_up_host(host).await?;
        let open = record
            .and_then(|record| record.status)
            .and_then(|status| status.work)
            .filter(|item| item.kind == WorkKind::Deploy && item.id == work.to_string() && item.outcome.is_none());
        let Some(item) = open else {
            return Err(Refused::for_good(format!(
                "work item {work} of host {} is not an open deployment",
                host.name_any()
            )));
        };
        item.claim.ok_or_else(|| {
            Refused::for_good(format!(
                "host {} is deployed for no Metal3Machine: it has nothing to report as",
                host.name_any()
            ))
        })
    }

    async fn certified(&self, host: HostId, claim: &str, key: &str) -> Result<(), Refused> {
        // A few times, as the reconciler writes progress into the same record meanwhile.
        for _ in 0..5 {
            let (name, _, record) = self.look_up_host(host).await?;
            let Some(record) = record else { return Err(Refused::for_now(format!("host {name} has no record yet"))) };
            let wanted = NodeKeyRecord { claim: claim.to_owned(), sha256: key.to_owned() };
            let mut status = record.status.clone().unwrap_or_default();
            if status.node_key.as_ref() == Some(&wanted) {
                return Ok(());
            }
            status.node_key = Some(wanted);
            let short = key.chars().take(8).collect::<String>();
            status.tell(
                time(Timestamp::now()),
                "certificate",
                format!("for the installed system of {claim}, key {short}…"),
            );
            let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &name.namespace);
            let after = HostRecord { status: Some(status), ..record.clone() };
            match write(&records, &record, &after).await {
                Ok(_) => return Ok(()),
                Err(ReconcileError::Conflict { .. }) => {}
                Err(error) => return Err(Refused::for_now(error.to_string())),
            }
        }
        Err(Refused::for_now("the host's record is written by others all the time: ask again"))
    }

    async fn holds_key(&self, host: HostId, claim: &str, key: &str) -> Result<(), Refused> {
        let (name, _, record) = self.look_up_host(host).await?;
        check_key(&name, record.and_then(|record| record.status).unwrap_or_default().node_key.as_ref(), claim, key)
    }

    async fn contested(&self, host: HostId, boot: BootId) {
        let Ok((key, _, Some(record))) = self.look_up_host(host).await else { return };
        let mut status = record.status.clone().unwrap_or_default();
        let words = "two keys came for this boot while the first was connected: neither is believed, and something else \
                     on the boot network has its token";
        status.tell(time(Timestamp::now()), "quarantine", words);
        // The boot is over: its token opens nothing, and the host is booted anew.
        if let Some(current) = status.boot.as_mut().filter(|current| current.id == boot.to_string()) {
            current.expires = time(Timestamp::now());
        }
        let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &key.namespace);
        let after = HostRecord { status: Some(status), ..record.clone() };
        if let Err(error) = write(&records, &record, &after).await {
            tracing::warn!(host = %key, %boot, %error, "a contested boot is not in the host's record");
        }
    }

    async fn bootstrap(&self, host: HostId, wanted: &str) -> Result<Bootstrap, Refused> {
        let (key, host, record) = self.look_up_host(host).await?;
        check_claim(&host, wanted)?;
        let boot = record.and_then(|record| record.status).and_then(|status| status.boot);
        if self.requires_trusted_boot()
            && let Err(refused) = check_trust(&key, boot.as_ref())
        {
            self.note(&key, "bootstrap data", &refused.message).await?;
            return Err(refused);
        }
        let secrets: Api<Secret> = Api::namespaced(self.client().clone(), &key.namespace);
        let found = seed_data::fetch(&secrets, "userData", host.spec.user_data.as_ref(), &key).await;
        let found = found.map_err(|error| Refused::for_now(error.to_string()))?;
        let data = found
            .map_err(Refused::for_now)?
            .ok_or_else(|| Refused::for_now(format!("host {key} has no userData yet")))?;
        let trust = boot.and_then(|boot| boot.trust).map_or_else(|| "unknown".to_owned(), |trust| trust.to_string());
        // First: what nobody could be told of is not given away.
        self.note(&key, "bootstrap data", &format!("delivered to the system of {wanted}; trust of its boot: {trust}"))
            .await?;
        let (_, machine) = wanted.split_once('/').unwrap_or_default();
        Ok(Bootstrap {
            claim: wanted.to_owned(),
            format: data.format,
            data: data.text,
            provider_id: crate::infrastructure::provider_id(&key, machine),
        })
    }

    async fn discovered(&self, from: IpAddr, report: &DiscoverRequest) -> Result<DiscoverResponse, Refused> {
        self.take_report(from, report).await
    }
}

impl Hosts {
    /// Host and record, as they are now.
    async fn look_up(&self, key: &Key) -> Result<(BareMetalHost, HostRecord), Refused> {
        let (host, record) = self.read(key).await.map_err(|error| api_trouble(&error))?;
        match (host, record) {
            (Some(host), Some(record)) => Ok((host, record)),
            _ => Err(Refused::for_good(format!("host {key} is gone"))),
        }
    }

    async fn look_up_host(&self, id: HostId) -> Result<(Key, BareMetalHost, Option<HostRecord>), Refused> {
        let gone = || Refused::for_good(format!("no BareMetalHost has the id {id} any more"));
        let key = self.key_of_host(id).ok_or_else(gone)?;
        let (host, record) = self.read(&key).await.map_err(|error| api_trouble(&error))?;
        // The cache may name a host that was made anew under the same name.
        let host = host.filter(|host| host_id(host) == Some(id)).ok_or_else(gone)?;
        Ok((key, host, record))
    }

    /// A line in the host's story about a secret. A repeat within a minute, as of a lost answer, is no line of its own.
    async fn note(&self, key: &Key, event: &str, detail: &str) -> Result<(), Refused> {
        for _ in 0..5 {
            let (_, record) = self.read(key).await.map_err(|error| api_trouble(&error))?;
            let Some(record) = record else { return Err(Refused::for_now(format!("host {key} has no record yet"))) };
            let (mut status, now) = (record.status.clone().unwrap_or_default(), Timestamp::now());
            let repeats = |line: &StoryLine| {
                line.event == event && line.detail == detail && now.duration_since(line.at.0).as_secs() < 60
            };
            if status.story.last().is_some_and(repeats) {
                return Ok(());
            }
            status.tell(time(now), event, detail);
            let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &key.namespace);
            let after = HostRecord { status: Some(status), ..record.clone() };
            match write(&records, &record, &after).await {
                Ok(_) => return Ok(()),
                Err(ReconcileError::Conflict { .. }) => {}
                Err(error) => return Err(Refused::for_now(error.to_string())),
            }
        }
        Err(Refused::for_now("the host's record is written by others all the time: ask again"))
    }

    /// Remembers that the boot's agent has enrolled. Losing a race to the reconciler is no reason to turn it away: the
    /// stream, once open, says the same.
    async fn note_enrolment(
        &self,
        key: &Key,
        record: &HostRecord,
        mut status: HostRecordStatus,
        agent_version: &str,
    ) -> Result<(), Refused> {
        match status.boot.as_mut().filter(|boot| !boot.enrolled) {
            None => return Ok(()),
            Some(boot) => boot.enrolled = true,
        }
        let version = agent_version.chars().filter(|letter| !letter.is_control()).take(64).collect::<String>();
        status.tell(time(Timestamp::now()), "ramdisk", format!("agent {version} enrolled"));
        let records: Api<HostRecord> = Api::namespaced(self.client().clone(), &key.namespace);
        let after = HostRecord { status: Some(status), ..record.clone() };
        match write(&records, record, &after).await {
            Ok(_) | Err(ReconcileError::Conflict { .. }) => Ok(()),
            Err(error) => Err(Refused::for_now(error.to_string())),
        }
    }
}

fn check_boot(status: &HostRecordStatus, boot: BootId, now: Timestamp) -> Result<(), Refused> {
    let current = status.boot.as_ref().filter(|current| current.id == boot.to_string());
    match current {
        None => Err(Refused::for_good(format!("boot {boot} is over: a newer one was started"))),
        Some(current) if current.target != BootTarget::Ramdisk => {
            Err(Refused::for_good(format!("boot {boot} is over: the host is not to boot the ramdisk")))
        }
        // Somebody who knows the token before the host can.
        Some(current) if !current.trust.is_some_and(BootTrust::is_trusted) && !is_started(current) => {
            Err(Refused::for_now(format!("boot {boot} has not been started by its host's BMC: ask again")))
        }
        Some(current) if current.expires.0 <= now => {
            Err(Refused::for_good(format!("boot {boot} expired at {}", current.expires.0)))
        }
        // Whatever a new controller has forgotten of enrolments: a stream proves that the token was used.
        Some(current) if current.step == BootStep::Streaming => {
            Err(Refused::for_good(format!("the token of boot {boot} is spent; boot again to get a new one")))
        }
        Some(_) => Ok(()),
    }
}

/// Whether the BMC was told to power the host on for this boot.
fn is_started(boot: &BootRecord) -> bool {
    !matches!(boot.step, BootStep::Insert | BootStep::Override)
}

/// Whether a cluster's secrets may go to what this boot wrote to the disk.
fn check_trust(host: &Key, boot: Option<&BootRecord>) -> Result<(), Refused> {
    let trust = boot.and_then(|boot| boot.trust).unwrap_or(BootTrust::Plain);
    if trust.is_trusted() {
        return Ok(());
    }
    Err(Refused::for_good(format!(
        "this site requires a trusted boot, and host {host} was installed by one that anybody on the boot network could \
         have changed (trust {trust}): its bootstrap data is withheld"
    )))
}

fn check_ramdisk(host: &BareMetalHost, status: &HostRecordStatus, boot: BootId) -> Result<(), Refused> {
    let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
    let current = status.boot.as_ref().filter(|current| current.id == boot.to_string());
    // After it has left, whoever shows the ramdisk's certificate is not the ramdisk.
    let left = |current: &BootRecord| {
        matches!(current.target, BootTarget::PowerOff | BootTarget::LiveIso) || current.step == BootStep::Left
    };
    let told = status.work.as_ref().is_some_and(|work| work.kind == WorkKind::Leave && work.outcome.is_some());
    let over = told || current.is_none_or(left);
    if over || matches!(state, ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned) {
        return Err(Refused::for_good(format!("boot {boot} of host {} is over", host.name_any())));
    }
    Ok(())
}

fn check_key(host: &Key, known: Option<&NodeKeyRecord>, claim: &str, key: &str) -> Result<(), Refused> {
    match known.filter(|known| known.claim == claim) {
        Some(known) if known.sha256 != key => Err(Refused::for_good(format!(
            "another key has been certified for the system of host {host} since: this disk is not the one written last"
        ))),
        _ => Ok(()),
    }
}

fn check_claim(host: &BareMetalHost, wanted: &str) -> Result<(), Refused> {
    match claim(host) {
        Some(current) if current == wanted => Ok(()),
        Some(current) => {
            Err(Refused::for_good(format!("host {} is claimed by {current}, not by {wanted}", host.name_any())))
        }
        None => Err(Refused::for_good(format!("host {} was released by {wanted}", host.name_any()))),
    }
}

/// Is this machine the host? A boot MAC decides; what contradicts what is known refuses and never picks another.
///
/// A host of virtual media may have no boot MAC: its token was shown to it by its own BMC.
fn check_identity(host: &BareMetalHost, identity: &HardwareIdentity, by_media: bool) -> Result<(), Refused> {
    let name = host.name_any();
    let any_mac = by_media && host.spec.boot_mac_address.is_none();
    let boot_mac = host.spec.boot_mac_address.as_deref().unwrap_or_default().to_ascii_lowercase();
    if !any_mac && !identity.macs.iter().any(|mac| mac.eq_ignore_ascii_case(&boot_mac)) {
        let found = identity.macs.join(", ");
        return Err(Refused::for_good(format!(
            "this is not {name}: its bootMACAddress is {boot_mac}, the machine has {found}"
        )));
    }
    let known = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    let known = known.map(|hardware| hardware.serial_number().trim()).unwrap_or_default();
    let found = identity.serial.as_deref().map(str::trim).unwrap_or_default();
    let junk = |serial: &str| JUNK_SERIALS.contains(&serial.to_ascii_lowercase().as_str());
    if !junk(known) && !junk(found) && known != found {
        return Err(Refused::for_good(format!(
            "this is not the machine that {name} was inspected as: its serial number was {known}, now it is {found}"
        )));
    }
    Ok(())
}

/// Compares the SMBIOS UUID with the one that enrolled before, or remembers it.
fn check_uuid(host: &Key, status: &mut HostRecordStatus, identity: &HardwareIdentity) -> Result<(), Refused> {
    let Some(found) = identity.smbios_uuid.as_deref().and_then(smbios::parse) else { return Ok(()) };
    match status.smbios_uuid.as_deref().and_then(smbios::parse) {
        Some(known) if smbios::differ(known, found) => Err(Refused::for_good(format!(
            "this is not the machine that enrolled as {host} before: its SMBIOS UUID was {known}, now it is {found}; if its \
             mainboard was replaced, delete the HostRecord {host}"
        ))),
        Some(_) => Ok(()),
        None => {
            status.smbios_uuid = Some(found.to_string());
            Ok(())
        }
    }
}

fn api_trouble(error: &kube::Error) -> Refused {
    tracing::warn!(%error, "the Kubernetes API failed a question about a host");
    Refused::for_now("the Kubernetes API does not answer: ask again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_is_open_until_it_is_over_or_its_token_spent() {
        let (id, now) = (BootId::random(), Timestamp::from_second(1000).unwrap());
        let at = |seconds: i64| time(Timestamp::from_second(seconds).unwrap());
        for (asked, target, step, expires, open) in [
            (id, BootTarget::Ramdisk, BootStep::Waiting, 2000, true),
            (id, BootTarget::Ramdisk, BootStep::Power, 2000, true),
            // Nobody has powered it on for this boot.
            (id, BootTarget::Ramdisk, BootStep::Override, 2000, false),
            (id, BootTarget::Ramdisk, BootStep::Insert, 2000, false),
            (id, BootTarget::Ramdisk, BootStep::Streaming, 2000, false),
            (id, BootTarget::Ramdisk, BootStep::Waiting, 1000, false),
            (id, BootTarget::LocalDisk, BootStep::Leaving, 2000, false),
            (BootId::random(), BootTarget::Ramdisk, BootStep::Waiting, 2000, false),
        ] {
            let boot = BootRecord {
                id: id.to_string(),
                target,
                step,
                issued: at(0),
                expires: at(expires),
                enrolled: true,
                gave_up: None,
                media: None,
                live: None,
                trust: None,
                network: None,
            };
            let status = HostRecordStatus { boot: Some(boot), ..HostRecordStatus::default() };
            assert_eq!(check_boot(&status, asked, now).is_ok(), open, "{target:?} {step:?} {expires}");
        }
    }

    fn host(mac: &str, serial: &str) -> BareMetalHost {
        let mut host = BareMetalHost::new("r7-u12", Default::default());
        host.spec.boot_mac_address = Some(mac.to_owned());
        let status = host.status.get_or_insert_default();
        let hardware = status.hardware.get_or_insert_default();
        hardware.system_vendor.get_or_insert_default().serial_number = Some(serial.to_owned());
        host
    }

    fn machine(macs: &[&str], serial: Option<&str>) -> HardwareIdentity {
        HardwareIdentity {
            smbios_uuid: None,
            serial: serial.map(str::to_owned),
            macs: macs.iter().map(|mac| (*mac).to_owned()).collect(),
        }
    }

    #[test]
    fn identity_is_proven_or_refused() {
        let (ours, other) = ("52:54:00:00:00:01", "52:54:00:00:00:02");
        for (known, serial, macs, accepted) in [
            ("ABC", Some("ABC"), vec![other, ours], true),
            ("ABC", Some("ABC"), vec![other], false),
            ("ABC", Some("XYZ"), vec![ours], false),
            ("ABC", None, vec![ours], true),
            ("ABC", Some("Default string"), vec![ours], true),
            ("", Some("ABC"), vec![ours], true),
            ("ABC", Some("ABC"), vec![], false),
        ] {
            let result = check_identity(&host("52:54:00:00:00:01", known), &machine(&macs, serial), false);
            assert_eq!(result.is_ok(), accepted, "{known} {serial:?} {macs:?}: {result:?}");
        }
        assert!(check_identity(&host("52:54:00:AA:BB:01", ""), &machine(&["52:54:00:aa:bb:01"], None), false).is_ok());
        // By its BMC alone, whatever its cards; its serial number still counts.
        let mut nameless = host("", "ABC");
        nameless.spec.boot_mac_address = None;
        for (by_media, serial, accepted) in [(true, "ABC", true), (true, "XYZ", false), (false, "ABC", false)] {
            let result = check_identity(&nameless, &machine(&[other], Some(serial)), by_media);
            assert_eq!(result.is_ok(), accepted, "{by_media} {serial}: {result:?}");
        }
    }

    #[test]
    fn a_cluster_s_secrets_need_a_boot_that_nobody_could_have_changed() {
        let key = Key { namespace: "metal".to_owned(), name: "r7-u12".to_owned() };
        for (trust, given) in [
            (None, false),
            (Some(BootTrust::Plain), false),
            (Some(BootTrust::Https), true),
            (Some(BootTrust::Media), true),
            (Some(BootTrust::Secureboot), true),
        ] {
            let at = time(Timestamp::UNIX_EPOCH);
            let boot = BootRecord {
                id: BootId::random().to_string(),
                target: BootTarget::LocalDisk,
                step: BootStep::Left,
                issued: at.clone(),
                expires: at,
                enrolled: true,
                gave_up: None,
                network: None,
                media: None,
                live: None,
                trust,
            };
            assert_eq!(check_trust(&key, Some(&boot)).is_ok(), given, "{trust:?}");
        }
        let refused = check_trust(&key, None).unwrap_err();
        assert!(!refused.retry && refused.message.contains("metal/r7-u12") && refused.message.contains("withheld"));
    }
}
