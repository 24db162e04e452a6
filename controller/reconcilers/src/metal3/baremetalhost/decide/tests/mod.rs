//! What is seen and what is decided.

mod cleaning;
mod disks;
mod leaving;
mod live;
mod logs;
mod media;
mod restore;
mod seed;
mod trouble;
mod trust;
mod world;

use std::collections::HashMap;
use std::time::Duration;

use bessemer_api::bessemer::BootTarget;
use bessemer_api::conditions::get;
use bessemer_api::metal3::{ChecksumType, DiskFormat, Image};
use bessemer_bmc::{BootDevice, BootOverride, PowerAction};
use bessemer_protocol::{
    Checksum, Digest, DigestAlgorithm, Failure, FailureCode, ImageFormat, LeaveHow, LeaveReport, Outcome, Report, Work,
    WorkId,
};

use super::super::budgets::{AGENT_GRACE, MAX_ATTEMPTS, MAX_REFUSALS, POST_BUDGET};
use super::super::effect::{Answer, BmcFailure};
use super::super::observed::{CredentialsView, PowerView};
use super::*;
use crate::outside::ItemView;
use world::{World, deployed, image, refused};

#[test]
fn finalizer_and_id_come_first() {
    let mut world = World::new();
    assert_eq!(world.pass(), None);
    assert_eq!(world.seen.host.finalizers(), [HOST_FINALIZER]);
    assert!(host_id(&world.seen.host).is_some());
    assert_eq!(world.state(), ProvisioningState::None);
}

#[test]
fn an_unlabelled_secret_is_labelled_before_it_is_used() {
    let mut world = World::new();
    world.seen.credentials = CredentialsView::Found { version: "7".to_owned(), labelled: false };
    world.pass();
    let decision = decide(&world.seen, world.now);
    assert!(decision.label_secret && decision.effect.is_none());
}

#[test]
fn a_host_goes_from_registering_to_provisioned() {
    let world = World::provisioned();
    let status = world.seen.status();
    assert_eq!(status.provisioning.image, Some(image()));
    assert_eq!(status.operational_status, OperationalStatus::Ok);
    assert!(status.operation_history.provision.end.is_some() && status.operation_history.inspect.end.is_some());
    assert_eq!(world.boot().target, BootTarget::LocalDisk);
    assert_eq!(get(&status.conditions, "Ready").unwrap().reason, "Provisioned");
    let story: Vec<String> = world.record().story.into_iter().map(|line| line.event).collect();
    assert_eq!(
        story,
        [
            "registered",
            "boot override",
            "power on",
            "agent",
            "inspected",
            "erased",
            "available",
            "claimed",
            "written",
            "boot override",
            "provisioned"
        ]
    );
}

#[test]
fn the_disk_is_the_next_boot_before_the_agent_may_leave() {
    let (mut world, item) = World::deploying();
    world.answer(&item, deployed());
    assert_eq!(world.effect(), Effect::Stored(item.id));
    assert_eq!(world.boot().target, BootTarget::Ramdisk, "the result is stored first");
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::None)));
    assert_eq!(world.boot().target, BootTarget::LocalDisk);
    let leave = world.sent();
    assert_eq!(leave.work, Work::Leave { how: LeaveHow::Reboot });
    assert_eq!(leave.claim.as_deref(), Some("metal/cp-abcde"));
}

#[test]
fn a_host_that_says_so_leaves_without_the_firmware() {
    let (mut world, item) = World::deploying();
    world.seen.host.annotations_mut().insert("bessemer.dev/leave".to_owned(), "kexec".to_owned());
    world.answer(&item, deployed());
    world.effect();
    world.effect();
    let leave = world.sent();
    assert_eq!(leave.work, Work::Leave { how: LeaveHow::Kexec });
    let report = LeaveReport { how: LeaveHow::Reboot, detail: Some("secure boot is on".to_owned()) };
    world.answer(&leave, Outcome::Done { report: Report::Leaving(report) });
    world.pass();
    let told = world.record().story.last().unwrap().clone();
    assert_eq!(told.detail, "left the ramdisk for its disk by reboot: secure boot is on");
}

