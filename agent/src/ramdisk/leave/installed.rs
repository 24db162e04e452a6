//! Which kernel an installed system would start, from what is on its disk for boot loaders: entries of the Boot Loader Specification, unified
//! kernel images, `grub.cfg`, in that order.

use std::ops::Range;

use bessemer_image_formats::boot::bls::{self, Entry};
use bessemer_image_formats::boot::environment::{self, Variables};
use bessemer_image_formats::boot::{BootChoice, grub, pe};

use super::tree::Tree;

/// A part of a file of one of the trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) tree: usize,
    pub(super) path: String,
    pub(super) range: Range<u64>,
}

/// All that the next kernel needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bootable {
    /// For people.
    pub(super) title: String,
    pub(super) kernel: Part,
    /// One after the other, each at a multiple of four bytes.
    pub(super) initrds: Vec<Part>,
    pub(super) command_line: String,
}

/// Most entries that are looked at.
const MOST_ENTRIES: usize = 64;

/// The kernel to start, or why none can be told.
pub(super) fn find(trees: &[Tree<'_>]) -> Result<Bootable, String> {
    let variables = grub_environment(trees);
    let found = from_entries(trees, &variables)
        .or_else(|| from_unified(trees))
        .or_else(|| from_grub(trees, &variables))
        .ok_or("no boot entry on the disk names a kernel that is there")?;
    let names_root = found.command_line.split_whitespace().any(|word| word.starts_with("root="));
    if names_root { Ok(found) } else { Err(format!("the command line of {:?} names no root", found.title)) }
}

fn grub_environment(trees: &[Tree<'_>]) -> Variables {
    let places = ["boot/grub2/grubenv", "grub2/grubenv", "boot/grub/grubenv", "grub/grubenv"];
    let texts = trees.iter().flat_map(|tree| places.iter().map(|place| tree.text(place)));
    texts.filter(|text| !text.is_empty()).map(|text| environment::parse(&text)).next().unwrap_or_default()
}

fn from_entries(trees: &[Tree<'_>], variables: &Variables) -> Option<Bootable> {
    for (home, tree) in trees.iter().enumerate() {
        for folder in ["loader", "boot/loader"] {
            let entries = format!("{folder}/entries");
            let names = tree.list(&entries).into_iter().filter(|name| name.ends_with(".conf")).take(MOST_ENTRIES);
            let read = |name: String| Entry::parse(&name, &tree.text(&format!("{entries}/{name}")), variables);
            let mut entries: Vec<Entry> = names.map(read).collect();
            bls::sort(&mut entries, &tree.text(&format!("{folder}/loader.conf")));
            let choices = entries.into_iter().filter_map(|entry| entry.choice);
            if let Some(found) = choices.filter_map(|choice| with_files(trees, home, choice)).next() {
                return Some(found);
            }
        }
    }
    None
}

fn from_grub(trees: &[Tree<'_>], variables: &Variables) -> Option<Bootable> {
    for (home, tree) in trees.iter().enumerate() {
        for place in ["boot/grub/grub.cfg", "grub/grub.cfg", "boot/grub2/grub.cfg", "grub2/grub.cfg"] {
            let choice = grub::default_choice(&tree.text(place), variables);
            if let Some(found) = choice.and_then(|choice| with_files(trees, home, choice)) {
                return Some(found);
            }
        }
    }
    None
}

/// Paths of boot loaders are relative to the file system that they are on, which may be the one mounted at `/boot` in the installed system.
fn with_files(trees: &[Tree<'_>], home: usize, choice: BootChoice) -> Option<Bootable> {
    let own_first = || std::iter::once(home).chain((0..trees.len()).filter(move |other| *other != home));
    let locate = |path: &str| {
        let path = path.trim_start_matches('/');
        let under_boot = format!("boot/{path}");
        let without_boot = path.strip_prefix("boot/").unwrap_or(path).to_owned();
        let places = own_first()
            .flat_map(|tree| [path.to_owned(), under_boot.clone(), without_boot.clone()].map(|path| (tree, path)));
        let there = |(tree, path): (usize, String)| {
            let length = trees.get(tree)?.length(&path).filter(|length| *length > 0)?;
            Some(Part { tree, path, range: 0..length })
        };
        places.filter_map(there).next()
    };
    let kernel = locate(&choice.kernel)?;
    let initrds = choice.initrds.iter().map(|path| locate(path)).collect::<Option<Vec<_>>>()?;
    Some(Bootable { title: choice.title, kernel, initrds, command_line: choice.command_line })
}

fn from_unified(trees: &[Tree<'_>]) -> Option<Bootable> {
    for (number, tree) in trees.iter().enumerate() {
        for folder in ["EFI/Linux", "boot/efi/EFI/Linux"] {
            let names = tree.list(folder).into_iter().filter(|name| name.to_lowercase().ends_with(".efi"));
            let mut entries: Vec<Entry> = names.take(MOST_ENTRIES).map(|id| Entry { id, ..Entry::default() }).collect();
            bls::sort(&mut entries, &tree.text("loader/loader.conf"));
            let unified = |entry: Entry| unified(tree, number, &format!("{folder}/{}", entry.id));
            if let Some(found) = entries.into_iter().filter_map(unified).next() {
                return Some(found);
            }
        }
    }
    None
}

fn unified(tree: &Tree<'_>, number: usize, path: &str) -> Option<Bootable> {
    /// Longest command line that a kernel takes.
    const LONGEST: u64 = 64 << 10;
    let length = tree.length(path)?;
    let head = tree.read(path, 0, length.min(pe::ENOUGH as u64)).ok()?;
    let parts = pe::Parts::parse(&head, length).ok()?;
    let part = |range| Part { tree: number, path: path.to_owned(), range };
    let line = parts.command_line.filter(|range| range.end - range.start <= LONGEST)?;
    let line = tree.read(path, line.start, line.end - line.start).ok()?;
    let line = String::from_utf8_lossy(&line);
    Some(Bootable {
        title: path.to_owned(),
        kernel: part(parts.kernel),
        initrds: [parts.microcode, parts.initrd].into_iter().flatten().map(part).collect(),
        command_line: line.trim_matches(|c: char| c == '\0' || c.is_whitespace()).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn tree(folder: &Path, files: &[(&str, &str)]) -> Tree<'static> {
        for (path, content) in files {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        Tree::Folder(folder.to_owned())
    }

    const GRUB: &str = "menuentry 'Debian' {\nlinux /vmlinuz-6 root=UUID=1 ro\ninitrd /initrd-6\n}\n";

    #[test]
    fn each_kind_of_installed_system_names_its_kernel() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // The agent's own images: systemd-boot on the EFI partition.
        let esp = tree(
            a.path(),
            &[
                ("loader/loader.conf", "timeout 0\ndefault debian.conf\n"),
                (
                    "loader/entries/debian.conf",
                    "title Debian\nlinux /debian/kernel\ninitrd /debian/ramdisk\noptions root=PARTUUID=1 rw\n",
                ),
                ("debian/kernel", "kernel"),
                ("debian/ramdisk", "ramdisk!"),
            ],
        );
        let root = tree(b.path(), &[("etc/os-release", "x"), ("boot/grub/grub.cfg", GRUB)]);
        let found = find(&[root, esp]).unwrap();
        assert_eq!(found.kernel, Part { tree: 1, path: "debian/kernel".into(), range: 0..6 });
        assert_eq!(found.initrds, [Part { tree: 1, path: "debian/ramdisk".into(), range: 0..8 }]);
        assert_eq!((found.title.as_str(), found.command_line.as_str()), ("Debian", "root=PARTUUID=1 rw"));

        // GRUB, with /boot on a partition of its own.
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let boot = tree(a.path(), &[("grub/grub.cfg", GRUB), ("vmlinuz-6", "k"), ("initrd-6", "i")]);
        let found = find(&[tree(b.path(), &[]), boot]).unwrap();
        assert_eq!((found.kernel.path.as_str(), found.command_line.as_str()), ("vmlinuz-6", "root=UUID=1 ro"));

        // Fedora: entries in /boot, variables in grubenv.
        let a = tempfile::tempdir().unwrap();
        let fedora = tree(
            a.path(),
            &[
                (
                    "boot/loader/entries/m-6.8.conf",
                    "title Fedora\nlinux /boot/vmlinuz-6.8\ninitrd /boot/init-6.8 $tuned_initrd\noptions $kernelopts\n",
                ),
                ("boot/grub2/grubenv", "kernelopts=root=UUID=f ro\n"),
                ("boot/vmlinuz-6.8", "k"),
                ("boot/init-6.8", "i"),
            ],
        );
        assert_eq!(find(&[fedora]).unwrap().command_line, "root=UUID=f ro");
    }

    #[test]
    fn what_cannot_be_started_safely_is_said() {
        let folder = tempfile::tempdir().unwrap();
        assert!(find(&[tree(folder.path(), &[])]).unwrap_err().contains("no boot entry"));
        let gone = tree(folder.path(), &[("loader/entries/a.conf", "linux /gone\noptions root=/dev/x\n")]);
        assert!(find(&[gone]).unwrap_err().contains("no boot entry"));
        let rootless =
            tree(folder.path(), &[("loader/entries/b.conf", "title T\nlinux /k\noptions quiet\n"), ("k", "k")]);
        assert_eq!(find(&[rootless]).unwrap_err(), "the command line of \"T\" names no root");
        let half = tree(folder.path(), &[("loader/entries/b.conf", "linux /k\ninitrd /gone\noptions root=x\n")]);
        assert!(find(&[half]).is_err(), "a kernel without its ramdisk does not boot");
    }

    #[test]
    fn a_unified_kernel_image_is_taken_apart() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = vec![0u8; 2048];
        file[..2].copy_from_slice(b"MZ");
        file[0x3c] = 0x80;
        file[0x80..0x84].copy_from_slice(b"PE\0\0");
        file[0x86] = 3;
        for (index, (name, offset, text)) in [
            (b".linux\0\0", 512, "KERNEL"),
            (b".initrd\0", 1024, "INITRD"),
            (b".cmdline", 1536, "root=LABEL=r quiet\0\n"),
        ]
        .iter()
        .enumerate()
        {
            let at = 0x80 + 24 + 40 * index;
            file[at..at + 8].copy_from_slice(*name);
            for (place, value) in [(8, text.len()), (16, 512), (20, *offset)] {
                file[at + place..at + place + 4].copy_from_slice(&(value as u32).to_le_bytes());
            }
            file[*offset..offset + text.len()].copy_from_slice(text.as_bytes());
        }
        fs::create_dir_all(folder.path().join("EFI/Linux")).unwrap();
        fs::write(folder.path().join("EFI/Linux/debian.efi"), &file).unwrap();
        let found = find(&[Tree::Folder(folder.path().to_owned())]).unwrap();
        assert_eq!((found.kernel.range, found.command_line.as_str()), (512..518, "root=LABEL=r quiet"));
        assert_eq!(found.initrds[0].range, 1024..1030);
    }
}
