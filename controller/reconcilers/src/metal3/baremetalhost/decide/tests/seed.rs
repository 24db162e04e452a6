//! What the installed system finds, and who carries it out.

use bessemer_api::well_known::BOOTSTRAP_DELIVERY_ANNOTATION;
use bessemer_protocol::{BootstrapDelivery, Seed, Work};
use serde_json::json;

use super::super::super::budgets::MISSING_SECRET_POLL;
use super::super::super::seed_data::{SeedData, UserData};
use super::super::*;
use super::world::World;

fn user(format: &str) -> SeedData {
    let data = UserData { format: format.to_owned(), text: "#cloud-config\n# hunter2\n".to_owned() };
    SeedData { user_data: Some(data), ..SeedData::default() }
}

fn seed(world: &mut World) -> Seed {
    match world.sent().work {
        Work::Deploy(order) => order.seed,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_runner_and_it_is_told_before_anything_is_written() {
    use BootstrapDelivery::{Agent, CloudInit};
    for (annotation, claimed, format, wanted) in [
        (None, true, "cloud-config", Ok(Agent)),
        (None, true, "ignition", Ok(CloudInit)),
        (None, false, "cloud-config", Ok(CloudInit)),
        (Some("agent"), true, "cloud-config", Ok(Agent)),
        (Some("cloud-init"), true, "cloud-config", Ok(CloudInit)),
        (
            Some("agent"),
            true,
            "ignition",
            Err("the bootstrap data is ignition, and the agent carries out only cloud-config"),
        ),
        (Some("agent"), false, "cloud-config", Err("no Metal3Machine has claimed the host")),
        (Some("cloudinit"), true, "cloud-config", Err("is \"cloudinit\"; it may be agent or cloud-init")),
    ] {
        let mut world = World::available();
        world.claim();
        if !claimed {
            world.seen.host.spec.consumer_ref = None;
        }
        world.seen.seed_data = Ok(user(format));
        if let Some(value) = annotation {
            world.seen.host.annotations_mut().insert(BOOTSTRAP_DELIVERY_ANNOTATION.to_owned(), value.to_owned());
        }
        match wanted {
            Ok(delivery) => {
                let seed = seed(&mut world);
                assert_eq!(seed.delivery, delivery, "{annotation:?} {claimed} {format}");
                assert_eq!(seed.user_data.is_some(), delivery == CloudInit, "never both");
            }
            Err(why) => {
                for _ in 0..5 {
                    assert_eq!(world.pass(), None, "{annotation:?} {claimed} {format}");
                }
                assert_eq!(world.error().0, Some(ErrorType::Provisioning));
                assert!(world.error().1.contains(why), "{}", world.error().1);
                assert!(!world.error().1.contains("hunter2"));
            }
        }
    }
}

#[test]
fn metadata_is_metal3s_with_the_secret_over_it() {
    let mut world = World::available();
    world.claim();
    world.seen.host.metadata.uid = Some("9d0b-uid".to_owned());
    let given = json!({ "rack": "r7", "name": "worker-7", "local-hostname": "worker-7" });
    world.seen.seed_data = Ok(SeedData {
        meta_data: given.as_object().unwrap().clone(),
        network_data: Some(r#"{"links":[]}"#.to_owned()),
        ..SeedData::default()
    });
    let seed = seed(&mut world);
    let wanted = json!({
        "uuid": "9d0b-uid",
        "metal3-namespace": "metal",
        "metal3-name": "r7-u12",
        "local_hostname": "r7-u12",
        "local-hostname": "worker-7",
        "name": "worker-7",
        "rack": "r7",
    });
    assert_eq!(serde_json::Value::Object(seed.meta_data), wanted);
    assert_eq!((seed.hostname.as_str(), seed.instance_id.as_str()), ("worker-7", "metal/cp-abcde"));
    assert_eq!(seed.network_data.as_deref(), Some(r#"{"links":[]}"#));
}

#[test]
fn a_missing_secret_is_named_and_waited_for_without_counting() {
    let mut world = World::available();
    world.claim();
    let why = "secret metal/first-cp, which is to hold its userData, does not exist: create it";
    world.seen.seed_data = Err(why.to_owned());
    for _ in 0..5 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(world.error(), (Some(ErrorType::Provisioning), why.to_owned()));
    assert_eq!(world.seen.status().error_count, 0);
    assert_eq!(decide(&world.seen, world.now).wake, Some(MISSING_SECRET_POLL));
    world.seen.seed_data = Ok(user("cloud-config"));
    seed(&mut world);
    assert_eq!(world.error(), (None, String::new()));
}

#[test]
fn a_secret_that_changes_or_goes_after_the_disk_was_written_changes_nothing() {
    for later in [Ok(user("ignition")), Err("secret metal/first-cp does not exist: create it".to_owned())] {
        let (mut world, deploy) = World::deploying();
        world.answer(&deploy, super::world::deployed());
        world.effect();
        world.effect();
        world.seen.seed_data = later;
        assert!(matches!(world.sent().work, Work::Leave { .. }), "it is not written again");
    }
}
