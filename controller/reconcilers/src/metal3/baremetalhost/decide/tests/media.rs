//! Hosts that boot from a drive which their BMC pretends.

use std::time::Duration;

use bessemer_api::bessemer::{BootStep, BootTarget, BootTrust};
use bessemer_bmc::{BootDevice, BootOverride, PowerAction};
use bessemer_protocol::{LeaveHow, LeaveReport, Outcome, Report, Work, WorkItem};

use super::super::super::budgets::{AGENT_GRACE, LEAVE_BUDGET, MAX_POWER_OFF_ATTEMPTS};
use super::super::super::effect::{Answer, BmcFailure, Effect};
use super::super::super::observed::PowerView;
use super::super::*;
use super::world::{World, deployed};

const ON: Effect = Effect::Power(PowerAction::On);
const FORCE_OFF: Effect = Effect::Power(PowerAction::ForceOff);

fn cd() -> Effect {
    Effect::SetOverride(BootOverride::once(BootDevice::Cd))
}

fn url(world: &World) -> String {
    format!("http://10.77.0.1:8080/b/{}/boot.iso", world.boot().id.0.simple())
}

fn stuck(message: &str) -> Answer {
    Answer::Failed(BmcFailure { message: message.to_owned(), transient: false, refused: false })
}

fn available() -> World {
    let mut world = World::by_media();
    assert_eq!(world.effect(), Effect::Identify);
    let inserted = world.effect();
    assert_eq!(inserted, Effect::Insert(url(&world)));
    assert_eq!((world.effect(), world.effect()), (cd(), ON));
    world.connect();
    world.get_ready();
    world
}

fn leaving() -> (World, WorkItem) {
    let mut world = available();
    world.claim();
    let item = world.sent();
    world.answer(&item, deployed());
    assert_eq!(world.effect(), Effect::Stored(item.id));
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::None)));
    let leave = world.sent();
    assert_eq!(leave.work, Work::Leave { how: LeaveHow::PowerOff }, "a medium is ejected from a host that is off");
    (world, leave)
}

/// Its answer to the order to leave is stored, and it is on.
fn going() -> World {
    let (mut world, leave) = leaving();
    let report = LeaveReport { how: LeaveHow::PowerOff, detail: None };
    world.answer(&leave, Outcome::Done { report: Report::Leaving(report) });
    assert_eq!(world.pass(), Some(Effect::Stored(leave.id)), "it waits for this before it goes");
    assert_eq!(world.pass(), None, "and is given the time to go");
    world
}

#[test]
fn what_may_be_in_the_drive_is_written_before_it_is_inserted() {
    let mut world = World::by_media();
    world.effect();
    let mut seen = None;
    for _ in 0..3 {
        let decision = decide(&world.seen, world.now);
        if let Some(Effect::Insert(inserted)) = decision.effect {
            seen = Some((decision.record.medium, Some(inserted)));
            break;
        }
        world.pass();
    }
    let (written, inserted) = seen.unwrap();
    assert_eq!(written, inserted);
}

#[test]
fn c196_the_host_is_off_before_its_medium_is_ejected_and_boots_only_then() {
    let mut world = going();
    world.lose();
    world.seen.power = PowerView::Known { on: false, at: world.now };
    assert_eq!(world.effect(), Effect::Eject);
    assert_eq!(world.effect(), ON);
    assert_eq!(world.state(), ProvisioningState::Provisioned);
    assert_eq!((world.record().medium, world.boot().target), (None, BootTarget::LocalDisk));
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
}

#[test]
fn c196_one_that_does_not_go_off_by_itself_is_switched_off() {
    let mut world = going();
    world.wait(LEAVE_BUDGET + LEAVE_BUDGET);
    assert_eq!(world.effect(), FORCE_OFF);
    assert_eq!(world.effect(), Effect::Eject);
    assert_eq!(world.effect(), ON);
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn an_agent_that_dies_on_its_way_out_is_switched_off_as_well() {
    let (mut world, _) = leaving();
    world.lose();
    world.wait(AGENT_GRACE);
    assert_eq!((world.effect(), world.effect(), world.effect()), (FORCE_OFF, Effect::Eject, ON));
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn a_host_whose_medium_stays_in_is_never_called_provisioned() {
    let mut world = going();
    world.seen.power = PowerView::Known { on: false, at: world.now };
    for _ in 0..12 {
        let effect = world.pass_with(|effect| (*effect == Effect::Eject).then(|| stuck("the slot is locked")));
        assert!(matches!(effect, None | Some(Effect::Eject)), "{effect:?}");
        world.wait(Duration::from_secs(600));
    }
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::PowerManagement));
    assert!(message.contains("eject the virtual cd: the slot is locked"), "{message}");
    assert_eq!(world.state(), ProvisioningState::Provisioning);
    world.seen.host.metadata.generation = Some(9);
    assert_eq!((world.effect(), world.effect()), (Effect::Eject, ON));
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn c196_a_boot_that_is_repeated_begins_with_a_host_that_is_off() {
    let mut world = available();
    let before = url(&world);
    world.lose();
    world.wait(AGENT_GRACE);
    world.pass();
    world.wait(Duration::from_secs(60));
    assert_eq!(world.effect(), FORCE_OFF);
    assert_eq!(world.effect(), Effect::Insert(url(&world)));
    assert_ne!(url(&world), before);
    assert_eq!((world.effect(), world.effect()), (cd(), ON));
}

#[test]
fn an_insertion_that_fails_has_a_reason_and_keeps_the_key_to_itself() {
    let mut world = World::by_media();
    world.effect();
    world.pass_with(|_| None);
    let answer = |effect: &Effect| matches!(effect, Effect::Insert(_)).then(|| stuck("a licence is missing"));
    for _ in 0..3 {
        world.pass_with(answer);
    }
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::PowerManagement));
    assert!(message.contains("insert a virtual cd from http://10.77.0.1:8080: a licence is missing"), "{message}");
    assert!(!message.contains("/b/"), "{message}");
    assert_eq!(world.record().boot.unwrap().step, BootStep::Insert);
}

