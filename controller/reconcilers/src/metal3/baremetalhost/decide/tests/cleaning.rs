//! What is erased, when, and what becomes of a host that is not.

use bessemer_api::bessemer::BootTarget;
use bessemer_api::metal3::CleaningMode;
use bessemer_api::well_known::{HOST_DETACHED_ANNOTATION, HOST_INSPECT_ANNOTATION, HOST_PAUSED_ANNOTATION};
use bessemer_bmc::{BootDevice, BootOverride, PowerAction};
use bessemer_protocol::{EraseMode, FailureCode, Outcome, Unlisted, Work, WorkItem};

use super::super::super::budgets::{AGENT_GRACE, ERASE_BUDGET, MAX_ATTEMPTS, MAX_ERASE_ATTEMPTS_BEFORE_DELETE};
use super::super::super::effect::{Answer, BmcFailure, Effect};
use super::super::super::observed::PowerView;
use super::super::disks::KEEP_ANNOTATION;
use super::super::*;
use super::world::{World, erased, failed, found};

fn order(item: &WorkItem) -> bessemer_protocol::Erase {
    match &item.work {
        Work::Erase(order) => order.clone(),
        other => panic!("{other:?}"),
    }
}

fn told(world: &World) -> Vec<String> {
    world.record().story.into_iter().map(|line| line.event).collect()
}

#[test]
fn a_host_is_erased_before_it_is_offered_and_only_the_disks_of_its_inspection() {
    let (world, item) = World::preparing();
    let order = order(&item);
    assert_eq!((order.mode, order.unlisted, order.keep.len()), (EraseMode::Metadata, Unlisted::Refuse, 0));
    let disks: Vec<(&str, u64)> =
        order.disks.iter().map(|disk| (disk.serial_number.as_str(), disk.size_bytes >> 30)).collect();
    assert_eq!(disks, [("A", 8), ("B", 16)]);
    assert_eq!((item.claim, item.host_id), (None, host_id(&world.seen.host).unwrap()));
    assert_eq!(item.deadline, later(world.now, ERASE_BUDGET).as_second());
}

#[test]
fn without_cleaning_a_host_is_offered_as_it_is() {
    let mut world = World::in_ramdisk();
    world.seen.host.spec.automated_cleaning_mode = Some(CleaningMode::Disabled);
    let item = world.sent();
    world.answer(&item, found(&["A"]));
    assert_eq!(world.effect(), Effect::Stored(item.id));
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Available);
    assert!(!told(&world).contains(&"erased".to_owned()));
}

#[test]
fn a_released_host_boots_the_ramdisk_is_erased_and_only_then_available() {
    for online in [true, false] {
        let mut world = World::released();
        world.seen.host.spec.online = online;
        world.pass();
        assert_eq!(world.state(), ProvisioningState::Deprovisioning);
        assert_eq!(world.boot().target, BootTarget::PowerOff, "its disk does not boot any more");
        world.boots_again();
        let item = world.sent();
        assert_eq!(order(&item).mode, EraseMode::Metadata);
        assert_eq!(world.state(), ProvisioningState::Deprovisioning);
        assert!(world.seen.status().provisioning.image.is_some(), "it is still there");
        world.answer(&item, erased());
        assert_eq!(world.effect(), Effect::Stored(item.id));
        assert_eq!(world.state(), ProvisioningState::Available);
        let status = world.seen.status();
        assert_eq!((status.provisioning.image, status.provisioning.root_device_hints), (None, None));
        assert!(status.operation_history.deprovision.end.is_some());
        assert_eq!(world.record().written, None);
        let line = world.record().story.into_iter().find(|line| line.event == "erased").unwrap();
        assert!(line.detail.contains("/dev/sr0: left alone, an optical drive"), "{}", line.detail);
        if online {
            assert_eq!(world.pass(), None, "it stays in the ramdisk, ready for the next");
        } else {
            assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
        }
    }
}

#[test]
fn an_erasure_of_before_the_user_came_is_not_this_one() {
    // Without anything having been written meanwhile, the last item would still be the first erasure, with an equal payload.
    let mut world = World::available();
    let first = world.record().work.unwrap();
    world.claim();
    world.seen.host.spec.image.as_mut().unwrap().checksum = None;
    world.pass();
    world.pass();
    world.release();
    let item = world.sent();
    assert_eq!(world.state(), ProvisioningState::Deprovisioning);
    assert_ne!(item.id.to_string(), first.id);
    assert_eq!(world.record().work.unwrap().payload_digest, first.payload_digest);
}

