//! The NIC that the machine booted through, as its boot loader says.

use std::fs;

/// The address after `BOOTIF=` on the kernel's command line, as PXE loaders give it: hardware type, then the octets, with dashes.
pub(in crate::ramdisk) fn boot_nic() -> Option<String> {
    of(&fs::read_to_string("/proc/cmdline").ok()?)
}

fn of(command_line: &str) -> Option<String> {
    let value = command_line.split_whitespace().find_map(|word| word.strip_prefix("BOOTIF="))?;
    let mac = value.to_ascii_lowercase().replace('-', ":");
    Some(if mac.len() > 17 { mac.strip_prefix("01:")?.to_owned() } else { mac })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_nic_is_read_in_the_forms_that_loaders_write() {
        for line in ["quiet BOOTIF=01-52-54-00-AB-00-01 x=y", "BOOTIF=52:54:00:ab:00:01", "BOOTIF=01:52:54:00:ab:00:01"]
        {
            assert_eq!(of(line).as_deref(), Some("52:54:00:ab:00:01"), "{line}");
        }
        assert_eq!(of("console=ttyS0"), None);
    }
}
