//! One host and all that surrounds it, led through its life pass by pass.

use std::time::Duration;

use bessemer_api::bessemer::BootTarget;
use bessemer_api::metal3::{ChecksumType, DiskFormat, Image};
use bessemer_bmc::{BootDevice, BootOverride, Identity, PowerAction};
use bessemer_protocol::{
    BootId, BootReport, DeployReport, Digest, DigestAlgorithm, Disk, DiskIdentity, EraseReport, ErasedDisk, Failure,
    FailureCode, HardwareDetails, LeaveHow, LeaveReport, Outcome, Report, Role, SkippedDisk, Work, WorkItem,
};
use k8s_openapi::api::core::v1::ObjectReference;

use super::super::super::effect::{Answer, BmcFailure};
use super::super::super::observed::{CredentialsView, PowerView, Seed};
use super::super::super::seed_data::SeedData;
use super::super::*;
use crate::outside::{AgentView, ItemView};
use crate::settings::BootSettings;

/// One host and all that surrounds it.
pub(super) struct World {
    pub(super) seen: Observed,
    pub(super) now: Timestamp,
}

impl World {
    pub(super) fn new() -> Self {
        let mut host = BareMetalHost::new("r7-u12", Default::default());
        host.metadata.namespace = Some("metal".to_owned());
        host.metadata.generation = Some(1);
        host.spec.online = true;
        host.spec.boot_mac_address = Some("52:54:00:00:00:01".to_owned());
        host.spec.bmc = Some(bessemer_api::metal3::BmcDetails {
            address: "ipmi://10.0.0.1".to_owned(),
            credentials_name: "r7-u12-bmc".to_owned(),
            ..Default::default()
        });
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let seen = Observed {
            host,
            record: None,
            credentials: CredentialsView::Found { version: "7".to_owned(), labelled: true },
            power: PowerView::Unknown,
            agent: AgentView::default(),
            seed_data: Ok(SeedData::default()),
            ramdisk_network: Ok(None),
            mac_twin: None,
            bmc_twin: None,
            started: now,
            boot: BootSettings::default(),
            seed: Seed::fresh(0.0),
        };
        Self { seen, now }
    }

    /// A new host whose BMC's address asks for virtual media, on a site with an ISO.
    pub(super) fn by_media() -> Self {
        let mut world = Self::new();
        world.seen.host.spec.bmc.as_mut().unwrap().address = "redfish-virtualmedia://10.0.0.1".to_owned();
        world.seen.boot.media_url = Some("http://10.77.0.1:8080".to_owned());
        world
    }

    /// One pass; the effect goes as `answer` says, or well.
    pub(super) fn pass_with(&mut self, answer: impl FnOnce(&Effect) -> Option<Answer>) -> Option<Effect> {
        self.seen.seed = Seed::fresh(0.0);
        let decision = decide(&self.seen, self.now);
        let (mut host, mut record) = (decision.host, decision.record);
        if let Some(effect) = &decision.effect {
            let answer = answer(effect).unwrap_or_else(|| self.well(effect));
            conclude(&mut host, &mut record, effect, &answer, self.now, 0.0);
        }
        self.seen.host = host;
        self.seen.record = Some(record);
        decision.effect
    }

    pub(super) fn pass(&mut self) -> Option<Effect> {
        self.pass_with(|_| None)
    }

    pub(super) fn well(&mut self, effect: &Effect) -> Answer {
        let mut known = |on: bool| self.seen.power = PowerView::Known { on, at: self.now };
        match effect {
            Effect::Identify => {
                known(false);
                let identity = Identity { firmware: Some("1.0".to_owned()), ..Identity::default() };
                return Answer::Identified { identity, powered_on: false };
            }
            Effect::Power(action) => known(!matches!(action, PowerAction::ForceOff | PowerAction::GracefulOff)),
            Effect::Send(item) => drop(self.seen.agent.items.insert(item.id, ItemView::default())),
            Effect::Stored(work) => drop(self.seen.agent.items.remove(work)),
            Effect::Insert(_) => return Answer::Inserted { verified: false },
            Effect::Eject | Effect::SetOverride(_) | Effect::LetGo { .. } => {}
        }
        Answer::Done
    }

