//! Who this machine is by its own firmware.

use std::path::Path;

use bessemer_protocol::HardwareIdentity;

use crate::files;

/// Reads SMBIOS as the kernel shows it and the addresses of every physical NIC. `sys` is `/sys` outside tests.
pub(crate) fn read(sys: &Path) -> HardwareIdentity {
    let dmi = sys.join("class/dmi/id");
    HardwareIdentity {
        smbios_uuid: files::line(dmi.join("product_uuid")),
        serial: files::line(dmi.join("product_serial")),
        macs: physical_nics(sys).into_iter().map(|nic| nic.mac).collect(),
    }
}

/// A NIC with hardware behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PhysicalNic {
    /// As the kernel named it.
    pub(crate) name: String,
    /// Lower case, colons.
    pub(crate) mac: String,
    /// The kernel's index.
    pub(crate) index: u32,
}

/// Ethernet interfaces that have a device: no loopback, bridges, tunnels or container ends.
pub(crate) fn physical_nics(sys: &Path) -> Vec<PhysicalNic> {
    /// `ARPHRD_ETHER`
    const ETHERNET: u32 = 1;
    files::entries(sys.join("class/net"))
        .into_iter()
        .filter(|path| path.join("device").exists() && files::number(path.join("type")) == Some(ETHERNET))
        .filter_map(|path| {
            Some(PhysicalNic {
                name: files::name(&path),
                // A bond gives its members its own address.
                mac: files::line(path.join("bonding_slave/perm_hwaddr"))
                    .or_else(|| files::line(path.join("address")))?
                    .to_ascii_lowercase(),
                index: files::number(path.join("ifindex"))?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_nics_with_hardware_identify_a_machine() {
        let sys = tempfile::tempdir().unwrap();
        let nic = |name: &str, kind: &str, hardware: bool| {
            let folder = sys.path().join("class/net").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("type"), kind).unwrap();
            fs::write(folder.join("address"), "52:54:00:AB:CD:01\n").unwrap();
            fs::write(folder.join("ifindex"), "2\n").unwrap();
            if hardware {
                fs::create_dir(folder.join("device")).unwrap();
            }
        };
        nic("eth0", "1\n", true);
        nic("br0", "1\n", false);
        nic("ib0", "32\n", true);
        fs::create_dir_all(sys.path().join("class/dmi/id")).unwrap();
        fs::write(sys.path().join("class/dmi/id/product_uuid"), "8a6f\n").unwrap();
        fs::write(sys.path().join("class/dmi/id/product_serial"), " \n").unwrap();
        let identity = read(sys.path());
        assert_eq!(identity.macs, ["52:54:00:ab:cd:01"]);
        assert_eq!(identity.smbios_uuid.as_deref(), Some("8a6f"));
        assert_eq!(identity.serial, None);
    }
}
