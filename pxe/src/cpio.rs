//! Writer of "newc" cpio archives (Linux `Documentation/driver-api/early-userspace/buffer-format.rst`), which the
//! kernel unpacks one after another from one initrd.

use std::collections::BTreeSet;

use bytes::Bytes;

use crate::overlay::Overlay;

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_000;
const TRAILER: &str = "TRAILER!!!";

/// A file that the archive cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CpioError {
    #[error("overlay path `{0}` is not a plain path from the root")]
    Path(String),
    #[error("overlay file `{0}` is larger than 4 GiB")]
    TooLarge(String),
}

/// The overlay as one archive: uncompressed, owned by root, times zero, so the same overlay gives the same octets. Directories come before
/// what is in them, because the kernel makes none by itself.
pub(crate) fn archive(overlay: &Overlay) -> Result<Bytes, CpioError> {
    let mut out = Vec::new();
    let mut inode = 0;
    let mut made = BTreeSet::new();
    for file in &overlay.files {
        let path = file.path.strip_prefix('/').unwrap_or(&file.path);
        if path.contains('\0') || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(CpioError::Path(file.path.escape_debug().to_string()));
        }
        for (end, _) in path.match_indices('/') {
            let parent = path.get(..end).unwrap_or_default();
            if made.insert(parent) {
                inode += 1;
                entry(&mut out, inode, DIRECTORY, parent, &[])?;
            }
        }
        inode += 1;
        entry(&mut out, inode, FILE | file.mode & 0o7777, path, &file.content)?;
    }
    entry(&mut out, 0, 0, TRAILER, &[])?;
    Ok(out.into())
}

/// Zero octets that follow `len` so that an archive may start: the kernel looks for one at multiples of four only.
pub(crate) fn padding(len: usize) -> &'static [u8] {
    match len % 4 {
        1 => &[0; 3],
        2 => &[0; 2],
        3 => &[0; 1],
        _ => &[],
    }
}

fn entry(out: &mut Vec<u8>, inode: u32, mode: u32, name: &str, content: &[u8]) -> Result<(), CpioError> {
    let too_large = |_| CpioError::TooLarge(name.to_owned());
    let size = u32::try_from(content.len()).map_err(too_large)?;
    let name_size = u32::try_from(name.len() + 1).map_err(too_large)?;
    let links = if mode == DIRECTORY { 2 } else { 1 };
    // inode, mode, uid, gid, links, mtime, size, device (2), special device (2), name size, checksum
    let fields = [inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name_size, 0];
    out.extend_from_slice(b"070701");
    for field in fields {
        out.extend_from_slice(format!("{field:08X}").as_bytes());
    }
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    pad(out);
    out.extend_from_slice(content);
    pad(out);
    Ok(())
}

fn pad(out: &mut Vec<u8>) {
    out.extend_from_slice(padding(out.len()));
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;
    use crate::overlay::OverlayFile;

    fn overlay(files: &[(&str, u32, &str)]) -> Overlay {
        let files = files.iter().map(|(path, mode, content)| OverlayFile {
            path: (*path).into(),
            mode: *mode,
            content: Bytes::copy_from_slice(content.as_bytes()),
        });
        Overlay { files: files.collect(), ..Overlay::default() }
    }

    #[test]
    fn an_archive_is_exactly_this() {
        let golden = concat!(
            "070701000000010000",
            "41ED000000000000000000000002000000000000000000000000000000000000000000000000",
            "0000000200000000",
            "a\0",
            "0707010000000200008180000000000000000000000001000000000000000500000000000000000000000000000000",
            "0000000400000000",
            "a/b\0\0\0",
            "hello\0\0\0",
            "0707010000000000000000000000000000000000000001000000000000000000000000000000000000000000000000",
            "0000000B00000000",
            "TRAILER!!!\0\0\0\0",
        );
        let made = archive(&overlay(&[("a/b", 0o600, "hello")])).unwrap();
        assert_eq!(String::from_utf8_lossy(&made), golden);
    }

    #[test]
    fn cpio_reads_it() {
        let archive =
            archive(&overlay(&[("etc/x/token", 0o600, "secret"), ("/etc/x/url", 0o644, "u"), ("bin", 0o755, "")]))
                .unwrap();
        let Ok(mut cpio) =
            Command::new("cpio").args(["-itv", "--quiet", "-n"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
        else {
            println!("SKIP cpio is not installed");
            return;
        };
        cpio.stdin.take().unwrap().write_all(&archive).unwrap();
        let output = cpio.wait_with_output().unwrap();
        assert!(output.status.success());
        let listing = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<_> = listing
            .lines()
            .map(|line| (line.split_whitespace().next().unwrap(), line.rsplit(' ').next().unwrap()))
            .collect();
        let expected = [
            ("drwxr-xr-x", "etc"),
            ("drwxr-xr-x", "etc/x"),
            ("-rw-------", "etc/x/token"),
            ("-rw-r--r--", "etc/x/url"),
            ("-rwxr-xr-x", "bin"),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn paths_that_leave_the_root_are_refused() {
        for bad in ["", "../x", "a/../b", "a//b", "a/", "a/.", "x\0y"] {
            assert!(matches!(archive(&overlay(&[(bad, 0o644, "")])), Err(CpioError::Path(_))), "{bad:?}");
        }
    }
}
