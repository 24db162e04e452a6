//! What the machine boots: Debian's iPXE and cloud kernel, a ramdisk of busybox, and a small disk with a system of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;

pub(crate) const OVMF_CODE: &str = "/usr/share/OVMF/OVMF_CODE_4M.fd";
pub(crate) const OVMF_VARS: &str = "/usr/share/OVMF/OVMF_VARS_4M.fd";
const IPXE_EFI: &str = "/usr/lib/ipxe/snponly.efi";
const SYSTEMD_BOOT: &str = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";

pub(crate) struct Artefacts {
    pub(crate) ipxe_efi: Bytes,
    pub(crate) kernel: Bytes,
    /// Compressed, its length no multiple of four.
    pub(crate) ramdisk: Bytes,
    /// A static busybox, for its DHCP client.
    pub(crate) busybox: PathBuf,
    /// An EFI system partition whose system says `INIT from=disk`.
    pub(crate) disk: PathBuf,
}

/// `BUILD` is a script with everything in it that Debian's tools do better; it runs once for each cache.
const BUILD: &str = r#"
set -eu
mkdir -p "$1" && cd "$1"
[ -f complete ] && [ -x busybox ] && exit 0
umask 022
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
apt-get -q download "$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image/ {print $2; exit}')" busybox-static
dpkg-deb --fsys-tarfile linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' > vmlinuz
dpkg-deb --fsys-tarfile busybox-static*.deb | tar -xO ./bin/busybox > busybox && chmod 755 busybox
mkdir -p root/bin root/proc
install -m 755 busybox root/bin/busybox
cat > root/init <<'INIT'
#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t proc proc /proc
case "$($bb cat /proc/cmdline)" in
*from=disk*) echo "INIT from=disk" ;;
*) echo "INIT marker=$($bb cat /etc/bessemer/marker) mode=$($bb stat -c %a /etc/bessemer/marker) uptime=$($bb cat /proc/uptime)" ;;
esac
$bb poweroff -f
INIT
chmod 755 root/init
(cd root && find . | cpio -o -H newc --quiet) | gzip -9n > ramdisk
[ $(($(stat -c %s ramdisk) % 4)) -ne 0 ] || { (cd root && find . | cpio -o -H newc --quiet) | gzip -1n > ramdisk; }
truncate -s 64M disk && mkfs.vfat disk > /dev/null
mmd -i disk ::EFI ::EFI/BOOT ::loader ::loader/entries
mcopy -i disk "$2" ::EFI/BOOT/BOOTX64.EFI
mcopy -i disk vmlinuz ramdisk ::
printf 'timeout 0\n' | mcopy -i disk - ::loader/loader.conf
printf 'linux /vmlinuz\ninitrd /ramdisk\noptions console=ttyS0 from=disk\n' | mcopy -i disk - ::loader/entries/disk.conf
mv vmlinuz ramdisk disk busybox "$1/"
touch "$1/complete"
"#;

impl Artefacts {
    /// What is needed, or what is missing.
    pub(crate) fn find() -> Result<Self, String> {
        for file in [OVMF_CODE, OVMF_VARS, IPXE_EFI, SYSTEMD_BOOT] {
            std::fs::metadata(file).map_err(|error| format!("{file}: {error}"))?;
        }
        Command::new("qemu-system-x86_64").arg("--version").output().map_err(|error| format!("QEMU: {error}"))?;
        let cache = cache();
        let built = Command::new("sh")
            .args(["-c", BUILD, "build"])
            .arg(&cache)
            .arg(SYSTEMD_BOOT)
            .output()
            .map_err(|error| format!("sh: {error}"))?;
        if !built.status.success() {
            return Err(format!(
                "no kernel and ramdisk in {}: {}",
                cache.display(),
                String::from_utf8_lossy(&built.stderr)
            ));
        }
        Ok(Self {
            ipxe_efi: read(Path::new(IPXE_EFI))?,
            kernel: read(&cache.join("vmlinuz"))?,
            ramdisk: read(&cache.join("ramdisk"))?,
            busybox: cache.join("busybox"),
            disk: cache.join("disk"),
        })
    }
}

fn cache() -> PathBuf {
    let base = std::env::var_os("BESSEMER_TEST_CACHE").map(PathBuf::from).unwrap_or_else(|| {
        let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        home.join(".cache/bessemer/test")
    });
    base.join("firmware")
}

fn read(path: &Path) -> Result<Bytes, String> {
    std::fs::read(path).map(Bytes::from).map_err(|error| format!("{}: {error}", path.display()))
}
