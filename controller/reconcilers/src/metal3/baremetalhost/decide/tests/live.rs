//! Hosts whose system is a live ISO.

use bessemer_api::bessemer::BootTarget;
use bessemer_api::conditions::get;
use bessemer_api::metal3::{DiskFormat, Image};
use bessemer_bmc::{BootDevice, BootLifetime, BootOverride, PowerAction};
use bessemer_protocol::Work;

use super::super::super::effect::Effect;
use super::super::super::observed::PowerView;
use super::super::*;
use super::world::World;

const URL: &str = "http://10.77.0.9/live.iso";

fn always(device: BootDevice) -> Effect {
    Effect::SetOverride(BootOverride { lifetime: BootLifetime::Persistent, ..BootOverride::once(device) })
}

fn claim(world: &mut World) {
    world.claim();
    let live = Image { url: URL.to_owned(), format: Some(DiskFormat::LiveIso), ..Image::default() };
    world.seen.host.spec.image = Some(live);
}

fn by_media() -> World {
    let mut world = World::by_media();
    for _ in 0..4 {
        world.effect();
    }
    world.connect();
    world.get_ready();
    claim(&mut world);
    world
}

fn provisioned(mut world: World) -> World {
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
    assert_eq!(world.state(), ProvisioningState::Provisioned);
    let status = world.seen.status();
    assert_eq!(status.provisioning.image.map(|image| image.url).as_deref(), Some(URL));
    assert_eq!(get(&status.conditions, "Provisioned").unwrap().status, "True");
    assert_eq!(world.boot().target, BootTarget::LiveIso);
    assert_eq!(world.record().boot.unwrap().live.as_deref(), Some(URL));
    world
}

fn from_the_network() -> World {
    let mut world = World::available();
    claim(&mut world);
    assert_eq!(world.effect(), always(BootDevice::Pxe));
    assert_eq!(world.effect(), Effect::Power(PowerAction::Reset));
    provisioned(world)
}

#[test]
fn without_virtual_media_it_is_started_from_the_network() {
    let world = from_the_network();
    let story = world.record().story.last().unwrap().clone();
    assert_eq!(
        (story.event.as_str(), story.detail.as_str()),
        ("provisioned", "started from a live ISO by the network")
    );
    assert!(world.record().work.unwrap().outcome.is_some(), "the agent has nothing more to do");
}

#[test]
fn with_virtual_media_it_is_shown_the_iso_once_the_ramdisks_is_out() {
    let mut world = by_media();
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
    assert_eq!(world.effect(), Effect::Insert(URL.to_owned()));
    assert_eq!(world.effect(), always(BootDevice::Cd));
    assert_eq!(world.effect(), Effect::Power(PowerAction::On));
    let world = provisioned(world);
    assert_eq!(world.record().medium.as_deref(), Some(URL), "and it stays in");
}

#[test]
fn each_power_on_is_a_boot_of_the_iso() {
    let mut world = from_the_network();
    world.seen.power = PowerView::Known { on: false, at: world.now };
    assert_eq!(world.effect(), always(BootDevice::Pxe));
    assert_eq!(world.effect(), Effect::Power(PowerAction::On));
    let mut world = provisioned(world);
    world.seen.host.spec.online = false;
    assert_eq!(world.effect(), Effect::Power(PowerAction::GracefulOff));
    for _ in 0..3 {
        assert_eq!(world.pass(), None);
    }
}

#[test]
fn a_lost_record_restarts_nothing() {
    let mut world = from_the_network();
    world.seen.record = None;
    provisioned(world);
}

#[test]
fn a_released_live_host_is_erased_in_the_ramdisk_like_any_other() {
    let mut world = by_media();
    for _ in 0..4 {
        world.effect();
    }
    let mut world = provisioned(world);
    world.seen.host.spec.image = None;
    world.seen.host.spec.consumer_ref = None;
    assert_eq!(world.effect(), Effect::Power(PowerAction::ForceOff));
    assert!(matches!(world.effect(), Effect::Insert(url) if url != URL));
    assert_eq!(world.effect(), Effect::SetOverride(BootOverride::once(BootDevice::Cd)));
    assert_eq!(world.effect(), Effect::Power(PowerAction::On));
    world.connect();
    assert!(matches!(world.sent().work, Work::Erase(_)));
}

#[test]
fn an_iso_that_cannot_be_booted_is_refused_before_anything_happens() {
    for (url, why) in [
        ("oci://registry/live".to_owned(), "only http:// and https://"),
        (format!("http://x/{}", "a".repeat(3000)), "3009 bytes"),
    ] {
        let mut world = World::available();
        claim(&mut world);
        world.seen.host.spec.image.as_mut().unwrap().url = url;
        for _ in 0..5 {
            assert_eq!(world.pass(), None);
        }
        let (kind, message) = world.error();
        assert_eq!(kind, Some(ErrorType::Provisioning));
        assert!(message.contains(why), "{message}");
    }
}