    /// Passes until something is done to the world.
    pub(super) fn effect(&mut self) -> Effect {
        (0..10).find_map(|_| self.pass()).expect("nothing happens")
    }

    pub(super) fn sent(&mut self) -> WorkItem {
        match self.effect() {
            Effect::Send(item) => *item,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn wait(&mut self, wait: Duration) {
        self.now = later(self.now, wait);
    }

    pub(super) fn boot(&self) -> BootRecordView {
        let boot = self.record().boot.clone().unwrap();
        BootRecordView { id: boot.id.parse().unwrap(), target: boot.target }
    }

    pub(super) fn record(&self) -> HostRecordStatus {
        self.seen.record.clone().unwrap_or_default()
    }

    pub(super) fn connect(&mut self) {
        let boot_id = Some(self.boot().id);
        self.seen.agent = AgentView {
            connected: true,
            role: Some(Role::Ramdisk),
            boot_id,
            agent_version: Some("0.1.0".to_owned()),
            ..AgentView::default()
        };
    }

    pub(super) fn lose(&mut self) {
        self.seen.agent.connected = false;
        self.seen.agent.lost_since = Some(self.now);
    }

    pub(super) fn answer(&mut self, item: &WorkItem, outcome: Outcome) {
        self.seen.agent.items.insert(item.id, ItemView { progress: None, outcome: Some(outcome) });
    }

    pub(super) fn claim(&mut self) {
        self.seen.host.spec.consumer_ref = Some(ObjectReference {
            kind: Some("Metal3Machine".to_owned()),
            name: Some("cp-abcde".to_owned()),
            namespace: Some("metal".to_owned()),
            ..Default::default()
        });
        self.seen.host.spec.image = Some(image());
        self.seen.host.metadata.generation = Some(2);
    }

    pub(super) fn state(&self) -> ProvisioningState {
        self.seen.status().provisioning.state
    }

    pub(super) fn error(&self) -> (Option<ErrorType>, String) {
        let status = self.seen.status();
        (status.error_type, status.error_message)
    }

    /// Registered and in the ramdisk, its agent connected.
    pub(super) fn in_ramdisk() -> Self {
        let mut world = Self::new();
        assert_eq!(world.effect(), Effect::Identify);
        assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)));
        assert_eq!(world.effect(), Effect::Power(PowerAction::On));
        world.connect();
        world
    }

    /// Inspected, with its first erasure sent.
    pub(super) fn preparing() -> (Self, WorkItem) {
        let mut world = Self::in_ramdisk();
        let item = world.sent();
        world.answer(&item, inspected());
        assert_eq!(world.effect(), Effect::Stored(item.id));
        assert_eq!(world.state(), ProvisioningState::Preparing);
        let item = world.sent();
        assert!(matches!(item.work, Work::Erase(_)));
        (world, item)
    }

    /// In the ramdisk; is inspected, erased and offered.
    pub(super) fn get_ready(&mut self) {
        for outcome in [inspected(), erased()] {
            let item = self.sent();
            self.answer(&item, outcome);
            assert_eq!(self.effect(), Effect::Stored(item.id));
        }
        assert_eq!(self.state(), ProvisioningState::Available);
    }

    pub(super) fn available() -> Self {
        let (mut world, item) = Self::preparing();
        world.answer(&item, erased());
        assert_eq!(world.effect(), Effect::Stored(item.id));
        assert_eq!(world.state(), ProvisioningState::Available);
        world
    }

    /// Claimed, with its deployment sent.
    pub(super) fn deploying() -> (Self, WorkItem) {
        let mut world = Self::available();
        world.claim();
        let item = world.sent();
        assert!(matches!(item.work, Work::Deploy(_)));
        (world, item)
    }

    /// Written, and asked to leave.
    pub(super) fn leaving() -> (Self, WorkItem) {
        let (mut world, item) = Self::deploying();
        world.answer(&item, deployed());
        world.effect();
        world.effect();
        let leave = world.sent();
        (world, leave)
    }

    /// Provisioned, then released by its user.
    pub(super) fn released() -> Self {
        let mut world = Self::provisioned();
        world.release();
        world
    }

    pub(super) fn release(&mut self) {
        self.seen.host.spec.image = None;
        self.seen.host.metadata.generation = Some(3);
    }

    /// Released, booted into the ramdisk again, its erasure sent.
    pub(super) fn deprovisioning() -> (Self, WorkItem) {
        let mut world = Self::released();
        world.boots_again();
        let item = world.sent();
        assert!(matches!(item.work, Work::Erase(_)));
        (world, item)
    }

    /// Brought into a new boot of the ramdisk, whatever runs.
    pub(super) fn boots_again(&mut self) {
        let before = self.boot().id;
        assert_eq!(self.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)));
        assert_ne!(self.boot().id, before);
        assert!(matches!(self.effect(), Effect::Power(PowerAction::On | PowerAction::Reset)));
        self.connect();
    }

    pub(super) fn delete(&mut self) {
        self.seen.host.metadata.deletion_timestamp = Some(time(self.now));
    }

    pub(super) fn provisioned() -> Self {
        let (mut world, leave) = Self::leaving();
        world.answer(
            &leave,
            Outcome::Done { report: Report::Leaving(LeaveReport { how: LeaveHow::Reboot, detail: None }) },
        );
        assert_eq!(world.pass(), Some(Effect::Stored(leave.id)));
        assert_eq!(world.state(), ProvisioningState::Provisioned);
        world
    }
}

