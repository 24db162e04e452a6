//! Against trees as the kernel shows them, and against what `lsblk` and `lshw` said of real machines.

use serde_json::Value;

use super::super::fixture::{Sys, data};
use super::*;

const SECTORS: (&str, &str) = ("size", "41943040\n");

fn named<'a>(found: &'a [FoundDisk], name: &str) -> &'a FoundDisk {
    found.iter().find(|disk| disk.inventory.name == format!("/dev/{name}")).unwrap_or_else(|| panic!("no {name}"))
}

fn paths(disk: &Disk, folder: &str) -> Vec<String> {
    let prefix = format!("/dev/disk/{folder}/");
    disk.alternate_names.iter().filter_map(|name| name.strip_prefix(&prefix).map(str::to_owned)).collect()
}

#[test]
fn c182_only_fixed_disks_may_be_written() {
    let sys = Sys::new();
    let pci = "pci0000:00/0000:00:1f.2";
    let usb = |port: &str, host: u8| {
        format!("pci0000:00/0000:00:14.0/usb1/1-{port}/1-{port}:1.0/host{host}/target{host}:0:0/{host}:0:0:0")
    };
    sys.disk("vda", "pci0000:00/0000:00:04.0/virtio1", &[SECTORS, ("serial", "disk0")]);
    sys.disk("vdb", "pci0000:00/0000:00:05.0/virtio2", &[("size", "0\n")]);
    sys.disk("sda", &format!("{pci}/ata1/host0/target0:0:0/0:0:0:0"), &[SECTORS, ("ro", "1\n")]);
    sys.disk("sdb", &format!("{pci}/ata2/host1/target1:0:0/1:0:0:0"), &[SECTORS, ("sdb1/holders/md0/x", "")]);
    sys.disk(
        "sdc",
        &format!("{pci}/ata3/host2/target2:0:0/2:0:0:0"),
        &[SECTORS, ("holders/dm-0/dm/uuid", "mpath-36\n")],
    );
    sys.disk("sdd", &usb("1", 3), &[SECTORS, ("device/vendor", "AMI     "), ("device/model", "Virtual HDisk0  ")]);
    sys.disk("sde", &usb("2", 4), &[SECTORS, ("device/vendor", "iDRAC   "), ("device/model", "SECUPD")]);
    sys.disk("sdf", &usb("3", 5), &[SECTORS, ("device/vendor", "Kingston"), ("removable", "1\n")]);
    sys.disk("sdg", &usb("4", 6), &[SECTORS, ("device/vendor", "Samsung"), ("device/model", "Portable SSD T5")]);
    sys.disk("sr0", &format!("{pci}/ata4/host7/target7:0:0/7:0:0:0"), &[SECTORS, ("removable", "1\n")]);
    sys.disk("fd0", "platform/floppy.0", &[("size", "2880\n"), ("removable", "1\n")]);
    sys.disk("nvme0c0n1", "pci0000:00/0000:00:06.0/nvme/nvme0", &[SECTORS, ("hidden", "1\n")]);
    for virtual_one in ["loop0", "ram0", "zram0", "dm-0", "md0"] {
        sys.file(&format!("block/{virtual_one}/size"), "41943040\n");
    }
    let found = list_with(sys.path(), "/dev/vda1 /mnt ext4 rw 0 0\n");
    let said: Vec<String> = found
        .iter()
        .map(|disk| {
            let why = disk.objection.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("{} {why}", disk.inventory.name.trim_start_matches("/dev/")).trim().to_owned()
        })
        .collect();
    assert_eq!(
        said,
        [
            "fd0 a floppy drive",
            "sda read-only",
            "sdb in use by md0",
            "sdc a member of the multipath device dm-0",
            "sdd virtual media of the management controller",
            "sde virtual media of the management controller",
            "sdf removable",
            "sdg",
            "sr0 an optical drive",
            "vda mounted or swapped to",
            "vdb empty: its size is zero",
        ]
    );
    let free = list_with(sys.path(), "/dev/vdaa1 /mnt ext4 rw 0 0\n/dev/sdg2 partition 1 0 -2\n");
    assert_eq!(named(&free, "vda").objection, None, "vdaa is another disk");
    assert_eq!(named(&free, "sdg").objection, Some(Objection::Mounted), "swap is use");
}