#[test]
fn a_deployment_that_is_called_off_is_erased_in_the_same_boot() {
    let (mut world, deploy) = World::deploying();
    let boot = world.boot().id;
    world.release();
    let item = world.sent();
    assert_ne!(item.id, deploy.id);
    assert_eq!(order(&item).mode, EraseMode::Metadata);
    assert_eq!(world.boot().id, boot);
    world.answer(&item, erased());
    world.effect();
    assert_eq!(world.state(), ProvisioningState::Available);
}

#[test]
fn where_cleaning_is_disabled_the_seed_goes_all_the_same() {
    let mut world = World::provisioned();
    world.seen.host.spec.automated_cleaning_mode = Some(CleaningMode::Disabled);
    world.release();
    world.boots_again();
    let item = world.sent();
    let seeds = order(&item);
    assert_eq!((seeds.mode, seeds.unlisted), (EraseMode::Seeds, Unlisted::Keep));
    let disks: Vec<&str> = seeds.disks.iter().map(|disk| disk.serial_number.as_str()).collect();
    assert_eq!(disks, ["A"], "only the one that was written");
    world.answer(&item, erased());
    world.effect();
    assert_eq!(world.state(), ProvisioningState::Available);
    // A host that we never wrote has none of our seeds.
    let mut world = World::available();
    world.seen.host.spec.automated_cleaning_mode = Some(CleaningMode::Disabled);
    world.claim();
    world.seen.host.spec.image.as_mut().unwrap().checksum = None;
    world.pass();
    world.release();
    world.pass();
    world.pass();
    assert_eq!((world.state(), world.pass()), (ProvisioningState::Available, None));
}

#[test]
fn where_cleaning_is_disabled_the_seed_of_a_deployment_without_a_report_goes_too() {
    let disabled = |world: &mut World| world.seen.host.spec.automated_cleaning_mode = Some(CleaningMode::Disabled);
    let (mut world, deploy) = World::deploying();
    disabled(&mut world);
    world.release();
    let item = world.sent();
    assert_ne!(item.id, deploy.id);
    assert_eq!((order(&item).mode, world.state()), (EraseMode::Seeds, ProvisioningState::Deprovisioning));
    world.answer(&item, erased());
    world.effect();
    assert_eq!((world.state(), world.record().seed_since), (ProvisioningState::Available, None));
    // The same when the record was lost, and with it what was written.
    let mut world = World::released();
    disabled(&mut world);
    world.seen.record = None;
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Pxe)));
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
    world.connect();
    assert_eq!(order(&world.sent()).mode, EraseMode::Seeds);
}

#[test]
fn a_failed_erasure_keeps_the_host_from_everybody_and_an_edit_tries_again() {
    for (preparing, kind) in [(true, ErrorType::Preparation), (false, ErrorType::Provisioning)] {
        let (mut world, mut item) = if preparing { World::preparing() } else { World::deprovisioning() };
        let state = world.state();
        let fails = world.seen.status().provisioning_fail_count;
        for attempt in 1..=MAX_ATTEMPTS {
            world.answer(&item, failed(FailureCode::EraseFailed, "/dev/sdb: bad sector at 4096"));
            assert_eq!(world.effect(), Effect::Stored(item.id));
            assert_eq!(world.error().0, Some(kind));
            assert!(world.error().1.contains("erasing: /dev/sdb: bad sector at 4096"), "{}", world.error().1);
            assert_eq!(world.state(), state);
            assert_eq!(world.pass(), None, "not at once again");
            world.wait(Duration::from_secs(600));
            if attempt < MAX_ATTEMPTS {
                let next = world.sent();
                assert_ne!(next.id, item.id, "each attempt has an id of its own");
                item = next;
            }
        }
        for _ in 0..3 {
            assert_eq!(world.pass(), None);
            assert_eq!(world.state(), state);
        }
        assert_eq!(world.seen.status().provisioning_fail_count, fails, "nothing was being provisioned");
        world.seen.host.metadata.generation = Some(9);
        let again = world.sent();
        assert_eq!(world.record().work.unwrap().attempt, MAX_ATTEMPTS + 1);
        world.answer(&again, erased());
        world.effect();
        assert_eq!((world.state(), world.error().0), (ProvisioningState::Available, None));
    }
}

#[test]
fn other_disks_than_those_of_the_inspection_are_looked_at_again_when_somebody_asks() {
    let (mut world, item) = World::deprovisioning();
    let message = "nothing was erased: the order names the disk /dev/sdb, and this host has another";
    world.answer(&item, failed(FailureCode::WrongDisk, message));
    world.effect();
    assert!(world.error().1.contains("set the annotation inspect.metal3.io"), "{}", world.error().1);
    world.seen.host.annotations_mut().insert(HOST_INSPECT_ANNOTATION.to_owned(), String::new());
    let inspect = world.sent();
    assert_eq!(inspect.work, Work::Inspect);
    world.answer(&inspect, found(&["A", "C"]));
    assert_eq!(world.effect(), Effect::Stored(inspect.id));
    assert!(!world.seen.host.annotations().contains_key(HOST_INSPECT_ANNOTATION), "done once");
    let again = order(&world.sent());
    let serials: Vec<&str> = again.disks.iter().map(|disk| disk.serial_number.as_str()).collect();
    assert_eq!(serials, ["A", "C"]);
}

