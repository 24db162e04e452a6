//! The boot override over IPMI: parameter 3 so that it is not forgotten, parameter 4 so that firmware looks again,
//! parameter 5 in one write, parameter 5 read back.

use ipmi_client::IpmiError;
use ipmi_client::command::{
    self, AcknowledgeBootInfo, BootFlags, BootFlagsReport, GetBootFlags, GetDeviceId, KeepBootFlagsValid, SetBootFlags,
};

use super::{IpmiBmc, vendors};
use crate::{BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, ReadBack};

const ACT: &str = "setting the boot override";

impl IpmiBmc {
    pub(super) async fn write_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let mut flags = flags(wanted).map_err(|why| BmcError::Unsupported {
            act: format!("bmc {}, {ACT}", self.address),
            why: why.to_owned(),
        })?;
        if flags.efi && flags.device == command::BootDevice::HardDrive {
            flags.device = vendors::uefi_disk(self.execute(ACT, &GetDeviceId).await?.manufacturer);
        }
        // Both are optional; without the first, power on has to follow within a minute.
        self.optional(ACT, self.client.execute(&KeepBootFlagsValid).await)?;
        self.optional(ACT, self.client.execute(&AcknowledgeBootInfo).await)?;
        self.execute(ACT, &SetBootFlags(flags)).await?;
        let report = match self.client.execute(&GetBootFlags).await {
            Ok(report) => report,
            Err(IpmiError::Completion { code, .. }) if !code.is_transient() => {
                return Ok(ReadBack::Unverifiable(format!("the bmc does not report its boot flags: {code}")));
            }
            Err(error) => return Err(self.explain("reading the boot override back", error)),
        };
        match judge(flags, report) {
            Verdict::Confirmed => Ok(ReadBack::Confirmed),
            Verdict::Unverifiable(why) => Ok(ReadBack::Unverifiable(why.to_owned())),
            Verdict::OtherBits if !vendors::tells_boot_bits(self.execute(ACT, &GetDeviceId).await?.manufacturer) => {
                Ok(ReadBack::Unverifiable(
                    "the bmc reports the device, and no lifetime or firmware interface ever".to_owned(),
                ))
            }
            Verdict::OtherBits | Verdict::Contradicted => Err(BmcError::Contradicted {
                address: self.address.to_string(),
                wrote: format!("boot override {wanted}"),
                read: format!("{:?}", report.flags),
            }),
        }
    }
}

fn flags(wanted: &BootOverride) -> Result<BootFlags, &'static str> {
    let device = match wanted.device {
        // The valid bit goes too, or firmware would go on heeding the empty override.
        BootDevice::None => {
            return Ok(BootFlags { valid: false, persistent: false, efi: false, device: command::BootDevice::None });
        }
        BootDevice::Pxe => command::BootDevice::Pxe,
        BootDevice::Disk => command::BootDevice::HardDrive,
        BootDevice::Cd => command::BootDevice::Optical,
        BootDevice::UefiHttp(_) => return Err("ipmi has no boot flag for http; ask for pxe, or use redfish"),
    };
    Ok(BootFlags {
        valid: true,
        persistent: wanted.lifetime == BootLifetime::Persistent,
        efi: wanted.firmware == BootFirmware::Uefi,
        device,
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Confirmed,
    Unverifiable(&'static str),
    /// The device, with another firmware interface or lifetime.
    OtherBits,
    Contradicted,
}

/// Bits contradict only where the valid one is set: OpenIPMI's simulator keeps the device and reports every bit as zero,
/// and other BMCs clear them all once firmware has taken note. One that holds valid flags with another firmware interface
/// or lifetime will have the server boot by those.
fn judge(wrote: BootFlags, report: BootFlagsReport) -> Verdict {
    let read = report.flags;
    if report.parameter_invalid {
        Verdict::Unverifiable("the bmc marks its boot flags as invalid or locked")
    } else if !wrote.valid && !read.valid {
        Verdict::Confirmed
    } else if read.device == command::BootDevice::HardDrive && vendors::is_uefi_disk(wrote.device) && read.valid {
        Verdict::Unverifiable("the bmc reports the disk by another selector than it was written by")
    } else if read.device != wrote.device {
        Verdict::Contradicted
    } else if read == wrote {
        Verdict::Confirmed
    } else if !read.valid {
        Verdict::Unverifiable("the bmc reports the device and leaves the valid bit clear")
    } else if !wrote.valid {
        Verdict::Unverifiable("the bmc reports no device and leaves the valid bit set")
    } else {
        Verdict::OtherBits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let pxe = flags(&BootOverride::once(BootDevice::Pxe)).unwrap();
        let none = flags(&BootOverride::once(BootDevice::None)).unwrap();
        let disk = flags(&BootOverride::once(BootDevice::Disk)).unwrap();
        let bare = |flags: BootFlags| BootFlags { valid: false, persistent: false, efi: false, ..flags };
        for (wrote, read, confirmed, contradicted) in [
            (pxe, pxe, true, false),
            (pxe, bare(pxe), false, false),
            (pxe, BootFlags { efi: false, ..pxe }, false, true),
            (pxe, BootFlags { persistent: true, ..pxe }, false, true),
            (pxe, disk, false, true),
            (pxe, bare(disk), false, true),
            (pxe, none, false, true),
            (none, none, true, false),
            (none, bare(pxe), true, false),
            (none, pxe, false, true),
        ] {
            let verdict = judge(wrote, BootFlagsReport { flags: read, parameter_invalid: false });
            assert_eq!(verdict == Verdict::Confirmed, confirmed, "{wrote:?} {read:?}");
            assert_eq!(
                matches!(verdict, Verdict::Contradicted | Verdict::OtherBits),
                contradicted,
                "{wrote:?} {read:?}"
            );
        }
        let locked = judge(pxe, BootFlagsReport { flags: disk, parameter_invalid: true });
        assert!(matches!(locked, Verdict::Unverifiable(_)));
    }

    #[test]
    fn every_wish_has_its_flags() {
        let wish = BootOverride {
            device: BootDevice::Disk,
            lifetime: BootLifetime::Persistent,
            firmware: BootFirmware::Legacy,
        };
        let expected = BootFlags { valid: true, persistent: true, efi: false, device: command::BootDevice::HardDrive };
        assert_eq!(flags(&wish), Ok(expected));
        assert!(flags(&BootOverride::once(BootDevice::UefiHttp(None))).unwrap_err().contains("use redfish"));
    }
}
