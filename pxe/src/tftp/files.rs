//! The table of files, and how a name that firmware asks for finds one.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// Longer names are no file of ours.
const LONGEST_NAME: usize = 255;

/// How a file is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// As it is.
    Octet,
    /// Lines ended by CR LF, and a CR of its own followed by NUL (RFC 764): what `tftp` asks for unless told otherwise.
    NetAscii,
}

/// Why a name finds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoFile {
    /// There is none of that name.
    Unknown,
    /// The name is not one that a file here could have.
    Forbidden(&'static str),
}

#[derive(Debug)]
struct File {
    octets: Bytes,
    /// Made once, when somebody asks for it.
    netascii: OnceLock<Bytes>,
}

/// Files by name, all in memory. Cloning it copies no content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files(BTreeMap<String, Arc<File>>);

impl Files {
    /// Adds or replaces a file.
    pub(crate) fn insert(&mut self, name: &str, octets: Bytes) {
        self.0.insert(name.to_owned(), Arc::new(File { octets, netascii: OnceLock::new() }));
    }

    /// What is served, with its length.
    pub(crate) fn list(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, file)| (name.as_str(), file.octets.len()))
    }

    /// The file that `asked` means and its name here. Leading and doubled slashes, backslashes, and `.` are what
    /// firmware makes of a boot file name; `..` is what nobody with honest intent sends.
    pub(super) fn find(&self, asked: &str, mode: Mode) -> Result<(String, Bytes), NoFile> {
        let name = normalise(asked)?;
        let file = self.0.get(&name).ok_or(NoFile::Unknown)?;
        let content = match mode {
            Mode::Octet => &file.octets,
            Mode::NetAscii => file.netascii.get_or_init(|| netascii(&file.octets)),
        };
        Ok((name, content.clone()))
    }
}

fn normalise(asked: &str) -> Result<String, NoFile> {
    if asked.len() > LONGEST_NAME {
        return Err(NoFile::Forbidden("the file name is too long"));
    }
    if asked.chars().any(char::is_control) {
        return Err(NoFile::Forbidden("the file name has control characters"));
    }
    let parts = || asked.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".");
    if parts().any(|part| part == "..") {
        return Err(NoFile::Forbidden("the file name leaves the directory"));
    }
    Ok(parts().collect::<Vec<_>>().join("/"))
}

fn netascii(octets: &[u8]) -> Bytes {
    let mut text = Vec::with_capacity(octets.len() + octets.len() / 64);
    for octet in octets {
        match octet {
            b'\n' => text.extend_from_slice(b"\r\n"),
            b'\r' => text.extend_from_slice(b"\r\0"),
            other => text.push(*other),
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalised_or_refused() {
        let mut files = Files::default();
        files.insert("ipxe.efi", Bytes::from_static(b"efi"));
        files.insert("arm64/ipxe.efi", Bytes::from_static(b"arm"));
        let forbidden = |why| Err(NoFile::Forbidden(why));
        for (asked, expected) in [
            ("ipxe.efi", Ok("ipxe.efi")),
            ("/ipxe.efi", Ok("ipxe.efi")),
            ("//ipxe.efi", Ok("ipxe.efi")),
            ("\\ipxe.efi", Ok("ipxe.efi")),
            ("./ipxe.efi", Ok("ipxe.efi")),
            ("arm64\\\\ipxe.efi", Ok("arm64/ipxe.efi")),
            ("/arm64//./ipxe.efi", Ok("arm64/ipxe.efi")),
            ("IPXE.EFI", Err(NoFile::Unknown)),
            ("", Err(NoFile::Unknown)),
            ("/", Err(NoFile::Unknown)),
            ("C:\\ipxe.efi", Err(NoFile::Unknown)),
            ("...", Err(NoFile::Unknown)),
            ("/etc/passwd", Err(NoFile::Unknown)),
            ("../ipxe.efi", forbidden("the file name leaves the directory")),
            ("arm64/../ipxe.efi", forbidden("the file name leaves the directory")),
            ("..\\..\\boot.ini", forbidden("the file name leaves the directory")),
            ("ipxe.efi\n", forbidden("the file name has control characters")),
        ] {
            let found = files.find(asked, Mode::Octet).map(|(name, _)| name);
            assert_eq!(found.as_deref(), expected.as_ref().map(|name| *name), "{asked:?}");
        }
        assert_eq!(
            files.find(&"a/".repeat(200), Mode::Octet).unwrap_err(),
            NoFile::Forbidden("the file name is too long")
        );
    }

    #[test]
    fn netascii_ends_lines_as_the_network_does() {
        let mut files = Files::default();
        files.insert("text", Bytes::from_static(b"a\nb\r\nc\r"));
        let (_, content) = files.find("text", Mode::NetAscii).unwrap();
        assert_eq!(content.as_ref(), b"a\r\nb\r\0\r\nc\r\0");
        assert_eq!(files.find("text", Mode::Octet).unwrap().1.as_ref(), b"a\nb\r\nc\r");
    }
}
