//! Against a folder of the shape of efivarfs and a FAT in a file.

use std::fs;
use std::io;
use std::path::Path;

use fatfs::{FormatVolumeOptions, format_volume};

use super::*;

const SECTOR: u64 = 512;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// An EFI system partition with these files.
fn esp(folder: &Path, files: &[(&str, &[u8])]) -> File {
    let path = folder.join("esp");
    let file = File::options().read(true).write(true).create(true).truncate(true).open(path).unwrap();
    file.set_len(40 << 20).unwrap();
    format_volume(Window::new(&file, 0, 40 << 20), FormatVolumeOptions::new()).unwrap();
    let volume = FileSystem::new(Window::new(&file, 0, 40 << 20), FsOptions::new()).unwrap();
    for (path, content) in files {
        for (end, _) in path.match_indices('/') {
            volume.root_dir().create_dir(&path[..end]).unwrap();
        }
        io::Write::write_all(&mut volume.root_dir().create_file(path).unwrap(), content).unwrap();
    }
    volume.unmount().unwrap();
    file
}

fn looked_after(files: &[(&str, &[u8])]) -> (Result<loader::Found, String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = esp(folder.path(), files);
    let place = Place { number: 1, start: 0, length: 40 << 20, id: Guid([1; 16]) };
    let found = look_after(&file, &place);
    let volume = FileSystem::new(Window::new(&file, 0, 40 << 20), FsOptions::new()).unwrap();
    let fallback = volume.root_dir().open_dir("EFI/BOOT").map_or(Vec::new(), |folder| {
        folder
            .iter()
            .map(|entry| entry.unwrap())
            .filter(fatfs::DirEntry::is_file)
            .map(|entry| entry.file_name())
            .collect()
    });
    (found, fallback)
}

#[test]
fn c181_the_loader_comes_from_the_csv_in_every_encoding() {
    let line = "shimx64.efi,ubuntu,,This is the boot entry for ubuntu\n";
    let mut marked = vec![0xff, 0xfe];
    marked.extend(utf16(line));
    let big: Vec<u8> = line.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for csv in [marked, utf16(line), big] {
        let (found, fallback) = looked_after(&[
            ("EFI/ubuntu/BOOTX64.CSV", &csv),
            ("EFI/ubuntu/grubx64.efi", b"g"),
            ("EFI/ubuntu/shimx64.efi", b"s"),
            ("EFI/ubuntu/mmx64.efi", b"m"),
        ]);
        let found = found.unwrap();
        assert_eq!((found.path.as_str(), found.label.as_str()), (r"\EFI\ubuntu\shimx64.efi", "ubuntu"));
        assert!(found.has_fallback);
        assert_eq!(fallback, ["grubx64.efi", "mmx64.efi", "BOOTX64.EFI"], "a shim is copied with what it starts");
    }
}

#[test]
fn c181_an_empty_csv_falls_to_the_fallback_loader() {
    let (found, fallback) = looked_after(&[("EFI/x/BOOTX64.CSV", b""), ("EFI/Boot/bootx64.efi", b"b")]);
    assert_eq!(found.unwrap().path, r"\EFI\BOOT\BOOTX64.EFI");
    assert_eq!(fallback, ["bootx64.efi"]);
    let (found, _) = looked_after(&[("EFI/systemd/systemd-bootx64.efi", b"s"), ("EFI/BOOT/BOOTX64.EFI", b"b")]);
    assert_eq!(found.unwrap().path, r"\EFI\systemd\systemd-bootx64.efi");
    let (found, _) = looked_after(&[("EFI/x/BOOTX64.CSV", &utf16("gone.efi,x,,\n"))]);
    assert_eq!(found.unwrap_err(), "the EFI system partition has no loader");
    let (found, _) = looked_after(&[]);
    assert!(found.is_err());
}

fn entry(description: &str, id: u8, file: &str) -> LoadOption {
    LoadOption::new(description, HardDrive { number: 1, first: 2048, sectors: 8192, id: Some(Guid([id; 16])) }, file)
}

/// An entry of the firmware's own, such as network boot.
fn network() -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 0, 4, 0];
    bytes.extend(utf16("UEFI PXEv4\0"));
    bytes.extend([0x7f, 0xff, 4, 0]);
    bytes
}

fn store(folder: &Path, entries: &[(&str, &[u8])]) -> EfiVarFs {
    let mut store = EfiVarFs::at(folder);
    entries.iter().for_each(|(name, value)| store.set(name, value).unwrap());
    fs::write(folder.join("SecureBoot-d719b2cb-3d3a-4596-a3bc-dad00e67656f"), [6, 0, 0, 0, 0]).unwrap();
    store
}

const LOADER: &str = r"\EFI\debian\shimx64.efi";