#[test]
fn names_are_those_that_udev_would_link() {
    let sys = Sys::new();
    let ata = "pci0000:00/0000:00:1f.2/ata3/host2";
    sys.file(&format!("devices/{ata}/../ata_port/ata3/port_no"), "1\n");
    sys.disk(
        "sda",
        &format!("{ata}/target2:0:0/2:0:0:0"),
        &[
            SECTORS,
            ("device/wwid", "naa.5002538e40a1b2c3\n"),
            ("device/model", "Samsung SSD 860 "),
            ("serial", "S3Z1NB0K"),
        ],
    );
    sys.disk("vda", "pci0000:00/0000:00:04.0/virtio1", &[SECTORS, ("serial", "disk 0")]);
    sys.disk(
        "nvme0n1",
        "pci0000:00/0000:00:01.1/0000:01:00.0/nvme/nvme0",
        &[
            SECTORS,
            ("nsid", "1\n"),
            ("wwid", "eui.00a0750125fc43b1\n"),
            ("device/model", "Micron_9300  \n"),
            ("device/serial", "2027\n"),
        ],
    );
    let raid = "pci0000:00/0000:00:03.0/0000:02:00.0/host6";
    sys.disk(
        "sdb",
        &format!("{raid}/target6:2:1/6:2:1:0"),
        &[SECTORS, ("device/wwid", "naa.6b083fe0c1a2d30022e4f5a61b2c3d4e\n"), ("device/vendor", "DELL    \n")],
    );
    sys.disk("sdc", "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host9/target9:0:0/9:0:0:0", &[SECTORS]);
    let sas = "pci0000:00/0000:00:04.0/0000:03:00.0/host7/port-7:0/expander-7:0/port-7:0:4/end_device-7:0:4";
    sys.file(&format!("devices/{sas}/sas_device/end_device-7:0:4/phy_identifier"), "4\n");
    sys.file(
        "devices/pci0000:00/0000:00:04.0/0000:03:00.0/host7/port-7:0/expander-7:0/sas_device/expander-7:0/sas_address",
        "0x500056b3c8d9eaff\n",
    );
    sys.disk("sdd", &format!("{sas}/target7:0:4/7:0:4:0"), &[SECTORS]);
    let found = list_with(sys.path(), "");
    let of = |name: &str| &named(&found, name).inventory;

    let sda = of("sda");
    assert_eq!(paths(sda, "by-path"), ["pci-0000:00:1f.2-ata-1.0", "pci-0000:00:1f.2-ata-1"]);
    assert_eq!(paths(sda, "by-id"), ["ata-Samsung_SSD_860_S3Z1NB0K", "wwn-0x5002538e40a1b2c3"]);
    assert_eq!(
        (sda.hctl.as_str(), sda.transport.as_str(), sda.wwn.as_str()),
        ("2:0:0:0", "sata", "0x5002538e40a1b2c3")
    );
    assert_eq!((sda.wwn_vendor_extension.as_str(), &sda.wwn_with_extension), ("", &sda.wwn));

    let vda = of("vda");
    assert_eq!(paths(vda, "by-path"), ["pci-0000:00:04.0", "virtio-pci-0000:00:04.0"]);
    assert_eq!((paths(vda, "by-id"), vda.pci_address.as_str()), (vec!["virtio-disk_0".to_owned()], "0000:00:04.0"));

    let nvme = of("nvme0n1");
    assert_eq!(paths(nvme, "by-path"), ["pci-0000:01:00.0-nvme-1"]);
    assert_eq!(paths(nvme, "by-id"), ["nvme-Micron_9300_2027", "nvme-eui.00a0750125fc43b1"]);

    let sdb = of("sdb");
    assert_eq!(paths(sdb, "by-path"), ["pci-0000:02:00.0-scsi-0:2:1:0"], "the host is counted within its controller");
    assert_eq!(sdb.wwn, "0x6b083fe0c1a2d300");
    assert_eq!(sdb.wwn_vendor_extension, "0x22e4f5a61b2c3d4e");
    assert_eq!(sdb.wwn_with_extension, "0x6b083fe0c1a2d30022e4f5a61b2c3d4e");

    assert_eq!(paths(of("sdc"), "by-path"), ["pci-0000:00:14.0-usb-0:1:1.0-scsi-0:0:0:0"]);
    assert_eq!(paths(of("sdd"), "by-path"), ["pci-0000:03:00.0-sas-exp0x500056b3c8d9eaff-phy4-lun-0"]);
    assert_eq!(of("sdd").transport, "sas");
}

#[test]
fn the_second_path_to_a_disk_is_not_a_second_disk() {
    let sys = Sys::new();
    let wwid = ("device/wwid", "naa.6001405aaaaaaaaabbbbbbbbbbbbbbbb\n");
    for (name, host) in [("sda", 1), ("sdb", 2)] {
        let device = format!("pci0000:00/0000:00:0{host}.0/host{host}/rport-{host}:0-0/target{host}:0:0/{host}:0:0:0");
        sys.disk(name, &device, &[SECTORS, wwid]);
    }
    let found = list_with(sys.path(), "");
    assert_eq!(found[0].objection, None);
    assert_eq!(found[1].objection, Some(Objection::OtherPath("/dev/sda".into())));
    assert_eq!(found[0].inventory.transport, "fc");
}

