//! First stage: Debian's root file system, unconfigured, as an archive.

use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use crate::cache::Fingerprint;
use crate::tool::Tool;

/// The archive's name in its cache entry.
pub(super) const ARCHIVE: &str = "rootfs.tar";

const SUITE: &str = "bookworm";

/// `systemd-boot-efi` is there for its boot loader, which moves to the EFI system partition.
const PACKAGES: [&str; 21] = [
    "ca-certificates",
    "conntrack",
    "dbus",
    "e2fsprogs",
    "ethtool",
    "initramfs-tools",
    "iproute2",
    "iptables",
    "kmod",
    "linux-image-cloud-amd64",
    "mount",
    "nftables",
    "procps",
    "runc",
    "socat",
    "systemd-boot-efi",
    "systemd-resolved",
    "systemd-sysv",
    "udev",
    "util-linux",
    "zstd",
];

/// Paths that no host needs.
const EXCLUDED: [&str; 5] =
    ["/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/share/info/*", "/usr/share/lintian/*"];

/// Only what can carry the root file system goes into the initial ramdisk: it is read by firmware.
/// This runs before the packages are configured, so that the ramdisk is made once.
const EARLY_HOOK: &str = r#"
mkdir -p "$1/etc/initramfs-tools/conf.d" "$1/usr/share/initramfs-tools/modules.d"
printf 'MODULES=list\nCOMPRESS=zstd\n' > "$1/etc/initramfs-tools/conf.d/bessemer"
printf '%s\n' virtio_pci virtio_blk virtio_scsi sd_mod nvme ext4 > "$1/usr/share/initramfs-tools/modules.d/bessemer"
"#;

/// Each host is its own: no name and no identity from the build machine.
const LATE_HOOK: &str = r#"
rm -f "$1/etc/hostname" "$1"/var/log/*.log "$1"/var/log/apt/* "$1"/var/cache/debconf/*-old
: > "$1/etc/machine-id"
"#;

/// Debian's mirrors may be slow, but not so slow.
const LIMIT: Duration = Duration::from_secs(900);

/// Names the stage by its recipe; the packages' versions are those of the day it is built.
pub(super) fn fingerprint() -> String {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("suite", SUITE).add("packages", PACKAGES.join(",")).add("excluded", EXCLUDED.join(","));
    fingerprint.add("early", EARLY_HOOK).add("late", LATE_HOOK);
    fingerprint.finish()
}

/// Makes the archive in `partial`.
pub(super) fn build(partial: &Path) -> Result<(), OsImageError> {
    Tool::new("mmdebstrap", LIMIT)
        .args(["--mode=root", "--variant=minbase", "--format=tar", "--aptopt=Apt::Install-Recommends \"false\""])
        .args(EXCLUDED.iter().map(|path| format!("--dpkgopt=path-exclude={path}")))
        .arg(format!("--include={}", PACKAGES.join(",")))
        .arg(format!("--essential-hook={EARLY_HOOK}"))
        .arg(format!("--customize-hook={LATE_HOOK}"))
        .env("TMPDIR", partial)
        .arg(SUITE)
        .arg(partial.join(ARCHIVE))
        .run()?;
    Ok(())
}
