//! The loader on an EFI system partition, and its copy where firmware looks that has forgotten its entries.

use std::io::{self, Read, Seek, Write};

use bessemer_image_formats::boot::csv;
use fatfs::{Dir, FileSystem};

#[cfg(target_arch = "aarch64")]
const ARCH: &str = "AA64";
#[cfg(not(target_arch = "aarch64"))]
const ARCH: &str = "X64";

/// Folder of the fallback loader.
const FALLBACK: &str = "BOOT";

/// Largest program that is copied, in bytes.
const LARGEST: u64 = 64 << 20;

/// The loader that an entry should start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// With backslashes from the partition's root.
    pub(super) path: String,
    /// Label of the entry.
    pub(super) label: String,
    /// Whether the fallback loader is there.
    pub(super) has_fallback: bool,
}

/// A file of a vendor's folder.
#[derive(Debug)]
struct Candidate {
    folder: String,
    file: String,
    label: String,
}

/// Looks for a loader in this order: what a `BOOT*.CSV` names, a loader known by its name, the fallback loader itself.
pub(super) fn find<T: Read + Write + Seek>(volume: &FileSystem<T>) -> io::Result<Option<Found>> {
    let Some(efi) = open(&volume.root_dir(), "EFI")? else { return Ok(None) };
    let fallback = format!("BOOT{ARCH}.EFI");
    let has_fallback = match open(&efi, FALLBACK)? {
        Some(folder) => own_name(&folder, &fallback)?.is_some(),
        None => false,
    };
    let mut named = Vec::new();
    let mut known = Vec::new();
    for name in folders(&efi)? {
        if name.eq_ignore_ascii_case(FALLBACK) {
            continue;
        }
        let Some(folder) = open(&efi, &name)? else { continue };
        named.extend(from_csv(&folder, &name)?);
        known.extend(by_name(&folder, &name)?);
    }
    let chosen = named.into_iter().chain(known).next();
    let chosen = chosen.or_else(|| {
        has_fallback.then(|| Candidate { folder: FALLBACK.to_owned(), file: fallback, label: "Linux".to_owned() })
    });
    Ok(chosen.map(|Candidate { folder, file, label }| Found {
        path: format!(r"\EFI\{folder}\{file}"),
        label,
        has_fallback,
    }))
}

/// Copies the loader, and what a shim wants beside it, to the fallback's place if nothing is there.
pub(super) fn ensure_fallback<T: Read + Write + Seek>(volume: &FileSystem<T>, mut found: Found) -> io::Result<Found> {
    if found.has_fallback {
        return Ok(found);
    }
    let root = volume.root_dir();
    let Some((folder, file)) = found.path.trim_start_matches(r"\EFI\").rsplit_once('\\') else { return Ok(found) };
    let Some(efi) = open(&root, "EFI")? else { return Ok(found) };
    let Some(from) = open(&efi, folder)? else { return Ok(found) };
    let to = efi.create_dir(FALLBACK)?;
    let arch = ARCH.to_ascii_lowercase();
    // The copy of the loader comes last, as it is what makes the place bootable.
    let companions = if file.to_ascii_lowercase().starts_with("shim") {
        vec![format!("grub{arch}.efi"), format!("mm{arch}.efi")]
    } else {
        Vec::new()
    };
    for companion in companions {
        if let Some(name) = own_name(&from, &companion)? {
            copy(&from, &name, &to, &name)?;
        }
    }
    copy(&from, file, &to, &format!("BOOT{ARCH}.EFI"))?;
    found.has_fallback = true;
    Ok(found)
}

fn copy<T: Read + Write + Seek>(from: &Dir<'_, T>, source: &str, to: &Dir<'_, T>, target: &str) -> io::Result<()> {
    let mut content = Vec::new();
    from.open_file(source)?.take(LARGEST + 1).read_to_end(&mut content)?;
    if content.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("{source} has more than {LARGEST} bytes")));
    }
    let mut file = to.create_file(target)?;
    file.truncate()?;
    file.write_all(&content)?;
    file.flush()
}

/// A folder of `parent`, whatever the case of its letters.
fn open<'a, T: Read + Write + Seek>(parent: &Dir<'a, T>, name: &str) -> io::Result<Option<Dir<'a, T>>> {
    match parent.open_dir(name) {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn folders<T: Read + Write + Seek>(parent: &Dir<'_, T>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in parent.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if entry.is_dir() && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The name of a file as it is written there.
fn own_name<T: Read + Write + Seek>(folder: &Dir<'_, T>, name: &str) -> io::Result<Option<String>> {
    for entry in folder.iter() {
        let entry = entry?;
        if entry.is_file() && entry.file_name().eq_ignore_ascii_case(name) {
            return Ok(Some(entry.file_name()));
        }
    }
    Ok(None)
}

fn from_csv<T: Read + Write + Seek>(folder: &Dir<'_, T>, name: &str) -> io::Result<Option<Candidate>> {
    for csv in [format!("BOOT{ARCH}.CSV"), "BOOT.CSV".to_owned()] {
        let Some(csv) = own_name(folder, &csv)? else { continue };
        let mut bytes = Vec::new();
        folder.open_file(&csv)?.take(LARGEST).read_to_end(&mut bytes)?;
        for line in csv::parse(&bytes) {
            if let Some(file) = own_name(folder, &line.loader)? {
                let label = if line.label.is_empty() { name.to_owned() } else { line.label };
                return Ok(Some(Candidate { folder: name.to_owned(), file, label }));
            }
        }
    }
    Ok(None)
}

fn by_name<T: Read + Write + Seek>(folder: &Dir<'_, T>, name: &str) -> io::Result<Option<Candidate>> {
    let arch = ARCH.to_ascii_lowercase();
    for loader in ["shim", "grub", "systemd-boot"] {
        if let Some(file) = own_name(folder, &format!("{loader}{arch}.efi"))? {
            return Ok(Some(Candidate { folder: name.to_owned(), file, label: name.to_owned() }));
        }
    }
    Ok(None)
}
