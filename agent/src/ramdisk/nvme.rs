//! What an NVMe controller says of itself (NVM Express base specification 2.0).

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use bessemer_protocol::NvmeCapabilities;

use crate::ioctl::{NvmeCommand, nvme_admin};

/// Bytes of every Identify structure.
const IDENTIFY_BYTES: usize = 4096;

/// Command opcode of Identify.
const IDENTIFY: u8 = 0x06;

const PATIENCE: Duration = Duration::from_secs(5);

/// Asks the controller behind a namespace's device.
pub(super) fn capabilities(device: impl AsFd) -> io::Result<NvmeCapabilities> {
    // Controller or Namespace Structure 01h is the controller's.
    let bytes = identify(device, 0, 1)?;
    parse(&bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// How a namespace is formatted: FLBAS of Identify Namespace.
pub(super) fn formatted_size(device: impl AsFd, namespace: u32) -> io::Result<u8> {
    let bytes = identify(device, namespace, 0)?;
    bytes.get(26).copied().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn identify(device: impl AsFd, namespace: u32, structure: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; IDENTIFY_BYTES];
    let command = NvmeCommand { opcode: IDENTIFY, namespace, dwords: [structure, 0], timeout: PATIENCE };
    nvme_admin(device, command, &mut bytes)?;
    Ok(bytes)
}

fn parse(identify: &[u8]) -> Option<NvmeCapabilities> {
    let word = |at: usize| Some(u32::from_le_bytes(identify.get(at..at + 4)?.try_into().ok()?));
    let optional_commands = u16::from_le_bytes(identify.get(256..258)?.try_into().ok()?);
    let (sanitize, format) = (word(328)?, identify.get(524)?);
    Some(NvmeCapabilities {
        sanitize_crypto: sanitize & 1 != 0,
        sanitize_block: sanitize & 2 != 0,
        sanitize_overwrite: sanitize & 4 != 0,
        format: optional_commands & 2 != 0,
        format_crypto: format & 4 != 0,
        format_erases_all: format & 2 != 0,
        namespaces: word(516)?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::inspect::fixture::data;
    use super::*;

    /// Three answers of real disks as `nvme id-ctrl` printed them; each file's name says what its disk can do.
    #[test]
    fn capabilities_are_those_that_nvme_cli_reads() {
        let table = [
            ("crypto_supported", true, true),
            ("userdata_supported", true, false),
            ("format_unsupported", false, false),
        ];
        for (name, format, format_crypto) in table {
            let Some(bytes) = data(&format!("host-tools/ipa/nvme_cli_info_template_{name}.json")) else { return };
            let said: Value = serde_json::from_slice(&bytes).unwrap();
            let number = |key: &str| said[key].as_u64().unwrap();
            let mut identify = vec![0; IDENTIFY_BYTES];
            identify[256..258].copy_from_slice(&u16::try_from(number("oacs")).unwrap().to_le_bytes());
            identify[328..332].copy_from_slice(&u32::try_from(number("sanicap")).unwrap().to_le_bytes());
            identify[516..520].copy_from_slice(&u32::try_from(number("nn")).unwrap().to_le_bytes());
            identify[524] = u8::try_from(number("fna")).unwrap();
            let found = parse(&identify).unwrap();
            assert_eq!((found.format, found.format_crypto), (format, format_crypto), "{name}");
            assert_eq!(u64::from(found.namespaces), number("nn"), "{name}");
            assert_eq!(found.sanitize_block, number("sanicap") >> 1 & 1 == 1, "{name}");
        }
        assert_eq!(parse(&[0; 512]), None);
    }
}
