//! Which disk is written, and that nothing is sent when none may be.

use bessemer_api::metal3::RootDeviceHints;
use bessemer_protocol::{Disk, EraseMode, HardwareDetails, Work};

use super::super::super::effect::Effect;
use super::super::disks::{KEEP_ANNOTATION, erase, to_write};
use super::super::*;
use super::world::{World, found};

fn serial(serial: &str) -> RootDeviceHints {
    RootDeviceHints { serial_number: Some(serial.to_owned()), ..RootDeviceHints::default() }
}

#[test]
fn the_order_names_the_disk_that_the_hints_choose_of_the_inspection() {
    let by_path = "/dev/disk/by-path/pci-0000:00:1f.2-ata-2";
    for (hints, keep, wanted) in [
        (None, None, Ok(("A", vec![]))),
        (Some(serial("B")), None, Ok(("B", vec![]))),
        (Some(RootDeviceHints { min_size_gigabytes: Some(9), ..Default::default() }), None, Ok(("B", vec![]))),
        (
            Some(RootDeviceHints { device_name: Some("/dev/sdb".to_owned()), ..Default::default() }),
            None,
            Ok(("B", vec![])),
        ),
        (
            Some(RootDeviceHints { device_name: Some(by_path.to_owned()), ..Default::default() }),
            None,
            Ok(("B", vec![])),
        ),
        (
            Some(serial("C")),
            None,
            Err(
                "no disk satisfies the root device hints {\"serialNumber\":\"C\"}; this host has /dev/disk/by-path/pci-0000:00:1f.2-ata-1 (8589934592 bytes: serialNumber is \"A\")",
            ),
        ),
        (None, Some(r#"[{"serialNumber": "B"}]"#), Ok(("A", vec!["B"]))),
        (None, Some(r#"[{"serialNumber": "A"}]"#), Err("which is to be kept")),
        (None, Some(r#"[{"serialNumber": "Bee"}]"#), Err("no disk is the one to be kept ({\"serialNumber\":\"Bee\"}")),
    ] {
        let mut world = World::available();
        world.claim();
        world.seen.host.spec.root_device_hints = hints.clone();
        if let Some(keep) = keep {
            world.seen.host.annotations_mut().insert(KEEP_ANNOTATION.to_owned(), keep.to_owned());
        }
        match wanted {
            Ok((disk, kept)) => {
                let Work::Deploy(order) = world.sent().work else { panic!("no deployment") };
                assert_eq!(order.disk.unwrap().serial_number, disk, "{hints:?}");
                let keep: Vec<&str> = order.keep.iter().map(|disk| disk.serial_number.as_str()).collect();
                assert_eq!(keep, kept, "{hints:?}");
            }
            Err(why) => {
                for _ in 0..5 {
                    assert_eq!(world.pass(), None, "{hints:?}");
                }
                assert_eq!(world.error().0, Some(ErrorType::Provisioning));
                assert!(world.error().1.contains(why), "{hints:?}: {}", world.error().1);
            }
        }
    }
}

#[test]
fn a_host_without_an_inspection_is_inspected_before_it_is_written() {
    let mut world = World::available();
    world.seen.host.status.as_mut().unwrap().hardware = None;
    world.claim();
    let inspect = world.sent();
    assert_eq!(inspect.work, Work::Inspect);
    world.answer(&inspect, found(&["Z"]));
    assert_eq!(world.effect(), Effect::Stored(inspect.id));
    let Work::Deploy(order) = world.sent().work else { panic!("no deployment") };
    assert_eq!(order.disk.unwrap().serial_number, "Z");
}

#[test]
fn a_disk_is_known_again_through_the_words_of_the_host() {
    let by_path = || vec!["/dev/disk/by-path/virtio-pci-0000:00:04.0".to_owned()];
    let bare = |name: &str| Disk { name: name.to_owned(), size_bytes: 8 << 30, ..Disk::default() };
    for found in [
        bare("/dev/vda"),
        Disk { alternate_names: by_path(), ..bare("/dev/vda") },
        Disk { serial_number: "S1".to_owned(), alternate_names: by_path(), ..bare("/dev/sda") },
        Disk { wwn: "0x50".to_owned(), wwn_with_extension: "0x5070".to_owned(), ..bare("/dev/sda") },
        Disk { serial_number: "S1".to_owned(), wwn: "eui.1".to_owned(), ..bare("/dev/nvme0n1") },
    ] {
        let hardware = HardwareDetails { storage: vec![found.clone()], ..HardwareDetails::default() };
        let mut host = BareMetalHost::new("r7-u12", Default::default());
        host.status.get_or_insert_default().hardware = Some(super::super::notice::hardware(&hardware));
        let (root, _) = to_write(&host, &bessemer_protocol::RootDeviceHints::default()).unwrap();
        assert!(root.is(&found), "{root} is not {found:?}");
        let order = erase(&host, EraseMode::Metadata).unwrap();
        assert!(order.disks[0].is(&found), "{found:?}");
    }
}