#[test]
fn every_form_of_image_that_metal3_allows_is_asked_for() {
    let file = |algorithm| Checksum::File { url: "http://x/SHA256SUMS".to_owned(), algorithm };
    let value =
        |algorithm: DigestAlgorithm| Checksum::Value(Digest { algorithm, hex: "cd".repeat(algorithm.digits() / 2) });
    for (change, format, checksum) in [
        (
            (|image: &mut Image| image.checksum = Some("http://x/SHA256SUMS".to_owned())) as fn(&mut Image),
            ImageFormat::Raw,
            file(Some(DigestAlgorithm::Sha256)),
        ),
        (
            |image| {
                image.checksum = Some("http://x/SHA256SUMS".to_owned());
                image.checksum_type = None;
                image.format = None;
            },
            ImageFormat::Auto,
            file(None),
        ),
        (
            |image| {
                image.checksum = Some("CD".repeat(64));
                image.checksum_type = Some(ChecksumType::Auto);
                image.format = Some(DiskFormat::Qcow2);
            },
            ImageFormat::Qcow2,
            value(DigestAlgorithm::Sha512),
        ),
        (
            |image| {
                image.checksum = Some("cd".repeat(16));
                image.checksum_type = Some(ChecksumType::Md5);
            },
            ImageFormat::Raw,
            value(DigestAlgorithm::Md5),
        ),
        (
            |image| {
                image.url = "oci://registry/image:1".to_owned();
                image.checksum = None;
            },
            ImageFormat::Raw,
            Checksum::Registry,
        ),
    ] {
        let mut world = World::available();
        world.claim();
        change(world.seen.host.spec.image.as_mut().unwrap());
        world.pass();
        let Work::Deploy(order) = world.sent().work else { panic!("no deployment") };
        assert_eq!(order.image, bessemer_protocol::Image { format, checksum });
    }
}

#[test]
fn a_wrong_password_waits_for_another_secret() {
    let mut world = World::new();
    world.pass();
    for attempt in 1..=MAX_REFUSALS {
        assert_eq!(world.pass_with(|_| Some(refused())), Some(Effect::Identify), "attempt {attempt}");
        assert_eq!(world.pass(), None, "not at once again");
        world.wait(Duration::from_secs(3600));
    }
    assert_eq!(world.pass(), None, "the account is not locked by us");
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Registration));
    assert!(message.contains("metal/r7-u12-bmc") && message.contains("change the secret"), "{message}");
    assert_eq!(world.state(), ProvisioningState::Registering);
    world.seen.credentials = CredentialsView::Found { version: "8".to_owned(), labelled: true };
    assert_eq!(world.pass(), Some(Effect::Identify));
    assert_eq!(world.error(), (None, String::new()));
}

#[test]
fn a_missing_secret_is_named() {
    let mut world = World::new();
    world.seen.credentials = CredentialsView::Missing { why: "secret metal/x does not exist: create it".to_owned() };
    world.pass();
    assert_eq!(world.pass(), None);
    assert_eq!(world.error().1, "secret metal/x does not exist: create it");
}

#[test]
fn a_wrong_digest_is_shown_and_tried_a_few_times() {
    let (mut world, mut item) = World::deploying();
    let mut ids: Vec<WorkId> = vec![item.id];
    for attempt in 1..=MAX_ATTEMPTS {
        let message = "sha256 differs after 2 bytes (want 9f2c…, got 41aa…)".to_owned();
        world.answer(&item, Outcome::Failed(Failure { code: FailureCode::DigestMismatch, message }));
        assert_eq!(world.effect(), Effect::Stored(item.id));
        let (kind, message) = world.error();
        assert_eq!(kind, Some(ErrorType::Provisioning));
        assert!(message.contains("want 9f2c…, got 41aa…)"), "{message}");
        assert_eq!(world.pass(), None, "not at once again");
        world.wait(Duration::from_secs(600));
        if attempt < MAX_ATTEMPTS {
            item = world.sent();
            assert!(!ids.contains(&item.id), "each attempt has an id of its own");
            ids.push(item.id);
        }
    }
    assert_eq!(world.pass(), None);
    assert!(world.error().1.contains("gave up after 5 attempts"), "{}", world.error().1);
    assert_eq!(world.state(), ProvisioningState::Provisioning);
    // Another image, and it goes on at once.
    world.seen.host.spec.image.as_mut().unwrap().checksum = Some("cd".repeat(32));
    world.seen.host.metadata.generation = Some(3);
    assert!(matches!(world.sent().work, Work::Deploy(_)));
}