pub(super) struct BootRecordView {
    pub(super) id: BootId,
    pub(super) target: BootTarget,
}

pub(super) fn image() -> Image {
    Image {
        url: "http://10.77.0.1:8080/images/debian.raw.zst".to_owned(),
        checksum: Some("ab".repeat(32)),
        checksum_type: Some(ChecksumType::Sha256),
        format: Some(DiskFormat::Raw),
        ..Image::default()
    }
}

pub(super) fn inspected() -> Outcome {
    found(&["A", "B"])
}

/// An inspection that found disks with these serial numbers, of 8 GiB the first, of twice that the next.
pub(super) fn found(serials: &[&str]) -> Outcome {
    let disk = |(at, serial): (usize, &&str)| Disk {
        name: format!("/dev/sd{}", char::from(b'a' + at as u8)),
        alternate_names: vec![format!("/dev/disk/by-path/pci-0000:00:1f.2-ata-{}", at + 1)],
        serial_number: (*serial).to_owned(),
        size_bytes: (8 << 30) << at,
        ..Disk::default()
    };
    let storage = serials.iter().enumerate().map(disk).collect();
    let hardware = HardwareDetails { storage, ..HardwareDetails::default() };
    Outcome::Done { report: Report::Inspected { hardware: Box::new(hardware) } }
}

pub(super) fn erased() -> Outcome {
    let erased = ErasedDisk {
        disk: DiskIdentity { name: "/dev/sda".to_owned(), ..DiskIdentity::default() },
        proof: "8388608 bytes of metadata places read as zero".to_owned(),
        seconds: 1,
        ..ErasedDisk::default()
    };
    let skipped = vec![SkippedDisk { name: "/dev/sr0".to_owned(), why: "an optical drive".to_owned() }];
    Outcome::Done { report: Report::Erased(EraseReport { erased: vec![erased], skipped }) }
}

pub(super) fn failed(code: FailureCode, message: &str) -> Outcome {
    Outcome::Failed(Failure { code, message: message.to_owned() })
}

pub(super) fn deployed() -> Outcome {
    let digest = Digest { algorithm: DigestAlgorithm::Sha256, hex: "ab".repeat(32) };
    let report = DeployReport {
        disk: Box::default(),
        fetched_bytes: 1,
        image_bytes: 2,
        digest,
        format: "raw in zstd".to_owned(),
        partitions: Vec::new(),
        boot: BootReport::default(),
        notes: Vec::new(),
    };
    Outcome::Done { report: Report::Deployed(report) }
}

pub(super) fn refused() -> Answer {
    Answer::Failed(BmcFailure {
        message: "bmc 10.0.0.1 refuses user \"admin\": wrong password".to_owned(),
        transient: false,
        refused: true,
    })
}
