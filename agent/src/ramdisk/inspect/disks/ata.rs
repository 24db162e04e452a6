//! What an ATA disk says of itself (ACS-4, IDENTIFY DEVICE), as the kernel keeps it in SCSI's vital product data page 89h.

use std::fs;
use std::path::Path;

/// Where the 512 bytes of IDENTIFY DEVICE begin in the page (SAT-4).
const IDENTIFY_AT: usize = 60;

/// The words that we read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Identify {
    pub(super) model: String,
    pub(super) serial: String,
    pub(super) firmware: String,
}

impl Identify {
    /// From the page's file; none when it is not there or too short.
    pub(super) fn read(page: &Path) -> Option<Self> {
        Self::parse(fs::read(page).ok()?.get(IDENTIFY_AT..)?)
    }

    fn parse(identify: &[u8]) -> Option<Self> {
        // Text is stored with the two letters of each word swapped.
        let text = |first: usize, last: usize| {
            let words = identify.get(first * 2..=last * 2 + 1)?;
            let swapped: Vec<u8> = words.as_chunks::<2>().0.iter().flat_map(|[low, high]| [*high, *low]).collect();
            Some(printable(&swapped))
        };
        identify.get(..512)?;
        let found = Self { serial: text(10, 19)?, firmware: text(23, 26)?, model: text(27, 46)? };
        (!found.model.is_empty()).then_some(found)
    }
}

/// ASCII with nothing but printable letters, trimmed.
pub(super) fn printable(bytes: &[u8]) -> String {
    let letters: String = bytes.iter().filter(|byte| (32..127).contains(*byte)).map(|byte| char::from(*byte)).collect();
    letters.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_a_word_are_swapped() {
        let mut identify = vec![0; 512];
        identify[20..26].copy_from_slice(b"1S32 4");
        identify[46..50].copy_from_slice(b"WFB1");
        identify[54..60].copy_from_slice(b"oMed l");
        let found = Identify::parse(&identify).unwrap();
        assert_eq!((found.serial.as_str(), found.firmware.as_str(), found.model.as_str()), ("S1234", "FW1B", "Model"));
        assert_eq!(Identify::parse(&identify[..511]), None);
    }
}