#[test]
fn an_available_host_is_inspected_and_erased_anew_when_somebody_asks() {
    let mut world = World::available();
    world.seen.host.annotations_mut().insert(HOST_INSPECT_ANNOTATION.to_owned(), String::new());
    let inspect = world.sent();
    assert_eq!((inspect.work.clone(), world.state()), (Work::Inspect, ProvisioningState::Inspecting));
    world.answer(&inspect, found(&["A"]));
    world.effect();
    assert_eq!(order(&world.sent()).disks.len(), 1);
    let mut world = World::available();
    world.seen.host.annotations_mut().insert(HOST_INSPECT_ANNOTATION.to_owned(), "disabled".to_owned());
    assert_eq!((world.pass(), world.state()), (None, ProvisioningState::Available));
}

#[test]
fn an_agent_that_dies_in_the_middle_is_booted_again_and_erases_again() {
    let (mut world, item) = World::deprovisioning();
    world.lose();
    assert_eq!(world.pass(), None, "it may come back");
    world.wait(AGENT_GRACE);
    world.pass();
    assert!(world.error().1.starts_with("agent lost:"), "{}", world.error().1);
    assert_eq!((world.state(), world.boot().target), (ProvisioningState::Deprovisioning, BootTarget::PowerOff));
    world.wait(Duration::from_secs(600));
    world.boots_again();
    let again = world.sent();
    assert_ne!(again.id, item.id);
    assert_eq!(order(&again), order(&item), "the same disks under the same intent");
    world.answer(&again, erased());
    world.effect();
    assert_eq!((world.state(), world.error().0), (ProvisioningState::Available, None));
}

#[test]
fn an_erasure_whose_result_is_stored_is_never_done_again() {
    let (mut world, item) = World::deprovisioning();
    world.answer(&item, erased());
    let before = world.seen.host.clone();
    assert_eq!(world.effect(), Effect::Stored(item.id));
    // The record was written, the host was not.
    world.seen.host = before;
    assert_eq!(world.pass(), None);
    assert_eq!(world.state(), ProvisioningState::Available);
}

