//! Ramdisks from Debian's real kernels: what they weigh, and that building again gives the same.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bessemer_images::cache::Cache;
use bessemer_images::ramdisk::{self, Ramdisk, RamdiskSpec, Variant};

/// The most that kernel and ramdisk may weigh together.
const LIMIT: u64 = 40_000_000;
/// What is left in it for the agent, which is built elsewhere: it has 12 MB uncompressed at most.
const AGENT: u64 = 6_000_000;

/// A static program that every Debian has, in place of the agent.
const STATIC: &str = "/sbin/ldconfig";

fn missing() -> Option<String> {
    let runs = |tool: &str| Command::new(tool).arg("--version").stdout(Stdio::null()).status().is_ok();
    if let Some(tool) = ["apt-get", "dpkg-deb", "cpio"].iter().find(|tool| !runs(tool)) {
        return Some(format!("{tool} is missing"));
    }
    (!Path::new(STATIC).is_file()).then(|| format!("{STATIC} is missing"))
}

fn build(variant: Variant, cache: Cache, out: PathBuf) -> Ramdisk {
    let spec = RamdiskSpec { variant, agent: STATIC.into(), firmware: None, out_dir: out, cache };
    ramdisk::build(&spec).unwrap()
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    if let Some(reason) = missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let inside = |name: &str| folder.path().join(name);
    let user = build(Variant::Cloud, Cache::from_env().unwrap(), inside("one"));
    // Nothing is shared with the first: the package is downloaded and unpacked again.
    let fresh = build(Variant::Cloud, Cache::at(inside("cache")), inside("two"));
    assert_eq!(user.kernel, fresh.kernel);
    for (one, two) in [(&user.vmlinuz, &fresh.vmlinuz), (&user.initrd, &fresh.initrd)] {
        assert!(std::fs::read(one).unwrap() == std::fs::read(two).unwrap(), "{} differs", one.display());
    }
}

#[test]
fn the_ramdisk_for_servers_has_their_drivers_and_is_light() {
    if let Some(reason) = missing() {
        println!("SKIP {reason}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let built = build(Variant::Server, Cache::from_env().unwrap(), folder.path().join("out"));
    println!(
        "{}: kernel {} bytes, {} modules in {} bytes, {} files of firmware named and left out",
        built.kernel,
        built.vmlinuz_size,
        built.modules.len(),
        built.drivers_size,
        built.firmware_missing
    );
    assert!(built.vmlinuz_size + built.drivers_size + AGENT <= LIMIT);
    for needed in ["ixgbe", "mlx5_core", "ahci", "megaraid_sas", "ipmi_si", "ext4", "jbd2", "libcrc32c", "scsi_mod"] {
        assert!(built.modules.iter().any(|module| module == needed), "{needed} is missing");
    }

    // As GNU cpio and the kernel would unpack it: two archives, each at a multiple of four.
    let bytes = std::fs::read(&built.initrd).unwrap();
    let (drivers, own) = bytes.split_at(usize::try_from(built.drivers_size).unwrap());
    assert_eq!((drivers.len() % 4, own.len() % 4), (0, 0));
    let names = [list(drivers), list(own)].concat();
    for path in ["init", "sbin/modprobe", "lib/modules/ixgbe.ko", "lib/modules/modules.order", "dev/console"] {
        assert!(names.iter().any(|name| name == path), "{path} is missing");
    }
}

fn list(archive: &[u8]) -> Vec<String> {
    let mut plain = Vec::new();
    zstd::stream::read::Decoder::new(archive).unwrap().single_frame().read_to_end(&mut plain).unwrap();
    let mut cpio =
        Command::new("cpio").args(["-it", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = cpio.stdin.take().unwrap();
    let writer = std::thread::spawn(move || std::io::Write::write_all(&mut input, &plain));
    let output = cpio.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}
