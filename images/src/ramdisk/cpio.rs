//! Writes the kernel's initramfs format: cpio "newc" (the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`). Owner
//! is always root and no time is recorded, so that equal content gives equal bytes.

const REGULAR: u32 = 0o100_000;
const FOLDER: u32 = 0o040_000;
const LINK: u32 = 0o120_777;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive in the making.
#[derive(Debug, Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    entries: u32,
}

struct Entry<'a> {
    name: &'a str,
    mode: u32,
    links: u32,
    device: (u32, u32),
    content: &'a [u8],
}

impl Writer {
    /// A folder; its parent must be there.
    pub(super) fn folder(&mut self, name: &str) {
        self.add(&Entry { name, mode: FOLDER | 0o755, links: 2, device: (0, 0), content: &[] });
    }

    /// A file with permission bits `mode`.
    pub(super) fn file(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.add(&Entry { name, mode: REGULAR | mode, links: 1, device: (0, 0), content });
    }

    /// A symbolic link to `target`.
    pub(super) fn link(&mut self, name: &str, target: &str) {
        self.add(&Entry { name, mode: LINK, links: 1, device: (0, 0), content: target.as_bytes() });
    }

    /// A device node that only root may use.
    pub(super) fn character_device(&mut self, name: &str, major: u32, minor: u32) {
        self.add(&Entry { name, mode: CHARACTER_DEVICE | 0o600, links: 1, device: (major, minor), content: &[] });
    }

    /// The whole archive.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.add(&Entry { name: "TRAILER!!!", mode: 0, links: 1, device: (0, 0), content: &[] });
        self.bytes
    }

    fn add(&mut self, entry: &Entry<'_>) {
        let inode = if entry.mode == 0 {
            0
        } else {
            self.entries += 1;
            self.entries
        };
        let (major, minor) = entry.device;
        let fields: [usize; 13] = [
            inode as usize,
            entry.mode as usize,
            0,
            0,
            entry.links as usize,
            0,
            entry.content.len(),
            0,
            0,
            major as usize,
            minor as usize,
            entry.name.len() + 1,
            0,
        ];
        self.bytes.extend(b"070701");
        for field in fields {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(entry.name.bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(entry.content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn gnu_cpio_reads_what_is_written() {
        let mut archive = Writer::default();
        archive.folder("etc");
        archive.file("etc/odd", 0o640, b"12345");
        archive.character_device("console", 5, 1);
        archive.link("etc/linked", "/init");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let Ok(mut cpio) =
            Command::new("cpio").args(["-itv", "--quiet"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            println!("SKIP no cpio");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = listing.lines().collect();
        assert_eq!(lines.len(), 4, "{listing}");
        assert!(lines[0].starts_with("drwxr-xr-x") && lines[0].ends_with("etc"), "{listing}");
        assert!(lines[1].starts_with("-rw-r-----") && lines[1].contains(" 5 "), "{listing}");
        assert!(lines[2].starts_with("crw-------") && lines[2].contains("5,   1"), "{listing}");
        assert!(lines[3].ends_with("etc/linked -> /init"), "{listing}");
    }
}