#[test]
fn a_disk_to_be_kept_is_named_in_the_order_and_a_slip_of_the_pen_erases_nothing() {
    for (value, wanted) in [
        (r#"[{"serialNumber": "B"}]"#, Ok("B")),
        (r#"[{"serialNumer": "B"}]"#, Err("has \"serialNumer\", which is no hint")),
        (r#"[{"serialNumber": 7}]"#, Err("cannot be read")),
        (r#"[{"serialNumber": "B"}, {}]"#, Err("would keep every disk")),
        ("B", Err("cannot be read")),
    ] {
        let mut world = World::released();
        world.seen.host.annotations_mut().insert(KEEP_ANNOTATION.to_owned(), value.to_owned());
        world.boots_again();
        match wanted {
            Ok(serial) => assert_eq!(order(&world.sent()).keep[0].serial_number.as_deref(), Some(serial)),
            Err(why) => {
                for _ in 0..5 {
                    assert_eq!(world.pass(), None, "{value}");
                }
                assert!(world.error().1.contains(why), "{value}: {}", world.error().1);
                assert_eq!(world.state(), ProvisioningState::Deprovisioning);
            }
        }
    }
}

#[test]
fn a_host_nobody_inspected_is_inspected_before_it_is_erased() {
    let mut world = World::released();
    world.seen.host.status.as_mut().unwrap().hardware = None;
    world.boots_again();
    let inspect = world.sent();
    assert_eq!(inspect.work, Work::Inspect);
    world.answer(&inspect, found(&["A"]));
    assert_eq!(world.effect(), Effect::Stored(inspect.id));
    assert_eq!(order(&world.sent()).disks.len(), 1);
    assert_eq!(world.state(), ProvisioningState::Deprovisioning);
}

#[test]
fn a_deleted_host_is_erased_first_if_it_had_a_user() {
    let mut world = World::provisioned();
    world.delete();
    world.boots_again();
    assert_eq!(world.state(), ProvisioningState::Deprovisioning);
    let item = world.sent();
    world.answer(&item, erased());
    assert_eq!(world.effect(), Effect::Stored(item.id));
    assert_eq!(world.state(), ProvisioningState::PoweringOffBeforeDelete);
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
    assert!(matches!(world.effect(), Effect::LetGo { .. }));
    assert!(world.seen.host.finalizers().is_empty());

    let mut world = World::available();
    world.delete();
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff), "nobody's data is on it");
    assert!(matches!(world.effect(), Effect::LetGo { .. }));
}

#[test]
fn a_host_deleted_while_it_is_erased_is_erased_to_the_end() {
    let (mut world, item) = World::deprovisioning();
    world.delete();
    assert_eq!(world.pass(), None);
    assert_eq!(world.state(), ProvisioningState::Deprovisioning);
    world.answer(&item, erased());
    assert_eq!(world.effect(), Effect::Stored(item.id));
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
}

#[test]
fn a_deletion_does_not_wait_for_ever_for_the_ramdisks_network() {
    let mut world = World::provisioned();
    world.seen.ramdisk_network = Err("secret metal/network does not exist".to_owned());
    world.delete();
    for _ in 0..60 {
        if world.seen.host.finalizers().is_empty() {
            break;
        }
        world.pass();
        world.wait(Duration::from_secs(600));
    }
    assert!(world.seen.host.finalizers().is_empty(), "{:?}", world.record().retry);
    let told = world.record().story.into_iter().filter(|line| line.event == "deleting").map(|line| line.detail);
    assert!(
        told.clone().any(|line| line.contains("secret metal/network does not exist")),
        "{:?}",
        told.collect::<Vec<_>>()
    );
}

#[test]
fn a_deletion_does_not_wait_for_ever_for_a_disk_that_cannot_be_erased() {
    let (mut world, mut item) = World::deprovisioning();
    world.delete();
    for attempt in 1..=MAX_ERASE_ATTEMPTS_BEFORE_DELETE {
        world.answer(&item, failed(FailureCode::EraseFailed, "/dev/sda: bad sector at 0"));
        world.effect();
        world.wait(Duration::from_secs(600));
        if attempt < MAX_ERASE_ATTEMPTS_BEFORE_DELETE {
            item = world.sent();
        }
    }
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
    let line = world.record().story.into_iter().find(|line| line.event == "deleting").unwrap();
    assert!(line.detail.contains("not erased") && line.detail.contains("bad sector at 0"), "{}", line.detail);
    assert!(matches!(world.effect(), Effect::LetGo { .. }));
}

#[test]
fn a_deletion_waits_neither_for_a_dead_bmc_nor_for_an_error_of_before() {
    let dead = || BmcFailure { message: "unreachable".to_owned(), transient: true, refused: false };
    let mut world = World::provisioned();
    world.delete();
    world.seen.power = PowerView::Failed(dead());
    for _ in 0..40 {
        world.pass_with(|effect| {
            matches!(effect, Effect::Power(_) | Effect::SetOverride(_)).then(|| Answer::Failed(dead()))
        });
        world.wait(Duration::from_secs(300));
    }
    assert!(world.seen.host.finalizers().is_empty());

    let mut world = World::released();
    world.seen.host.annotations_mut().insert(KEEP_ANNOTATION.to_owned(), "B".to_owned());
    world.boots_again();
    world.pass();
    world.delete();
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
}

#[test]
fn a_paused_or_detached_host_is_not_erased_and_somebody_elses_never() {
    for annotation in [HOST_PAUSED_ANNOTATION, HOST_DETACHED_ANNOTATION] {
        let mut world = World::released();
        world.seen.host.annotations_mut().insert(annotation.to_owned(), String::new());
        for _ in 0..5 {
            assert_eq!(world.pass(), None, "{annotation}");
        }
        assert_eq!(world.state(), ProvisioningState::Provisioned);
        world.seen.host.annotations_mut().remove(annotation);
        world.boots_again();
    }
    let mut world = World::new();
    world.seen.host.spec.externally_provisioned = Some(true);
    world.effect();
    world.seen.power = PowerView::Known { on: true, at: world.now };
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
    }
    world.delete();
    assert!(matches!(world.pass(), Some(Effect::LetGo { .. })), "not even then");
    assert!(!told(&world).iter().any(|event| event == "taken back" || event == "erased"));
}

#[test]
fn an_answer_to_another_question_is_no_erasure() {
    let (mut world, item) = World::deprovisioning();
    let Outcome::Done { report } = found(&["A"]) else { panic!() };
    world.answer(&item, Outcome::Done { report });
    world.effect();
    for _ in 0..3 {
        world.pass();
        assert_eq!(world.state(), ProvisioningState::Deprovisioning);
    }
    assert!(world.error().1.contains("another report"), "{}", world.error().1);
}
