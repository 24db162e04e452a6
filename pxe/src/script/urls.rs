//! The URLs that DHCP answers and scripts name. Every path made here is served by `http`.

use std::net::SocketAddr;

use crate::config::Config;
use crate::identity::BootId;

/// Paths under the boot listener's root.
pub(crate) mod paths {
    /// iPXE for x64 UEFI.
    pub(crate) const IPXE_EFI: &str = "ipxe.efi";
    /// iPXE for 64-bit ARM.
    pub(crate) const IPXE_ARM64: &str = "ipxe-arm64.efi";
    /// iPXE for BIOS.
    pub(crate) const UNDIONLY: &str = "undionly.kpxe";
    pub(crate) const LOCAL: &str = "local.ipxe";
    pub(crate) const HOLD: &str = "hold.ipxe";
    /// Never served: HTTP boot firmware is sent here when it shall go on to its disk.
    pub(crate) const ABSENT: &str = "boot-from-disk.efi";
    pub(crate) const IMAGES: &str = "images";
    /// `b/<boot id>/<one of the files below>`.
    pub(crate) const BOOT: &str = "b";
    pub(crate) const SCRIPT: &str = "boot.ipxe";
    pub(crate) const KERNEL: &str = "kernel";
    pub(crate) const INITRD: &str = "initrd";
    /// The same three for 64-bit ARM.
    pub(crate) const SCRIPT_ARM64: &str = "boot-arm64.ipxe";
    pub(crate) const KERNEL_ARM64: &str = "kernel-arm64";
    pub(crate) const INITRD_ARM64: &str = "initrd-arm64";
    /// Unified kernel image.
    pub(crate) const UKI: &str = "boot.efi";
    /// For virtual media; BMCs want the ending.
    pub(crate) const ISO: &str = "boot.iso";
}

/// The URLs of one boot listener, address literals so that firmware needs no name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Urls {
    root: String,
    has_uki: bool,
    has_arm64: bool,
}

impl Urls {
    /// Of a listener without TLS.
    pub(crate) fn http(at: impl Into<SocketAddr>) -> Self {
        Self::new("http", at.into())
    }

    /// Of a listener with TLS.
    pub(crate) fn https(at: impl Into<SocketAddr>) -> Self {
        Self::new("https", at.into())
    }

    fn new(scheme: &str, at: SocketAddr) -> Self {
        // Without the scope, which is a name of this machine's and no part of a URL; an IPv4 address as such.
        let root = format!("{scheme}://{}", SocketAddr::new(at.ip().to_canonical(), at.port()));
        Self { root, has_uki: false, has_arm64: false }
    }

    /// With what is served besides iPXE and the ramdisk for x64.
    pub(crate) fn offering(self, config: &Config) -> Self {
        let has_arm64 = config.ipxe.arm64.is_some() && config.media.arm64.is_some();
        Self { has_uki: config.media.uki.is_some(), has_arm64, ..self }
    }

    pub(crate) fn ipxe_efi(&self) -> String {
        self.at(paths::IPXE_EFI)
    }

    /// If arm64 machines can be booted at all.
    pub(crate) fn ipxe_arm64(&self) -> Option<String> {
        self.has_arm64.then(|| self.at(paths::IPXE_ARM64))
    }

    pub(crate) fn local_script(&self) -> String {
        self.at(paths::LOCAL)
    }

    pub(crate) fn hold_script(&self) -> String {
        self.at(paths::HOLD)
    }

    pub(crate) fn absent(&self) -> String {
        self.at(paths::ABSENT)
    }

    pub(crate) fn boot_script(&self, boot_id: BootId) -> String {
        self.of_boot(boot_id, paths::SCRIPT)
    }

    /// If arm64 machines can be booted at all.
    pub(crate) fn boot_script_arm64(&self, boot_id: BootId) -> Option<String> {
        self.has_arm64.then(|| self.of_boot(boot_id, paths::SCRIPT_ARM64))
    }

    /// Kernel and ramdisk in one EFI program, for firmware that boots over HTTP by itself; if there is one.
    pub(crate) fn uki(&self, boot_id: BootId) -> Option<String> {
        self.has_uki.then(|| self.of_boot(boot_id, paths::UKI))
    }

    /// Kernel and ramdisk as a virtual CD.
    pub(crate) fn iso(&self, boot_id: BootId) -> String {
        self.of_boot(boot_id, paths::ISO)
    }

    pub(crate) fn of_boot(&self, boot_id: BootId, file: &str) -> String {
        self.at(&format!("{}/{boot_id}/{file}", paths::BOOT))
    }

    /// Without a slash at its end.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    fn at(&self, path: &str) -> String {
        format!("{}/{path}", self.root)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv6Addr, SocketAddrV6};

    use super::*;

    #[test]
    fn c117_ipv6_addresses_stand_in_brackets() {
        let urls = Urls::http("[fd00::1]:8080".parse::<SocketAddr>().unwrap());
        assert_eq!((urls.uki(BootId(7)), urls.ipxe_arm64()), (None, None));
        let urls = Urls { has_uki: true, has_arm64: true, ..urls };
        for url in [
            urls.ipxe_efi(),
            urls.ipxe_arm64().unwrap(),
            urls.boot_script_arm64(BootId(7)).unwrap(),
            urls.local_script(),
            urls.hold_script(),
            urls.absent(),
            urls.boot_script(BootId(7)),
            urls.uki(BootId(7)).unwrap(),
            urls.iso(BootId(7)),
        ] {
            assert!(url.starts_with("http://[fd00::1]:8080/"), "{url}");
        }
        let scoped = SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 0, 3);
        assert_eq!(Urls::https(scoped).hold_script(), "https://[fe80::1]:80/hold.ipxe");
        let mapped = SocketAddrV6::new(Ipv6Addr::from_bits(0xffff_0a4d_0001), 80, 0, 0);
        assert_eq!(Urls::http(mapped).hold_script(), "http://10.77.0.1:80/hold.ipxe");
    }
}