#[test]
fn a_lost_agent_is_given_time_then_booted_again() {
    let (mut world, item) = World::deploying();
    let before = world.boot().id;
    world.lose();
    assert_eq!(world.pass(), None, "it may come back");
    assert_eq!(world.error().0, None);
    world.wait(AGENT_GRACE);
    world.pass();
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Provisioning));
    assert!(message.starts_with("agent lost: the stream of r7-u12 is silent since"), "{message}");
    assert_eq!(world.boot().target, BootTarget::PowerOff, "its disk must not boot");
    world.wait(Duration::from_secs(60));
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)));
    assert_ne!(world.boot().id, before);
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
    world.connect();
    let again = world.sent();
    assert_ne!(again.id, item.id);
    assert_eq!(world.record().work.unwrap().attempt, 2);
}

#[test]
fn an_agent_that_comes_back_in_time_goes_on_with_the_same_item() {
    let (mut world, item) = World::deploying();
    world.lose();
    world.pass();
    world.wait(Duration::from_secs(10));
    let items = HashMap::from([(item.id, ItemView::default())]);
    world.connect();
    world.seen.agent.items = items;
    assert_eq!(world.pass(), None);
    world.seen.agent.items.clear();
    assert_eq!(world.sent().id, item.id, "an item that never arrived is sent again under its id");
}

#[test]
fn power_that_goes_off_under_the_agent_needs_no_grace() {
    let (mut world, _) = World::deploying();
    world.lose();
    world.wait(Duration::from_secs(1));
    world.seen.power = PowerView::Known { on: false, at: world.now };
    world.pass();
    assert!(world.error().1.contains("power off"), "{}", world.error().1);
}

#[test]
fn a_host_that_never_enrols_is_waited_for_and_then_left_off() {
    let mut world = World::new();
    world.effect();
    for attempt in 1..=MAX_ATTEMPTS {
        assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)), "attempt {attempt}");
        assert!(matches!(world.effect(), Effect::Power(PowerAction::On | PowerAction::Reset)));
        assert_eq!(world.pass(), None);
        let status = world.seen.status();
        let progress = &get(&status.conditions, "Progressing").unwrap().message;
        assert!(progress.starts_with("waiting for the agent of r7-u12 since 20"), "{progress}");
        assert!(progress.ends_with("power on, boot override pxe"), "{progress}");
        world.wait(POST_BUDGET);
        if attempt < MAX_ATTEMPTS {
            assert_eq!(world.pass(), None);
            assert_eq!(world.error().0, Some(ErrorType::Inspection));
            world.wait(Duration::from_secs(600));
        }
    }
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff), "the loop breaker");
    for _ in 0..3 {
        world.wait(Duration::from_secs(3600));
        assert_eq!(world.pass(), None);
    }
    world.seen.host.metadata.generation = Some(9);
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)), "an edit tries again");
}

#[test]
fn a_settled_host_decides_nothing() {
    for world in [World::in_ramdisk(), World::available(), World::deploying().0, World::provisioned()] {
        let mut world = world;
        for _ in 0..5 {
            world.pass();
        }
        let decision = decide(&world.seen, world.now);
        assert_eq!(decision.host, world.seen.host);
        assert_eq!(Some(decision.record), world.seen.record);
        assert_eq!(decision.effect, None);
    }
}

#[test]
fn only_power_is_kept_on_a_provisioned_host() {
    let mut world = World::provisioned();
    world.seen.power = PowerView::Known { on: false, at: world.now };
    assert_eq!(world.pass(), Some(Effect::Power(PowerAction::On)));
    world.seen.host.spec.online = false;
    assert_eq!(world.pass(), Some(Effect::Power(PowerAction::GracefulOff)));
}

