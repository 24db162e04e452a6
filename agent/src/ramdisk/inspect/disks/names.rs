//! The other names of a disk, under `/dev/disk`. The ramdisk has no udev that would make the links, so they are told from where the disk
//! sits in the device tree, by the rules that udev follows: a hint that was copied from a running system must mean the same disk here.

use std::fs;
use std::path::{Path, PathBuf};

use bessemer_protocol::Disk;

use crate::files;

/// Where a disk sits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Components of the device's path below `/sys/devices`, whole paths, outermost first.
    chain: Vec<PathBuf>,
    /// Of the last PCI function on the way.
    pub(super) pci: Option<String>,
    /// SCSI host:channel:target:lun.
    pub(super) hctl: Option<String>,
}

impl Place {
    /// `folder` is the disk's own in `/sys/block`.
    pub(super) fn of(folder: &Path) -> Self {
        let Ok(device) = fs::canonicalize(folder.join("device")) else { return Self::default() };
        let mut chain: Vec<PathBuf> = device.ancestors().map(Path::to_owned).collect();
        chain.reverse();
        let names: Vec<String> = chain.iter().map(|path| files::name(path)).collect();
        Self {
            pci: names.iter().rev().find(|name| is_pci(name)).cloned(),
            hctl: names.last().filter(|name| is_hctl(name)).cloned(),
            chain,
        }
    }

    /// The innermost ancestor whose name begins so, and what follows the beginning.
    fn ancestor(&self, prefix: &str) -> Option<(&Path, String)> {
        self.chain.iter().rev().find_map(|path| {
            let name = files::name(path);
            let rest = name.strip_prefix(prefix)?;
            rest.starts_with(|c: char| c.is_ascii_digit()).then(|| (path.as_path(), rest.to_owned()))
        })
    }

    /// The bus that the disk is on, by `lsblk`'s words.
    pub(super) fn transport(&self, name: &str) -> &'static str {
        let on = |prefix: &str| self.ancestor(prefix).is_some();
        match name {
            _ if name.starts_with("nvme") => "nvme",
            _ if name.starts_with("mmcblk") => "mmc",
            _ if on("usb") => "usb",
            _ if on("ata") => "sata",
            _ if on("end_device-") => "sas",
            _ if on("rport-") => "fc",
            _ if on("session") => "iscsi",
            _ if name.starts_with("vd") => "virtio",
            _ if self.hctl.is_some() => "scsi",
            _ => "",
        }
    }

    /// Links of `/dev/disk/by-path`: none for what is not on PCI.
    pub(super) fn by_path(&self, folder: &Path, name: &str) -> Vec<String> {
        let Some(pci) = &self.pci else { return Vec::new() };
        let link = |rest: &str| format!("/dev/disk/by-path/pci-{pci}{rest}");
        if name.starts_with("nvme") {
            let namespace = files::line(folder.join("nsid")).unwrap_or_else(|| "1".to_owned());
            return vec![link(&format!("-nvme-{namespace}"))];
        }
        let Some(hctl) = &self.hctl else {
            let virtio = self.ancestor("virtio").map(|_| format!("/dev/disk/by-path/virtio-pci-{pci}"));
            return std::iter::once(link("")).chain(virtio).collect();
        };
        let mut parts = hctl.splitn(4, ':').map(str::to_owned);
        let mut part = || parts.next().unwrap_or_default();
        let (host, channel, target, lun) = (part(), part(), part(), part());
        if let Some((port, number)) = self.ancestor("ata") {
            let port = files::line(port.join(format!("ata_port/ata{number}/port_no"))).unwrap_or(number);
            return vec![link(&format!("-ata-{port}.{target}")), link(&format!("-ata-{port}"))];
        }
        if let Some(place) = self.sas(&lun) {
            return vec![link(&format!("-{place}"))];
        }
        let scsi = format!("-scsi-{}:{channel}:{target}:{lun}", self.host_offset(&host));
        match self.usb() {
            Some(usb) => vec![link(&format!("-usb-0:{usb}{scsi}"))],
            None => vec![link(&scsi)],
        }
    }

    /// Port and interface of a USB device: `1:1.0` of the interface `2-1:1.0`.
    fn usb(&self) -> Option<String> {
        self.ancestor("usb")?;
        let interface =
            self.chain.iter().rev().map(|path| files::name(path)).find(|name| {
                name.contains('-') && name.contains(':') && name.starts_with(|c: char| c.is_ascii_digit())
            })?;
        interface.split_once('-').map(|(_, rest)| rest.to_owned())
    }

    fn sas(&self, lun: &str) -> Option<String> {
        let (device, number) = self.ancestor("end_device-")?;
        let folder = device.join("sas_device").join(format!("end_device-{number}"));
        let phy = files::line(folder.join("phy_identifier"))?;
        let Some((expander, number)) = self.ancestor("expander-") else {
            return Some(format!("sas-phy{phy}-lun-{lun}"));
        };
        let address = files::line(expander.join("sas_device").join(format!("expander-{number}")).join("sas_address"))?;
        Some(format!("sas-exp{address}-phy{phy}-lun-{lun}"))
    }

    /// Hosts are numbered over the whole machine; what is stable is the number within their controller.
    fn host_offset(&self, host: &str) -> u32 {
        let Ok(host) = host.parse::<u32>() else { return 0 };
        let Some(parent) = self.ancestor("host").and_then(|(path, _)| path.parent()) else { return 0 };
        let numbers =
            files::entries(parent).into_iter().filter_map(|path| files::name(&path).strip_prefix("host")?.parse().ok());
        host.saturating_sub(numbers.min().unwrap_or(host))
    }
}

/// Links of `/dev/disk/by-id`.
pub(super) fn by_id(disk: &Disk) -> Vec<String> {
    let plain = |text: &str| {
        let letters: String = text
            .trim()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "#+-.:=@_".contains(c) { c } else { '_' })
            .collect();
        letters
    };
    let bus = match disk.transport.as_str() {
        "nvme" => "nvme",
        "sata" => "ata",
        _ => "",
    };
    let mut names = Vec::new();
    if !bus.is_empty() && !disk.serial_number.is_empty() {
        names.push(format!("{bus}-{}_{}", plain(&disk.model), plain(&disk.serial_number)));
    }
    if disk.transport == "virtio" && !disk.serial_number.is_empty() {
        names.push(format!("virtio-{}", plain(&disk.serial_number)));
    }
    if let Some(digits) = disk.wwn_with_extension.strip_prefix("0x") {
        names.push(format!("wwn-0x{digits}"));
        if disk.transport != "sata" {
            names.push(format!("scsi-3{digits}"));
        }
    } else if !disk.wwn.is_empty() && bus == "nvme" {
        names.push(format!("nvme-{}", disk.wwn));
    }
    names.into_iter().map(|name| format!("/dev/disk/by-id/{name}")).collect()
}

/// `domain:bus:device.function`.
pub(in crate::ramdisk::inspect) fn is_pci(name: &str) -> bool {
    let hexadecimal = |text: &str, length: usize| text.len() >= length && text.chars().all(|c| c.is_ascii_hexdigit());
    let mut parts = name.split([':', '.']);
    let mut next = |length| parts.next().is_some_and(|part| hexadecimal(part, length));
    name.matches(':').count() == 2 && next(4) && next(2) && next(2) && next(1) && parts.next().is_none()
}

fn is_hctl(name: &str) -> bool {
    let parts: Vec<&str> = name.split(':').collect();
    parts.len() == 4 && parts.iter().all(|part| part.parse::<u64>().is_ok())
}