#[test]
fn without_an_iso_there_is_a_reason_and_nothing_is_done() {
    let mut world = World::by_media();
    world.seen.boot.media_url = None;
    world.effect();
    world.pass();
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
        assert!(world.error().1.contains("give it with --iso"), "{}", world.error().1);
        world.wait(Duration::from_secs(600));
    }
    world.seen.boot.media_url = Some("http://10.77.0.1:8080/".to_owned());
    assert_eq!(world.effect(), Effect::Insert(url(&world)));
}

#[test]
fn nothing_stays_in_the_drive_of_a_host_that_is_to_be_off() {
    let mut world = available();
    world.seen.host.spec.online = false;
    assert_eq!((world.effect(), world.effect()), (FORCE_OFF, Effect::Eject));
    assert_eq!((world.pass(), world.record().medium), (None, None));
}

#[test]
fn a_host_that_was_given_up_is_off_and_its_drive_empty() {
    let mut world = World::by_media();
    world.effect();
    for _ in 0..3 {
        world.effect();
    }
    world.seen.record.as_mut().unwrap().boot.as_mut().unwrap().gave_up = Some("it loops".to_owned());
    assert_eq!((world.effect(), world.effect()), (FORCE_OFF, Effect::Eject));
    assert_eq!((world.pass(), world.record().medium), (None, None));
}

#[test]
fn deletion_takes_the_medium_out_or_goes_on_without() {
    for works in [true, false] {
        let mut world = available();
        world.seen.host.metadata.deletion_timestamp = Some(time(world.now));
        assert_eq!(world.effect(), FORCE_OFF);
        let mut ejected = 0;
        for _ in 0..20 {
            let answer = |effect: &Effect| (*effect == Effect::Eject && !works).then(|| stuck("no"));
            ejected += i32::from(world.pass_with(answer) == Some(Effect::Eject));
            world.wait(Duration::from_secs(120));
        }
        assert!(world.seen.host.finalizers().is_empty());
        assert_eq!(ejected, if works { 1 } else { MAX_POWER_OFF_ATTEMPTS });
    }
}

#[test]
fn a_medium_that_was_left_in_a_provisioned_host_is_taken_out_while_it_runs() {
    let mut world = World::provisioned();
    world.seen.record.as_mut().unwrap().medium = Some("http://10.77.0.1/b/1/boot.iso".to_owned());
    assert_eq!(world.effect(), Effect::Eject);
    assert_eq!(world.pass(), None);
}

/// The scheme was changed while a medium was in.
#[test]
fn a_boot_from_the_network_begins_with_an_empty_drive() {
    let mut world = available();
    world.seen.host.spec.bmc.as_mut().unwrap().address = "redfish://10.0.0.1".to_owned();
    world.lose();
    world.wait(AGENT_GRACE);
    world.pass();
    world.wait(Duration::from_secs(60));
    assert_eq!((world.effect(), world.effect()), (FORCE_OFF, Effect::Eject));
    assert_eq!((world.effect(), world.effect()), (Effect::SetOverride(BootOverride::once(BootDevice::Pxe)), ON));
}

/// BMO#2793: what finds the host is its BMC.
#[test]
fn c4_a_host_of_virtual_media_needs_no_boot_mac() {
    let mut world = World::by_media();
    world.seen.host.spec.boot_mac_address = None;
    assert_eq!(world.effect(), Effect::Identify);
    assert!(matches!(world.effect(), Effect::Insert(_)));
    let mut world = World::new();
    world.seen.host.spec.boot_mac_address = None;
    world.effect();
    assert_eq!(world.pass(), None);
    assert!(world.error().1.contains("bootMACAddress"), "{}", world.error().1);
}

#[test]
fn a_medium_is_believed_if_the_bmc_verified_where_it_comes_from() {
    for (verified, trust) in [(true, BootTrust::Media), (false, BootTrust::Plain)] {
        let mut world = World::by_media();
        world.effect();
        let answer = |effect: &Effect| matches!(effect, Effect::Insert(_)).then_some(Answer::Inserted { verified });
        for _ in 0..3 {
            world.pass_with(answer);
        }
        assert_eq!(world.record().boot.unwrap().trust, Some(trust));
    }
    assert_eq!(World::in_ramdisk().record().boot.unwrap().trust, Some(BootTrust::Plain), "the network is not");
}
