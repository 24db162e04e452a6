//! What a boot that anybody could have changed may not have.

use bessemer_api::bessemer::BootTrust;
use bessemer_api::conditions::get;
use bessemer_protocol::Work;

use super::super::super::effect::{Answer, Effect};
use super::super::*;
use super::world::World;

fn condition(world: &World) -> (String, String, String) {
    let status = world.seen.status();
    let found = get(&status.conditions, "BootTransportTrusted").unwrap();
    (found.status.clone(), found.reason.clone(), found.message.clone())
}

/// Available on a site that wants trust, its medium verified or not.
fn available(verified: bool) -> World {
    let mut world = World::by_media();
    world.seen.boot.require_trusted_boot = true;
    let answer = |effect: &Effect| matches!(effect, Effect::Insert(_)).then_some(Answer::Inserted { verified });
    for _ in 0..6 {
        world.pass_with(answer);
    }
    world.connect();
    world.get_ready();
    world
}

#[test]
fn the_condition_says_how_a_host_was_booted() {
    let mut world = World::new();
    world.effect();
    let status = world.seen.status();
    assert!(get(&status.conditions, "BootTransportTrusted").is_none(), "nothing was booted");
    let world = World::available();
    let (status, reason, message) = condition(&world);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Plain"));
    assert!(message.ends_with("changed what it booted"), "{message}");
    let (status, reason, _) = condition(&available(true));
    assert_eq!((status.as_str(), reason.as_str()), ("True", "VerifiedMedia"));
    let (_, _, message) = condition(&available(false));
    assert!(message.ends_with("withheld from it"), "{message}");
    assert_eq!(condition(&World::provisioned()).1, "Plain", "also of the system that it installed");
}

#[test]
fn nothing_is_installed_for_a_consumer_by_a_plain_boot_where_trust_is_required() {
    let mut world = available(false);
    world.claim();
    for _ in 0..5 {
        assert_eq!(world.pass(), None, "nothing is sent");
    }
    let (kind, message) = world.error();
    assert_eq!(kind, Some(ErrorType::Provisioning));
    assert!(message.contains("--require-trusted-boot"), "{message}");
    let mut world = available(true);
    assert_eq!(world.record().boot.unwrap().trust, Some(BootTrust::Media));
    world.claim();
    assert!(matches!(world.sent().work, Work::Deploy(_)));
}

#[test]
fn a_host_without_a_consumer_has_no_secrets_to_withhold() {
    let mut world = available(false);
    world.claim();
    world.seen.host.spec.consumer_ref = None;
    assert!(matches!(world.sent().work, Work::Deploy(_)));
}
