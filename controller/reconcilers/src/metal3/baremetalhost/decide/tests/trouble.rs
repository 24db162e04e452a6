//! BMCs that do not listen, systems that do not stop, writes that were lost, and hosts that look alike.

use bessemer_api::bessemer::{BootStep, BootTarget};
use bessemer_bmc::PowerAction;
use bessemer_protocol::NetworkConfig;
use serde_json::json;

use super::super::super::budgets::{DEADLINE_SLACK, DEPLOY_BUDGET, SOFT_OFF_BUDGET};
use super::super::super::effect::{Answer, BmcFailure, Effect};
use super::super::super::observed::PowerView;
use super::super::*;
use super::world::World;

fn failure(transient: bool) -> BmcFailure {
    BmcFailure { message: "no answer".to_owned(), transient, refused: false }
}

#[test]
fn a_system_is_asked_once_to_shut_down_and_then_cut_off() {
    for answer in [Answer::Done, Answer::Failed(failure(false))] {
        let mut world = World::provisioned();
        world.seen.host.spec.online = false;
        let on = PowerView::Known { on: true, at: world.now };
        world.seen.power = on.clone();
        let asked = world.pass_with(|_| Some(answer.clone()));
        assert_eq!(asked, Some(Effect::Power(PowerAction::GracefulOff)), "{answer:?}");
        for _ in 0..3 {
            world.seen.power = on.clone();
            assert_eq!(world.pass(), None, "it is still at it");
            assert!(decide(&world.seen, world.now).wake.is_some_and(|wake| !wake.is_zero()));
        }
        world.wait(SOFT_OFF_BUDGET);
        assert_eq!(world.pass(), Some(Effect::Power(PowerAction::ForceOff)));
        assert_eq!(world.pass(), None);
        assert_eq!(world.record().soft_off, None);
    }
}

#[test]
fn a_detached_host_is_let_go_as_it_is() {
    let mut world = World::provisioned();
    world.seen.host.annotations_mut().insert(HOST_DETACHED_ANNOTATION.to_owned(), String::new());
    world.seen.host.metadata.deletion_timestamp = Some(time(world.now));
    assert!(matches!(world.pass(), Some(Effect::LetGo { .. })));
}

#[test]
fn of_two_hosts_with_one_mac_none_is_registered() {
    let mut world = World::new();
    world.seen.mac_twin = Some("metal/r7-u13".to_owned());
    world.effect();
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(world.state(), ProvisioningState::Registering);
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Registration));
    assert!(message.contains("52:54:00:00:00:01") && message.contains("metal/r7-u13"), "{message}");
    world.seen.mac_twin = None;
    assert!(matches!(world.effect(), Effect::SetOverride(_)));
    assert_eq!(world.error().0, None);
}

#[test]
fn of_two_hosts_with_one_server_none_is_touched() {
    let mut world = World::by_media();
    world.seen.bmc_twin = Some("metal/r7-u13".to_owned());
    assert_eq!(world.effect(), Effect::Identify);
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Registration));
    assert!(message.contains("redfish-virtualmedia://10.0.0.1") && message.contains("metal/r7-u13"), "{message}");
    world.seen.bmc_twin = None;
    world.effect();
    assert_eq!(world.error().0, None);
}

#[test]
fn an_outage_of_the_bmc_at_power_on_ends_by_itself() {
    let mut world = World::new();
    world.effect();
    world.effect();
    for _ in 0..20 {
        world.seen.power = PowerView::Failed(failure(true));
        assert_eq!(world.pass(), None);
        assert_eq!(world.error().0, Some(ErrorType::PowerManagement));
        world.wait(Duration::from_secs(600));
    }
    world.seen.power = PowerView::Known { on: false, at: world.now };
    assert_eq!(world.effect(), Effect::Power(PowerAction::On));
}

#[test]
fn a_host_that_cannot_even_be_switched_off_is_not_asked_in_a_loop() {
    let (mut world, _) = World::deploying();
    world.seen.record.as_mut().unwrap().retry = Some(bessemer_api::bessemer::RetryRecord {
        not_before: None,
        failures: 5,
        generation: 2,
        kind: None,
        message: String::new(),
    });
    world.seen.record.as_mut().unwrap().boot.as_mut().unwrap().target = bessemer_api::bessemer::BootTarget::PowerOff;
    world.lose();
    let off = |world: &mut World| world.pass_with(|_| Some(Answer::Failed(failure(false))));
    assert_eq!(off(&mut world), Some(Effect::Power(PowerAction::ForceOff)));
    let before = world.record();
    assert_eq!(off(&mut world), Some(Effect::Power(PowerAction::ForceOff)));
    assert_eq!(world.record(), before, "nothing changes, so nothing wakes it");
    assert!(decide(&world.seen, world.now).wake.is_some_and(|wake| !wake.is_zero()));
}

