//! `bmc boot`.

use bessemer_bmc::{Bmc, BootDevice, BootFirmware, BootLifetime, BootOverride};

use super::exit::Failure;
use super::options::{BootOptions, Device};
use super::outcome::Outcome;
use super::output::{Format, show};

pub(super) async fn choose(bmc: &dyn Bmc, options: &BootOptions, format: Format) -> Result<(), Failure> {
    let wanted = wanted(options)?;
    let read_back = bmc.set_boot_override(&wanted).await?;
    show(format, &Outcome::new(format!("boot from {wanted}"), read_back), Outcome::line)
}

fn wanted(options: &BootOptions) -> Result<BootOverride, Failure> {
    let device = match options.device {
        Device::Pxe => BootDevice::Pxe,
        Device::Disk => BootDevice::Disk,
        Device::Cd => BootDevice::Cd,
        Device::None => BootDevice::None,
        Device::Http => BootDevice::UefiHttp(options.url.clone()),
    };
    if options.url.is_some() && options.device != Device::Http {
        return Err(Failure::usage("only `boot http` takes a URL; a CD is inserted with `media insert URL`"));
    }
    if options.legacy && options.device == Device::Http {
        return Err(Failure::usage("only UEFI boots by HTTP: leave --legacy out"));
    }
    Ok(BootOverride {
        device,
        lifetime: if options.once { BootLifetime::Once } else { BootLifetime::Persistent },
        firmware: if options.legacy { BootFirmware::Legacy } else { BootFirmware::Uefi },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_an_override() {
        let options = |device, url: Option<&str>, once, legacy| {
            wanted(&BootOptions { device, url: url.map(str::to_owned), once, legacy }).map(|wanted| wanted.to_string())
        };
        assert_eq!(options(Device::Pxe, None, true, false).unwrap(), "pxe (once, uefi)");
        assert_eq!(options(Device::Cd, None, false, true).unwrap(), "cd (persistent, legacy)");
        let http = options(Device::Http, Some("http://h/a.efi?token=x"), true, false).unwrap();
        assert_eq!(http, "uefi http from http://h/a.efi (once, uefi)");
        assert!(options(Device::Cd, Some("http://h/a.iso"), true, false).is_err());
        assert!(options(Device::Http, None, true, true).is_err());
    }
}
