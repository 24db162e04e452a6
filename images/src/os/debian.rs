//! First stage: Debian's root file system, unconfigured, as an archive.

use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use super::{OsImageSpec, root};
use crate::cache::Fingerprint;
use crate::ramdisk::Variant;
use crate::tool::Tool;

/// The archive's name in its cache entry.
pub(super) const ARCHIVE: &str = "rootfs.tar";

const SUITE: &str = "bookworm";

/// What every image has. `systemd-boot-efi` is there for its boot loader, which moves to the EFI system partition.
const BASE: [&str; 9] = [
    "ca-certificates",
    "dbus",
    "e2fsprogs",
    "initramfs-tools",
    "iproute2",
    "kmod",
    "systemd-boot-efi",
    "systemd-sysv",
    "udev",
];

/// What a Kubernetes host has besides.
const FOR_KUBERNETES: [&str; 10] = [
    "conntrack",
    "ethtool",
    "iptables",
    "mount",
    "nftables",
    "procps",
    "runc",
    "socat",
    "systemd-resolved",
    "util-linux",
];

fn packages(spec: &OsImageSpec) -> Vec<&'static str> {
    let mut packages = BASE.to_vec();
    packages.extend([root::kernel_package(spec.kernel), "zstd"]);
    if spec.kubernetes.is_some() {
        packages.extend(FOR_KUBERNETES);
    }
    packages
}

/// Paths that no host needs.
const EXCLUDED: [&str; 5] =
    ["/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*"];

/// Drivers that nobody's server needs to be a server, a third of the general kernel's.
const EXCLUDED_DRIVERS: [&str; 6] =
    ["drivers/media", "drivers/net/wireless", "drivers/staging", "drivers/input/joystick", "drivers/iio", "sound"];

/// What can carry the root file system goes into the initial ramdisk, and nothing else: it is read by firmware.
const BOOT_DRIVERS: &str = "virtio_pci virtio_blk virtio_scsi sd_mod nvme ext4";
const SERVERS_BOOT_DRIVERS: &str =
    "ahci ata_piix megaraid_sas mpt3sas mpi3mr smartpqi hpsa aacraid vmw_pvscsi hv_storvsc";

/// This runs before the packages are configured, so that the ramdisk is made once.
fn early_hook(kernel: Variant) -> String {
    let more = if kernel == Variant::Server { SERVERS_BOOT_DRIVERS } else { "" };
    format!(
        r#"
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
printf 'MODULES=list\nCOMPRESS=zstd\n' > "$1/etc/initramfs-tools/conf.d/bessemer"
printf '%s\n' {BOOT_DRIVERS} {more} > "$1/usr/share/initramfs-tools/modules.d/bessemer"
"#
    )
}

/// Each host is its own: no name and no identity from the build machine.
const LATE_HOOK: &str = r#"
rm -f "$1/etc/hostname" "$1"/var/log/*.log "$1"/var/log/apt/* "$1"/var/cache/debconf/*-old
: > "$1/etc/machine-id"
"#;

/// Debian's mirrors may be slow, but not so slow.
const LIMIT: Duration = Duration::from_secs(900);

/// Names the stage by its recipe; the packages' versions are those of the day it is built.
pub(super) fn fingerprint(spec: &OsImageSpec) -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("suite", SUITE).add("packages", packages(spec).join(",")).add("excluded", excluded().join(","));
    fingerprint.add("early", early_hook(spec.kernel)).add("late", LATE_HOOK);
    fingerprint.finish()
}

fn excluded() -> Vec<String> {
    let drivers = EXCLUDED_DRIVERS.iter().map(|folder| format!("/lib/modules/*/kernel/{folder}/*"));
    EXCLUDED.iter().map(|path| (*path).to_owned()).chain(drivers).collect()
}

/// Makes the archive in `partial`.
pub(super) fn build(spec: &OsImageSpec, partial: &Path) -> Result<(), OsImageError> {
    Tool::new("mmdebstrap", LIMIT)
        .args(["--mode=root", "--variant=minbase", "--format=tar", "--aptopt=Apt::Install-Recommends \"false\""])
        .args(excluded().iter().map(|path| format!("--dpkgopt=path-exclude={path}")))
        .arg(format!("--include={}", packages(spec).join(",")))
        .arg(format!("--essential-hook={}", early_hook(spec.kernel)))
        .arg(format!("--customize-hook={LATE_HOOK}"))
        .env("TMPDIR", partial)
        .arg(SUITE)
        .arg(partial.join(ARCHIVE))
        .run()?;
    Ok(())
}