#[test]
fn a_failure_after_an_edit_counts_though_the_host_was_given_up_before() {
    let mut world = World::available();
    world.seen.host.spec.online = false;
    world.seen.host.metadata.generation = Some(4);
    world.seen.record.as_mut().unwrap().retry = Some(bessemer_api::bessemer::RetryRecord {
        not_before: None,
        failures: 5,
        generation: 3,
        kind: None,
        message: String::new(),
    });
    assert!(decide(&world.seen, world.now).wake.is_some());
    let off = world.pass_with(|_| Some(Answer::Failed(failure(true))));
    assert_eq!(off, Some(Effect::Power(PowerAction::ForceOff)));
    let retry = world.record().retry.unwrap();
    assert!(retry.not_before.is_some() && retry.generation == 4 && retry.failures == 1);
    assert_eq!(world.error().0, Some(ErrorType::PowerManagement));
}

#[test]
fn an_item_that_never_arrives_is_given_up() {
    let (mut world, item) = World::deploying();
    world.seen.agent.items.clear();
    assert_eq!(world.sent().id, item.id);
    world.seen.agent.items.clear();
    world.wait(DEPLOY_BUDGET + DEADLINE_SLACK);
    assert_eq!(world.pass(), None);
    assert!(world.error().1.contains("did not finish by"), "{}", world.error().1);
}

#[test]
fn a_failure_whose_status_was_lost_is_shown_by_the_next_pass() {
    let mut world = World::new();
    world.effect();
    world.effect();
    world.seen.power = PowerView::Failed(failure(true));
    let before = world.seen.host.clone();
    world.pass();
    let shown = world.error();
    assert_eq!(shown.0, Some(ErrorType::PowerManagement));
    world.seen.host = before;
    world.pass();
    assert_eq!(world.error(), shown);
}

#[test]
fn a_boot_loop_ends_in_power_off_with_the_reason() {
    let mut world = World::new();
    while world.record().boot.is_none_or(|boot| boot.step != BootStep::Waiting) {
        world.effect();
    }
    let record = world.seen.record.as_mut().unwrap();
    record.boot.as_mut().unwrap().gave_up = Some("its firmware asked 6 times for the ramdisk".to_owned());
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
    assert_eq!(world.boot().target, BootTarget::PowerOff, "its disk must not boot either");
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Inspection));
    assert!(message.contains("boots in a loop: its firmware asked 6 times for the ramdisk"), "{message}");
    for _ in 0..5 {
        world.wait(DEPLOY_BUDGET);
        assert_eq!(world.pass(), None, "it stays off until somebody edits the host");
    }
    world.seen.host.metadata.generation = Some(7);
    assert!(matches!(world.effect(), Effect::SetOverride(_)));
}

#[test]
fn a_boot_keeps_the_network_that_it_was_made_with() {
    let config = |address: &str| {
        let link = json!({"id": "a", "type": "physical", "mac": "52:54:00:00:00:01",
            "addresses": [{"from": "static", "address": address, "prefix": 24}]});
        serde_json::from_value::<NetworkConfig>(json!({ "links": [link] })).unwrap()
    };
    let network = |world: &World| {
        let stored = world.record().boot.unwrap().network.unwrap();
        serde_json::from_value::<NetworkConfig>(stored).unwrap()
    };
    let mut world = World::new();
    let why = "spec.preprovisioningNetworkDataName: secret metal/net, which is to hold its networkData, does not exist";
    world.seen.ramdisk_network = Err(why.to_owned());
    world.effect();
    for _ in 0..3 {
        assert_eq!(world.pass(), None, "a ramdisk without its network is never heard of");
    }
    assert_eq!(world.error(), (Some(ErrorType::Inspection), why.to_owned()));
    assert_eq!(world.record().boot, None);
    world.seen.ramdisk_network = Ok(Some(config("192.0.2.7")));
    assert!(matches!(world.effect(), Effect::SetOverride(_)));
    assert_eq!(world.error().0, None);
    assert_eq!(network(&world), config("192.0.2.7"));
    let boot = world.boot().id;
    for changed in [Ok(Some(config("192.0.2.8"))), Err("secret metal/net is gone".to_owned()), Ok(None)] {
        world.seen.ramdisk_network = changed;
        world.pass();
        assert_eq!((world.boot().id, network(&world)), (boot, config("192.0.2.7")), "the same bytes to the end");
    }
    assert_eq!(world.error().0, None);
}