#[test]
fn our_entry_comes_first_and_other_disks_do_not_boot_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let (wanted, other) = (entry("debian", 1, LOADER), entry("windows", 9, r"\EFI\x.efi"));
    let (stale, data) = (entry("debian", 8, LOADER), entry("our second", 2, r"\EFI\y.efi"));
    let mut store = store(
        folder.path(),
        &[
            ("Boot0000", &network()),
            ("Boot0001", other.bytes()),
            ("Boot0002", stale.bytes()),
            ("Boot0003", data.bytes()),
            ("BootOrder", &[1, 0, 2, 0, 0, 0, 3, 0]),
        ],
    );
    let ours = [Guid([1; 16]), Guid([2; 16])];
    let set = entries::ensure(&mut store, &wanted, &ours, false).unwrap();
    assert_eq!(set.name, "Boot0004");
    assert_eq!(set.neutralised, ["Boot0002 \"debian\" removed", "Boot0001 \"windows\" switched off"]);
    assert_eq!(store.get("BootOrder").unwrap().unwrap(), [4, 0, 0, 0, 3, 0, 1, 0]);
    assert_eq!(store.get("Boot0004").unwrap().unwrap(), wanted.bytes());
    assert_eq!(store.get("Boot0001").unwrap().unwrap(), other.inactive().bytes());
    assert_eq!(store.get("Boot0000").unwrap().unwrap(), network(), "the firmware's own stays");
    assert_eq!(store.get("Boot0002").unwrap(), None);
    assert_eq!(store.get("BootNext").unwrap(), None, "not unless asked");

    // Again: nothing to do, and no entry more.
    let again = entries::ensure(&mut store, &wanted, &ours, true).unwrap();
    assert_eq!(again, entries::Set { name: "Boot0004".into(), neutralised: vec![] });
    assert_eq!(store.get("BootNext").unwrap().unwrap(), [4, 0]);
    assert_eq!(store.names().unwrap().iter().filter(|name| name.starts_with("Boot0")).count(), 4);
}

#[test]
fn duplicates_of_our_entry_go() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = entry("debian", 1, LOADER);
    let same = entry("Debian again", 1, r"\efi\DEBIAN\shimx64.efi");
    let mut store = store(
        folder.path(),
        &[("Boot0007", same.bytes()), ("Boot000A", wanted.bytes()), ("BootOrder", &[10, 0, 7, 0])],
    );
    let set = entries::ensure(&mut store, &wanted, &[Guid([1; 16])], false).unwrap();
    assert_eq!((set.name.as_str(), set.neutralised.len()), ("Boot0007", 1));
    assert_eq!(store.get("BootOrder").unwrap().unwrap(), [7, 0]);
    assert_eq!(store.get("Boot0007").unwrap().unwrap(), wanted.bytes());
}

/// Firmware that takes everything and keeps what it likes.
struct Forgetful(EfiVarFs);

impl Variables for Forgetful {
    fn names(&self) -> io::Result<Vec<String>> {
        self.0.names()
    }
    fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        self.0.get(name)
    }
    fn set(&mut self, name: &str, value: &[u8]) -> io::Result<()> {
        if name == "BootOrder" { Ok(()) } else { self.0.set(name, value) }
    }
    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.0.remove(name)
    }
}

#[test]
fn firmware_that_forgets_is_found_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Forgetful(store(folder.path(), &[("Boot0000", &network()), ("BootOrder", &[0, 0])]));
    let error = entries::ensure(&mut store, &entry("debian", 1, LOADER), &[Guid([1; 16])], false).unwrap_err();
    assert_eq!(error, "the firmware took Boot0001 and its order, but reads back something else");
    let gone = Path::new("/nonexistent/efivars");
    let error = entries::ensure(&mut EfiVarFs::at(gone), &entry("debian", 1, LOADER), &[], false).unwrap_err();
    assert!(error.starts_with("firmware variables:"), "{error}");
}

/// From the disk to the variables.
#[test]
fn a_whole_disk_gets_its_entry() {
    let folder = tempfile::tempdir().unwrap();
    let files: &[(&str, &[u8])] = &[("EFI/BOOT/BOOTX64.EFI", b"b")];
    let esp = esp(folder.path(), files);
    let mut table = bessemer_image_formats::gpt::Table::new(SECTOR, Guid([3; 16]));
    table.partitions.push(bessemer_image_formats::gpt::Partition {
        number: 1,
        kind: bessemer_image_formats::gpt::ESP,
        id: Guid([1; 16]),
        first: 2048,
        last: 2048 + (40 << 20) / SECTOR - 1,
        attributes: 0,
        name: "esp".into(),
    });
    let path = folder.path().join("disk");
    let disk = File::create(&path).unwrap();
    disk.set_len(64 << 20).unwrap();
    let sectors = (64 << 20) / SECTOR;
    let (header, entries) = table.primary(sectors);
    disk.write_all_at(&header, SECTOR).unwrap();
    disk.write_all_at(&entries, 2 * SECTOR).unwrap();
    let mut content = vec![0; 40 << 20];
    esp.read_exact_at(&mut content, 0).unwrap();
    disk.write_all_at(&content, 1 << 20).unwrap();
    let target = Target::open(path.to_str().unwrap()).unwrap();

    let variables = folder.path().join("efivars");
    fs::create_dir(&variables).unwrap();
    let mut store = store(&variables, &[]);
    let mut report = BootReport { uefi: true, ..BootReport::default() };
    set_in(&target, Some(&mut store), false, &mut report).unwrap();
    assert_eq!(report.entry.as_deref(), Some("Boot0000"));
    assert_eq!(report.loader.as_deref(), Some(r"\EFI\BOOT\BOOTX64.EFI"));
    assert!(report.fallback_loader && !report.firmware_boot_proven);
    let written = LoadOption::parse(&store.get("Boot0000").unwrap().unwrap()).unwrap();
    let expected = HardDrive { number: 1, first: 2048, sectors: (40 << 20) / SECTOR, id: Some(Guid([1; 16])) };
    assert_eq!(written.drive, Some(expected));

    // Started by a BIOS: the disk is looked after, no variable is.
    let mut report = BootReport::default();
    set_in(&target, None, false, &mut report).unwrap();
    assert!(report.fallback_loader && report.entry.is_none());
}
