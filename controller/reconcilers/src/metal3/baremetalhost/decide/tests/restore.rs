//! Hosts that come with a status in Metal3's annotation.

use bessemer_api::well_known::HOST_STATUS_ANNOTATION;
use kube::ResourceExt;

use super::super::*;
use super::world::World;

fn with(text: &str) -> World {
    let mut world = World::new();
    world.seen.host.annotations_mut().insert(HOST_STATUS_ANNOTATION.to_owned(), text.to_owned());
    world
}

fn is_there(world: &World) -> bool {
    world.seen.host.annotations().contains_key(HOST_STATUS_ANNOTATION)
}

#[test]
fn a_moved_host_is_what_it_was() {
    let before = World::provisioned();
    let mut status = before.seen.host.status.clone().unwrap();
    status.good_credentials = Default::default();
    let mut world = with(&serde_json::to_string(&status).unwrap());
    world.seen.host.spec = before.seen.host.spec.clone();
    assert_eq!(world.pass(), None);
    assert!(world.state() == ProvisioningState::Provisioned && is_there(&world), "the status is safe first");
    assert_eq!(world.pass(), None);
    assert!(!is_there(&world));
    // Its BMC is tried, and it stays provisioned.
    for _ in 0..10 {
        let effect = world.pass();
        assert!(!matches!(effect, Some(Effect::SetOverride(_) | Effect::Send(_) | Effect::Insert(_))), "{effect:?}");
        assert_eq!(world.state(), ProvisioningState::Provisioned);
    }
}

#[test]
fn what_is_no_status_holds_a_new_host() {
    for (text, why) in [("{\"provisioning\": 7}", "invalid type"), ("{\"provisionin\":{}}", "no provisioning.state")] {
        let mut world = with(text);
        for _ in 0..3 {
            assert_eq!(world.pass(), None);
        }
        assert!(world.state() == ProvisioningState::Registering && is_there(&world));
        let said = world.seen.host.status.clone().unwrap().error_message;
        assert!(said.contains(HOST_STATUS_ANNOTATION) && said.contains(why), "{said}");
        is_mended(world);
    }
}

fn is_mended(mut world: World) {
    let kept = r#"{"operationalStatus":"OK","provisioning":{"state":"provisioned","ID":"x"}}"#;
    world.seen.host.annotations_mut().insert(HOST_STATUS_ANNOTATION.to_owned(), kept.to_owned());
    world.pass();
    assert_eq!(world.state(), ProvisioningState::Provisioned);
}

#[test]
fn a_host_with_a_status_of_its_own_keeps_that() {
    let mut world = World::provisioned();
    world.seen.host.annotations_mut().insert(HOST_STATUS_ANNOTATION.to_owned(), "{}".to_owned());
    world.pass();
    assert!(world.state() == ProvisioningState::Provisioned && !is_there(&world));
}
