//! `BOOTX64.CSV`: what shim's fallback program makes boot entries of. Lines of loader, label, options and comment in UTF-16.

/// Which loader of a folder to start, and under what name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// File in the same folder.
    pub loader: String,
    /// Label of the boot entry.
    pub label: String,
}

/// Largest file that is read, in bytes.
const LARGEST: usize = 64 << 10;

/// Reads the lines. Little-endian is the rule; a byte order mark, or zeroes in the other half of the first unit, tell otherwise.
#[must_use]
pub fn parse(bytes: &[u8]) -> Vec<Line> {
    let bytes = bytes.get(..bytes.len().min(LARGEST)).unwrap_or_default();
    let big = match bytes.get(..2) {
        Some([0xfe, 0xff]) => true,
        Some([0xff, 0xfe]) => false,
        Some([0, second]) => *second != 0,
        _ => false,
    };
    let unit = |pair: &[u8]| pair.try_into().map_or(0, if big { u16::from_be_bytes } else { u16::from_le_bytes });
    let units = bytes.chunks_exact(2).map(unit);
    let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
    text.trim_start_matches('\u{feff}')
        .split(['\n', '\r', '\0'])
        .filter_map(|line| {
            let mut fields = line.split(',').map(str::trim);
            let (loader, label) = (fields.next()?.to_owned(), fields.next().unwrap_or_default().to_owned());
            let plain = !loader.is_empty() && !loader.contains(['/', '\\', ':']);
            plain.then_some(Line { loader, label })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c181_every_encoding_of_the_csv_names_the_same_loader() {
        let text = "shimx64.efi,ubuntu,,This is the boot entry for ubuntu\n";
        let little = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let big = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
        let marked = format!("\u{feff}{text}");
        for bytes in [little(&marked), little(text), big(&marked), big(text)] {
            assert_eq!(parse(&bytes), [Line { loader: "shimx64.efi".into(), label: "ubuntu".into() }]);
        }
        assert_eq!(parse(&[]), []);
        assert_eq!(parse(&little("\n\n")), []);
        assert_eq!(parse(&little("..\\evil.efi,x\n")), []);
        assert_eq!(parse(&[0xff]), []);
    }
}