#[test]
fn somebody_elses_system_is_never_touched() {
    let mut world = World::new();
    world.seen.host.spec.externally_provisioned = Some(true);
    world.effect();
    world.seen.power = PowerView::Known { on: true, at: world.now };
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(world.state(), ProvisioningState::ExternallyProvisioned);
    assert_eq!(world.boot().target, BootTarget::LocalDisk);
    world.seen.host.metadata.deletion_timestamp = Some(time(world.now));
    assert!(matches!(world.pass(), Some(Effect::LetGo { .. })));
}

#[test]
fn deletion_does_not_wait_for_a_dead_bmc() {
    let mut world = World::provisioned();
    world.delete();
    let dead = || BmcFailure { message: "unreachable".to_owned(), transient: true, refused: false };
    world.seen.power = PowerView::Failed(dead());
    for _ in 0..20 {
        world.pass_with(|effect| matches!(effect, Effect::Power(_)).then(|| Answer::Failed(dead())));
        world.wait(Duration::from_secs(120));
    }
    assert!(world.seen.host.finalizers().is_empty());
}

#[test]
fn an_image_that_cannot_be_written_is_refused_before_anything_happens() {
    for (change, message) in [
        ((|image: &mut Image| image.format = Some(DiskFormat::Vmdk)) as fn(&mut Image), "format \"vmdk\""),
        (|image| image.checksum = Some("ftp://x/SHA256SUMS".to_owned()), "is no sha256 digest"),
        (|image| image.checksum = None, "is no sha256 digest"),
        (|image| image.checksum_type = Some(ChecksumType::Md5), "is no md5 digest"),
        (|image| image.url = "oci://registry/image".to_owned(), "takes no checksum"),
        (|image| image.url = "gopher://x/image".to_owned(), "only http://, https:// and oci://"),
        (|image| image.oci_auth_secret_name = Some("pull".to_owned()), "ociAuthSecretName"),
    ] {
        let mut world = World::available();
        world.claim();
        change(world.seen.host.spec.image.as_mut().unwrap());
        for _ in 0..5 {
            assert_eq!(world.pass(), None);
        }
        let (kind, shown) = world.error();
        assert_eq!(kind, Some(ErrorType::Provisioning));
        assert!(shown.contains(message), "{shown}");
        assert_eq!(world.seen.status().error_count, 1);
    }
}

#[test]
fn a_paused_host_is_left_alone() {
    let mut world = World::in_ramdisk();
    world.seen.host.annotations_mut().insert(HOST_PAUSED_ANNOTATION.to_owned(), String::new());
    let decision = decide(&world.seen, world.now);
    assert_eq!((decision.effect, decision.host), (None, world.seen.host));
}

#[test]
fn a_host_that_is_handed_over_is_neither_written_nor_erased() {
    let mut world = World::available();
    world.claim();
    world.seen.host.spec.externally_provisioned = Some(true);
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!((world.state(), world.boot().target), (ProvisioningState::ExternallyProvisioned, BootTarget::LocalDisk));

    let mut world = World::in_ramdisk();
    let item = world.sent();
    world.seen.host.spec.externally_provisioned = Some(true);
    world.answer(&item, world::inspected());
    world.effect();
    for _ in 0..5 {
        assert_eq!(world.pass(), None, "the flag came before the erasure");
    }
    assert_eq!(world.state(), ProvisioningState::ExternallyProvisioned);
}

#[test]
fn a_provisioned_host_that_is_called_external_is_not_erased_before_that_is_corrected() {
    let mut world = World::released();
    world.seen.host.spec.externally_provisioned = Some(true);
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(world.state(), ProvisioningState::Provisioned);
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::ProvisionedRegistration));
    assert!(message.contains("spec.externallyProvisioned") && message.contains("detached"), "{message}");
    world.seen.host.spec.externally_provisioned = None;
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Deprovisioning);
}
