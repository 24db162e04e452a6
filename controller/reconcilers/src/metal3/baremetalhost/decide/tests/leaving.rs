//! How a host leaves the ramdisk for its disk: by itself, or made to.

use bessemer_bmc::PowerAction;
use bessemer_protocol::{Failure, FailureCode, LeaveHow, LeaveReport, Outcome, Report, Role};

use super::super::super::budgets::{AGENT_GRACE, DEADLINE_SLACK, LEAVE_BUDGET};
use super::super::super::effect::{Answer, BmcFailure, Effect};
use super::super::super::observed::PowerView;
use super::super::*;
use super::world::World;
use crate::outside::AgentView;

fn dead() -> BmcFailure {
    BmcFailure { message: "unreachable".to_owned(), transient: true, refused: false }
}

fn outcome(world: &World) -> Outcome {
    serde_json::from_value(world.record().work.unwrap().outcome.unwrap()).unwrap()
}

#[test]
fn what_the_agent_answered_is_kept() {
    let world = World::provisioned();
    assert_eq!(
        outcome(&world),
        Outcome::Done { report: Report::Leaving(LeaveReport { how: LeaveHow::Reboot, detail: None }) }
    );
}

#[test]
fn a_broken_stream_is_given_time_before_it_counts_as_having_left() {
    let (mut world, leave) = World::leaving();
    world.lose();
    assert_eq!(world.pass(), None);
    assert_eq!(world.state(), ProvisioningState::Provisioning);
    assert_eq!(decide(&world.seen, world.now).wake, Some(AGENT_GRACE));
    world.connect();
    assert_eq!(world.sent().id, leave.id, "back, and it does not know the item");
    world.lose();
    world.wait(AGENT_GRACE);
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn the_installed_system_has_left() {
    let (mut world, _) = World::leaving();
    world.seen.agent = AgentView { connected: true, role: Some(Role::Node), ..AgentView::default() };
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn a_refusal_is_no_leaving() {
    let (mut world, leave) = World::leaving();
    let message = "its deadline is over".to_owned();
    world.answer(&leave, Outcome::Failed(Failure { code: FailureCode::Internal, message }));
    assert_eq!(world.pass(), Some(Effect::Stored(leave.id)));
    assert_eq!(world.state(), ProvisioningState::Provisioning);
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioned);
    assert!(matches!(outcome(&world), Outcome::Failed(_)));
}

#[test]
fn a_refusal_whose_agent_is_gone_again_is_no_leaving_either() {
    let (mut world, leave) = World::leaving();
    let message = "its deadline is over".to_owned();
    world.answer(&leave, Outcome::Failed(Failure { code: FailureCode::Internal, message }));
    world.lose();
    world.wait(AGENT_GRACE);
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioning);
    world.wait(3 * LEAVE_BUDGET);
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
}

#[test]
fn a_stuck_agent_is_reset_and_nothing_is_over_before_that_worked() {
    let (mut world, _) = World::leaving();
    world.wait(LEAVE_BUDGET + DEADLINE_SLACK);
    world.seen.power = PowerView::Unknown;
    for _ in 0..3 {
        assert_eq!(world.pass(), None, "on or off: nobody knows what to send");
    }
    world.seen.power = PowerView::Known { on: true, at: world.now };
    for attempt in 1..10 {
        let reset = world.pass_with(|_| Some(Answer::Failed(dead())));
        assert_eq!(reset, Some(Effect::Power(PowerAction::Reset)), "attempt {attempt}");
        assert_eq!(world.pass(), None, "not at once again");
        assert_eq!(world.state(), ProvisioningState::Provisioning);
        assert_eq!(world.error().0, Some(ErrorType::PowerManagement));
        world.wait(Duration::from_secs(600));
    }
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioned);
    assert_eq!(world.error().0, None);
}

#[test]
fn a_new_controller_does_not_reset_a_host_that_it_has_not_heard_yet() {
    let (mut world, _) = World::leaving();
    world.wait(3 * LEAVE_BUDGET);
    world.seen.agent = AgentView::default();
    world.seen.started = world.now;
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(decide(&world.seen, world.now).wake, Some(AGENT_GRACE));
    world.wait(AGENT_GRACE);
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
}

#[test]
fn an_image_edited_meanwhile_is_not_taken_for_the_one_on_the_disk() {
    let (mut world, leave) = World::leaving();
    world.seen.host.spec.image.as_mut().unwrap().url = "http://10.77.0.1:8080/images/other.raw".to_owned();
    world
        .answer(&leave, Outcome::Done { report: Report::Leaving(LeaveReport { how: LeaveHow::Reboot, detail: None }) });
    world.pass();
    assert_eq!(world.seen.status().provisioning.image, Some(super::world::image()));
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Deprovisioning, "it is told apart, not left as it is");
}
