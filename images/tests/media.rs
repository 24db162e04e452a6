//! UKI and ISO from the real ramdisk, looked at with the tools of others. That firmware boots them is tested where machines are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::path::Path;
use std::process::{Command, Stdio};

use bessemer_images::cache::Cache;
use bessemer_images::iso::{self, IsoSpec};
use bessemer_images::ramdisk::{self, Ramdisk, RamdiskSpec, Variant};
use bessemer_images::uki::{self, UkiSpec};

const CMDLINE: &str = "console=ttyS0 panic=-1";

fn missing() -> Option<String> {
    let runs = |tool: &str| {
        let mut command = Command::new(tool);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    };
    let tools = ["apt-get", "dpkg-deb", "xorriso", "grub-mkimage", "mcopy", "objdump"];
    let tool = tools.iter().find(|tool| !runs(tool)).map(|tool| format!("{tool} is missing"));
    tool.or_else(|| (!Path::new(uki::STUB).is_file()).then(|| "systemd-boot-efi is missing".to_owned()))
}

fn ramdisk(folder: &Path) -> Ramdisk {
    let spec = RamdiskSpec {
        variant: Variant::Server,
        // A static program that every Debian has, in place of the agent.
        agent: "/sbin/ldconfig".into(),
        firmware: None,
        out_dir: folder.join("ramdisk"),
        cache: Cache::from_env().unwrap(),
    };
    ramdisk::build(&spec).unwrap()
}

fn say(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn an_iso_is_a_cd_and_a_disk_with_one_slot_and_the_same_each_time() {
    if let Some(reason) = missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ramdisk = ramdisk(folder.path());
    let [one, two] = ["one.iso", "two.iso"].map(|name| {
        let out = folder.path().join(name);
        let size = iso::build(&IsoSpec { ramdisk: &ramdisk, cmdline: CMDLINE, out: &out }).unwrap();
        println!("iso: {size} bytes around {} of kernel and ramdisk", ramdisk.vmlinuz_size + ramdisk.initrd_size);
        std::fs::read(&out).unwrap()
    });
    assert!(one == two, "not the same each time");

    let path = folder.path().join("one.iso");
    let boots = say(Command::new("xorriso").args(["-report_about", "WARNING", "-indev"]).arg(&path).args([
        "-report_el_torito",
        "plain",
        "-report_system_area",
        "plain",
    ]));
    for wanted in ["BIOS", "UEFI", "grub2-mbr", "GPT"] {
        assert!(boots.contains(wanted), "{wanted} is missing in:\n{boots}");
    }

    // The slot is one run of sectors, and nothing else looks like one.
    let magic: Vec<u8> = [iso::SLOT_MAGIC, &[0; 32 - iso::SLOT_MAGIC.len()]].concat();
    let found: Vec<usize> =
        one.chunks(2048).enumerate().filter(|(_, sector)| sector.starts_with(&magic)).map(|(index, _)| index).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    let at = found[0] * 2048;
    assert_eq!(one[at + 32..at + 40], (iso::SLOT_LENGTH as u64).to_le_bytes());
    let listed = say(Command::new("xorriso").args(["-report_about", "WARNING", "-indev"]).arg(&path).args([
        "-find",
        "/BESSEMER.OVL",
        "-exec",
        "report_lba",
        "--",
    ]));
    let extents: Vec<&str> = listed.lines().filter(|line| line.starts_with("File data lba:")).collect();
    assert_eq!(extents.len(), 1, "{listed}");
    assert!(extents[0].contains(&format!("{} ,       32 ,    65536 ,", found[0])), "{listed}");
}

#[test]
fn a_uki_holds_the_ramdisk_last() {
    if let Some(reason) = missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ramdisk = ramdisk(folder.path());
    let out = folder.path().join("uki.efi");
    let size = uki::build(&UkiSpec { stub: Path::new(uki::STUB), ramdisk: &ramdisk, cmdline: CMDLINE, out: &out });
    println!("uki: {} bytes", size.unwrap());
    let listing = say(Command::new("objdump").args(["-h", "-w"]).arg(&out));
    let sections: Vec<&str> = listing
        .lines()
        .filter(|line| line.contains("CONTENTS"))
        .filter_map(|line| line.split_whitespace().nth(1))
        .collect();
    assert!(sections.ends_with(&[".osrel", ".uname", ".cmdline", ".linux", ".initrd"]), "{listing}");
    let initrd = folder.path().join("section");
    say(Command::new("objcopy").args(["-O", "binary", "--only-section", ".initrd"]).arg(&out).arg(&initrd));
    assert!(std::fs::read(initrd).unwrap().starts_with(&std::fs::read(&ramdisk.initrd).unwrap()));
}
