//! What must be there before anything long starts. What is missing and can be had is had; anything else is one line
//! with its remedy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use anyhow::{Result, bail, ensure};
use bessemer_images::cache::Cache;
use bessemer_rack::{OVMF_CODE, QEMU, Rack};
use rustix::fs::statvfs;

use crate::kubernetes::BINARIES_VARIABLE;
use crate::say::say;
use crate::workspace::Workspace;
use crate::{deadline, run};

/// Program or file that must be there, Debian package that brings it.
const NEEDED: &[(&str, &str)] = &[
    (QEMU, "qemu-system-x86"),
    (OVMF_CODE, "ovmf"),
    ("/usr/lib/ipxe/snponly.efi", "ipxe"),
    ("ipmi_sim", "openipmi"),
    ("ipmitool", "ipmitool"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("tcpdump", "tcpdump"),
    ("sfdisk", "fdisk"),
    ("mmdebstrap", "mmdebstrap"),
    ("mke2fs", "e2fsprogs"),
    ("debugfs", "e2fsprogs"),
    ("mkfs.vfat", "dosfstools"),
    ("mcopy", "mtools"),
    ("xorriso", "xorriso"),
    ("grub-mkimage", "grub-common"),
    ("/usr/lib/grub/i386-pc/boot.img", "grub-pc-bin"),
    ("/usr/lib/grub/x86_64-efi/linux.mod", "grub-efi-amd64-bin"),
    ("zstd", "zstd"),
    ("xz", "xz-utils"),
    ("qemu-img", "qemu-utils"),
    ("tar", "tar"),
    ("cpio", "cpio"),
    ("dpkg-deb", "dpkg"),
    ("apt-get", "apt"),
    ("ps", "procps"),
    ("cc", "build-essential"),
    ("strip", "binutils"),
    // redfish-client's feature legacy-tls, bessemer-pxe's firmware-tls
    ("pkg-config", "pkg-config"),
    ("/usr/include/openssl/ssl.h", "libssl-dev"),
    // what the crates' own tests compare with
    ("curl", "curl"),
    ("tftp", "tftp-hpa"),
    ("atftp", "atftp"),
    ("dhclient", "isc-dhcp-client"),
    ("dhcrelay", "isc-dhcp-relay"),
    ("/usr/lib/systemd/boot/efi/systemd-bootx64.efi", "systemd-boot-efi"),
];

/// What the agent's tests have erased, what judges of it, and who gives its network addresses.
const NEEDED_BY_THE_AGENT: [(&str, &str); 8] = [
    ("mkfs.btrfs", "btrfs-progs"),
    ("mkfs.xfs", "xfsprogs"),
    ("pvcreate", "lvm2"),
    ("cryptsetup", "cryptsetup-bin"),
    ("sgdisk", "gdisk"),
    ("wipefs", "util-linux"),
    // reads the same tables as the agent's inspection
    ("dmidecode", "dmidecode"),
    ("dnsmasq", "dnsmasq-base"),
];

/// The same for the lane of BMCs: the peers of `python.rs`, and virtual machines for them.
const NEEDED_BY_BMCS: &[(&str, &str)] = &[
    // without it Debian's Python makes no virtual environments
    ("/usr/share/doc/python3-venv/copyright", "python3-venv"),
    (LIBVIRT_BINDING, "python3-libvirt"),
    ("libvirtd", "libvirt-daemon-system"),
    ("virsh", "libvirt-clients"),
    ("dnsmasq", "dnsmasq-base"),
    ("unshare", "util-linux"),
];

/// What the boot server is measured with and beside.
const NEEDED_BY_BOOT_BENCH: [(&str, &str); 7] = [
    ("ip", "iproute2"),
    ("/usr/lib/ipxe/snponly.efi", "ipxe"),
    ("curl", "curl"),
    ("dnsmasq", "dnsmasq-base"),
    ("kea-dhcp4", "kea-dhcp4-server"),
    ("perfdhcp", "kea-admin"),
    ("nginx", "nginx-light"),
];

/// What the writing of images is measured beside.
const NEEDED_BY_IMAGE_BENCH: [(&str, &str); 6] = [
    ("curl", "curl"),
    ("gzip", "gzip"),
    ("openssl", "openssl"),
    ("qemu-img", "qemu-utils"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// Debian's Python binding of libvirt.
pub(crate) const LIBVIRT_BINDING: &str = "/usr/lib/python3/dist-packages/libvirt.py";

const INSTALL: Duration = Duration::from_secs(900);

/// Cargo's, Go's and the images' files when nothing is built yet; a rack when all is.
const COLD_GIB: u64 = 25;
const WARM_GIB: u64 = 8;

/// One emulated host, its emulator, and a linker.
const MEMORY_MIB: u64 = 5 * 1024;

/// Checks, installs and sweeps for everything that runs a rack.
pub(crate) fn for_rack(workspace: &Workspace) -> Result<()> {
    ensure!(
        rustix::process::geteuid().is_root(),
        "not root: the rack needs network namespaces and the images need owners; run this with sudo -E"
    );
    ensure!(cfg!(target_arch = "x86_64"), "the rack's hosts are x86-64: run this on such a machine");
    space(workspace)?;
    memory()?;
    packages(&[NEEDED, &NEEDED_BY_THE_AGENT].concat())?;
    go()?;
    Rack::sweep_all()?.iter().for_each(|line| say(format!("an earlier run was interrupted: {line}")));
    Ok(())
}

/// Installs for the crates' own tests what they look for; without root they say themselves what they lack.
pub(crate) fn for_unit_tests() -> Result<()> {
    if rustix::process::geteuid().is_root() { packages(&[NEEDED, &NEEDED_BY_THE_AGENT].concat()) } else { Ok(()) }
}

/// The same for the tests of BMCs.
pub(crate) fn for_bmcs() -> Result<()> {
    if rustix::process::geteuid().is_root() { packages(NEEDED_BY_BMCS) } else { Ok(()) }
}

/// The same for the bench of the boot server.
pub(crate) fn for_boot_bench() -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "not root: the bench needs network namespaces; run it with sudo -E");
    packages(&NEEDED_BY_BOOT_BENCH)
}

/// Installs what the suite `image` needs.
pub(crate) fn for_image_bench() -> Result<()> {
    if rustix::process::geteuid().is_root() { packages(&NEEDED_BY_IMAGE_BENCH) } else { Ok(()) }
}

fn packages(needed: &[(&str, &str)]) -> Result<()> {
    let missing: BTreeSet<&str> =
        needed.iter().filter(|(what, _)| !present(what)).map(|(_, package)| *package).collect();
    // the ramdisk's kernel and the images' Debian come from the mirrors that apt knows
    let lists = fs::read_dir("/var/lib/apt/lists").into_iter().flatten().flatten();
    let known = lists.filter(|entry| entry.file_name().to_string_lossy().ends_with("_Packages")).count();
    if missing.is_empty() && known > 0 {
        return Ok(());
    }
    let names: Vec<&str> = missing.into_iter().collect();
    ensure!(present("apt-get"), "missing, and there is no apt-get to install it: {}", names.join(" "));
    let until = deadline::after(INSTALL);
    run::must(apt(&["update"]), until, |_| {})?;
    if !names.is_empty() {
        say(format!("installing {}", names.join(" ")));
        run::must(apt(&[&["install", "--yes", "--no-install-recommends"], names.as_slice()].concat()), until, |_| {})?;
    }
    match needed.iter().find(|(what, _)| !present(what)) {
        Some((what, package)) => bail!("{what} is still missing after apt-get install {package}: is this Debian?"),
        None => Ok(()),
    }
}

fn apt(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    command.arg("-qq").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    command
}

/// A file by its path, a program by its name.
pub(crate) fn present(what: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    // administrators' tools are not on every user's path
    let folders = env::split_paths(&path).chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from));
    if what.starts_with('/') {
        Path::new(what).exists()
    } else {
        folders.into_iter().any(|dir| dir.join(what).is_file())
    }
}

fn go() -> Result<()> {
    let given = env::var_os(BINARIES_VARIABLE).is_some_and(|value| !value.is_empty());
    ensure!(
        given || present("go"),
        "no Go toolchain: install Go 1.26 or newer from go.dev, or set {BINARIES_VARIABLE} to built programs"
    );
    Ok(())
}

fn space(workspace: &Workspace) -> Result<()> {
    let cache = Cache::from_env()?;
    let cold = !cache.root().join("os-image").is_dir();
    let needed = if cold { COLD_GIB } else { WARM_GIB };
    for folder in [workspace.root.as_path(), cache.root(), Path::new("/var/lib")] {
        let Some(existing) = folder.ancestors().find(|folder| folder.exists()) else { continue };
        let free = statvfs(existing).map(|space| (space.f_bavail * space.f_frsize) >> 30)?;
        ensure!(free >= needed, "{free} GiB free at {}, {needed} GiB needed: free some", folder.display());
    }
    Ok(())
}

fn memory() -> Result<()> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let available =
        text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    let mib = available.unwrap_or(0_u64) >> 10;
    ensure!(
        mib >= MEMORY_MIB,
        "{mib} MiB of memory available, {MEMORY_MIB} needed for one emulated host: end something"
    );
    Ok(())
}