/// The tree that a kernel would have shown where `lsblk` said this, and then what we say of it.
#[test]
fn what_lsblk_says_of_disks_is_what_we_say() {
    let files =
        ["jc/ubuntu-18.04__lsblk-allcols.json", "jc/centos-7.7__lsblk-allcols.json", "ipa/blk_device_template.json"];
    let mut compared = 0;
    for file in files {
        let Some(bytes) = data(&format!("host-tools/{file}")) else { return };
        let said: Value = serde_json::from_slice(&bytes).unwrap();
        let rows = said.get("blockdevices").unwrap_or(&said).as_array().unwrap();
        let sys = Sys::new();
        let text = |row: &Value, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let size = |row: &Value| {
            let exact = row.get("size_bytes").or_else(|| row.get("size")).unwrap();
            exact.as_u64().or_else(|| exact.as_str()?.parse().ok()).unwrap()
        };
        let is_set = |row: &Value, key: &str| row.get(key).and_then(Value::as_bool) == Some(true);
        for (number, row) in rows.iter().enumerate() {
            let kind = text(row, "type");
            let name = text(row, "kname");
            let is_memory = ["ram", "zram", "loop", "dm-"].iter().any(|prefix| name.starts_with(prefix));
            if is_memory {
                sys.file(&format!("block/{name}/size"), (size(row) / 512).to_string());
                continue;
            }
            if kind == "part" {
                continue;
            }
            let hctl = text(row, "hctl");
            let host = hctl.split(':').next().unwrap_or_default().to_owned();
            let device = match (hctl.is_empty(), text(row, "tran").as_str()) {
                (false, "sata" | "ata") => {
                    format!("pci0000:00/0000:00:1f.2/ata{number}/host{host}/target{host}:0:0/{hctl}")
                }
                (false, _) => format!("pci0000:00/0000:00:10.0/host{host}/target{host}:0:0/{hctl}"),
                (true, "sas") => format!(
                    "pci0000:00/0000:00:11.0/host{number}/port-{number}:0/end_device-{number}:0/target{number}:0:0/{number}:0:0:0"
                ),
                _ => format!("platform/{name}"),
            };
            let flag = |key: &str| if is_set(row, key) { "1\n" } else { "0\n" };
            let number = |key: &str| {
                row.get(key).or_else(|| row.get(key.replace('_', "-"))).map(Value::to_string).unwrap_or_default()
            };
            sys.disk(
                &name,
                &device,
                &[
                    ("size", &(size(row) / 512).to_string()),
                    ("ro", flag("ro")),
                    ("removable", flag("rm")),
                    ("queue/rotational", flag("rota")),
                    ("queue/logical_block_size", &number("log_sec")),
                    ("queue/physical_block_size", &number("phy_sec")),
                    ("device/model", &text(row, "model")),
                    ("device/vendor", &text(row, "vendor")),
                    ("device/rev", &text(row, "rev")),
                    ("device/vpd_pg80", &format!("\0\u{0}\0\0{}", text(row, "serial"))),
                ],
            );
        }
        let found = list_with(sys.path(), "");
        for row in rows {
            let name = text(row, "kname");
            let ours = found.iter().find(|disk| disk.inventory.name == format!("/dev/{name}"));
            let Some(ours) = ours else {
                let left_out =
                    text(row, "type") == "part" || ["ram", "zram", "loop", "dm-"].iter().any(|p| name.starts_with(p));
                assert!(left_out, "{file}: {name} is missing");
                continue;
            };
            let disk = &ours.inventory;
            compared += 1;
            assert_eq!(disk.size_bytes, size(row) / 512 * 512, "{file} {name}");
            assert_eq!(disk.model, text(row, "model").trim(), "{file} {name}");
            assert_eq!(disk.vendor, text(row, "vendor").trim(), "{file} {name}");
            assert_eq!(disk.serial_number, text(row, "serial"), "{file} {name}");
            assert_eq!(disk.rotational, is_set(row, "rota"), "{file} {name}");
            assert_eq!(disk.read_only, is_set(row, "ro"), "{file} {name}");
            if !text(row, "hctl").is_empty() {
                assert_eq!(disk.hctl, text(row, "hctl"), "{file} {name}");
            }
            let may_be_written =
                text(row, "type") == "disk" && !is_set(row, "rm") && size(row) > 0 && !name.starts_with("fd");
            assert_eq!(ours.objection.is_none(), may_be_written, "{file} {name}: {:?}", ours.objection);
            match text(row, "tran").as_str() {
                "sata" | "ata" => assert_eq!(disk.transport, "sata"),
                "sas" => assert_eq!(disk.transport, "sas"),
                _ => {}
            }
        }
    }
    assert!(compared >= 10, "only {compared} disks were compared");
}

#[test]
fn the_order_is_the_kernels() {
    let mut names = ["sdaa", "nvme10n1", "sdb", "vda", "nvme2n1", "sda"];
    names.sort_by_key(|name| kernel_order(name));
    assert_eq!(names, ["nvme2n1", "nvme10n1", "sda", "sdb", "sdaa", "vda"]);
}
