//! Which file a boot client is sent to. The same for DHCPv4 and DHCPv6.

use std::net::SocketAddr;

use crate::config::Config;
use crate::directory::BootTarget;
use crate::identity::ClientArch;
use crate::script::Urls;
use crate::tftp::names;
use crate::trace::Phase;

/// What there is to be sent to on one interface.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    bios: bool,
    /// For iPXE.
    urls: Urls,
    /// For the firmware's own HTTP client: with TLS, where that is served.
    firmware: Urls,
}

impl Programs {
    /// Of the interface whose boot files are served at `http`.
    pub(crate) fn new(config: &Config, http: impl Into<SocketAddr>) -> Self {
        let http = http.into();
        let plain = Urls::http(http).offering(config);
        let tls = config.http.tls.as_ref();
        let encrypted = tls.map(|tls| Urls::https(SocketAddr::new(http.ip(), tls.port)).offering(config));
        let firmware = encrypted.unwrap_or_else(|| plain.clone());
        let urls = if tls.is_some_and(|tls| tls.ipxe) { firmware.clone() } else { plain };
        Self { bios: config.ipxe.bios.is_some(), firmware, urls }
    }

    /// The file's name (TFTP's) or URL. An error is the reason for silence; `None` means an address without a boot file.
    ///
    /// A host that boots from its disk is let go at once. Firmware goes on to its next boot entry seconds after "no such
    /// file", and stalls for a minute without an offer. Not by way of iPXE: Debian's `ipxe.efi` hangs OVMF when it
    /// exits.
    pub(crate) fn boot_file(
        &self,
        phase: Phase,
        arch: Option<ClientArch>,
        target: &BootTarget,
    ) -> Result<Option<String>, &'static str> {
        if *target == BootTarget::Nothing {
            return Err("nothing to boot");
        }
        match phase {
            Phase::System | Phase::Unknown => Ok(None),
            Phase::Ipxe => self.ipxe(arch, target).map(Some),
            Phase::HttpFirmware => self.http_firmware(arch, target).map(Some),
            Phase::PxeFirmware => self.pxe_firmware(arch, target).map(Some),
        }
    }

    fn ipxe(&self, arch: Option<ClientArch>, target: &BootTarget) -> Result<String, &'static str> {
        let no_kernel = "no kernel for this architecture";
        Ok(match target {
            BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id } => match arch {
                Some(arch) if arch.is_arm64() => self.urls.boot_script_arm64(*boot_id).ok_or(no_kernel)?,
                Some(arch) if !arch.is_x86_64() => return Err(no_kernel),
                _ => self.urls.boot_script(*boot_id),
            },
            BootTarget::LocalDisk => self.urls.local_script(),
            // A script, so that the URL may be of any length; one for all kinds of machines.
            BootTarget::LiveIso { boot_id, .. } => self.urls.boot_script(*boot_id),
            BootTarget::PowerOff | BootTarget::Nothing => self.urls.hold_script(),
        })
    }

    fn http_firmware(&self, arch: Option<ClientArch>, target: &BootTarget) -> Result<String, &'static str> {
        let urls = &self.firmware;
        match (target, arch) {
            (BootTarget::LocalDisk, _) => Ok(urls.absent()),
            // UEFI boots an ISO by itself, as a disk in memory that the system finds again. Where its URL does not fit,
            // iPXE is sent, which asks for a script.
            (BootTarget::LiveIso { url, .. }, _) if url.len() <= LONGEST_URL => Ok(url.clone()),
            (BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id }, Some(ClientArch::UEFI_X64_HTTP)) => {
                Ok(urls.uki(*boot_id).unwrap_or_else(|| urls.ipxe_efi()))
            }
            (_, Some(ClientArch::UEFI_X64_HTTP)) => Ok(urls.ipxe_efi()),
            (_, Some(ClientArch::UEFI_ARM64_HTTP)) => urls.ipxe_arm64().ok_or("no kernel for this architecture"),
            _ => Err("no HTTP boot program for this architecture"),
        }
    }

    fn pxe_firmware(&self, arch: Option<ClientArch>, target: &BootTarget) -> Result<String, &'static str> {
        let name = match (target, arch) {
            (BootTarget::LocalDisk, _) => names::ABSENT,
            (_, Some(ClientArch::UEFI_X64 | ClientArch::UEFI_X64_EBC)) => names::IPXE_EFI,
            (_, Some(ClientArch::UEFI_ARM64)) if self.urls.ipxe_arm64().is_some() => names::IPXE_ARM64,
            (_, Some(ClientArch::BIOS)) if self.bios => names::UNDIONLY,
            _ => return Err("no PXE boot program for this architecture"),
        };
        Ok(name.to_owned())
    }
}

/// One option of DHCPv4 holds no longer one, and firmware joins no two.
const LONGEST_URL: usize = 255;

#[cfg(test)]
#[path = "boot_file_tests.rs"]
mod tests;
