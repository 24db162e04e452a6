//! Which modules go in and in which order they must be loaded, from what each module says of itself in its `.modinfo` section: this
//! needs no depmod and no module tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};

use super::RamdiskError;
use super::debian::Kernel;
use crate::file::FileError;

/// What the ramdisk carries.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Lines `alias PATTERN MODULE`.
    pub(super) aliases: String,
    /// Lines `MODULE DEPENDENCY…`, each dependency after those that it needs itself.
    pub(super) order: String,
    /// By name without `.ko`.
    pub(super) files: BTreeMap<String, Vec<u8>>,
    /// By path below `lib/firmware`.
    pub(super) firmware: BTreeMap<String, Vec<u8>>,
    /// Firmware that modules name and that was not there.
    pub(super) firmware_missing: BTreeSet<String>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Info {
    aliases: Vec<String>,
    depends: Vec<String>,
    /// Other modules that this one asks for at run time, or that should be there before it.
    soft: Vec<String>,
    /// Wanted beside it, but only once it is there.
    after: Vec<String>,
    firmware: Vec<String>,
}

/// The wanted modules and all that they need, with the firmware that they name as far as `firmware` has it.
pub(super) fn select(
    package: &str,
    mut kernel: Kernel,
    wanted: &[&str],
    firmware: Option<&Path>,
) -> Result<Selection, RamdiskError> {
    let problem = |what: String| RamdiskError::Package { package: package.to_owned(), what };
    let mut known = BTreeMap::new();
    let mut selection = Selection::default();
    let mut open: Vec<(String, bool)> = wanted.iter().map(|name| ((*name).to_owned(), true)).collect();
    while let Some((name, needed)) = open.pop() {
        if known.contains_key(&name) || kernel.built_in.contains(&name) {
            continue;
        }
        let Some(content) = kernel.modules.remove(&name) else {
            if needed {
                return Err(problem(format!("it has no module {name}, nor is it built in")));
            }
            continue;
        };
        let info = info(&content).ok_or_else(|| problem(format!("module {name} says nothing of itself")))?;
        open.extend(info.depends.iter().cloned().map(|name| (name, true)));
        open.extend(info.soft.iter().chain(&info.after).cloned().map(|name| (name, false)));
        known.insert(name.clone(), info);
        selection.files.insert(name, content);
    }
    for (name, info) in &known {
        for alias in &info.aliases {
            let _ = writeln!(selection.aliases, "alias {alias} {name}");
        }
        let mut chain = Vec::new();
        chain_of(name, &known, &mut BTreeSet::new(), &mut chain);
        chain.retain(|other| other != name);
        let _ = writeln!(selection.order, "{name} {}", chain.join(" "));
        take_firmware(&info.firmware, firmware, &mut selection)?;
    }
    Ok(selection)
}

fn take_firmware(names: &[String], folder: Option<&Path>, selection: &mut Selection) -> Result<(), RamdiskError> {
    for name in names {
        let path = folder.map(|folder| folder.join(name));
        match path.filter(|path| path.is_file()) {
            Some(path) => {
                let content = fs::read(&path).map_err(FileError::io("read", &path))?;
                selection.firmware.insert(name.clone(), content);
            }
            None => drop(selection.firmware_missing.insert(name.clone())),
        }
    }
    Ok(())
}

/// Depth first: what a module needs stands before it.
fn chain_of(name: &str, known: &BTreeMap<String, Info>, seen: &mut BTreeSet<String>, chain: &mut Vec<String>) {
    if !seen.insert(name.to_owned()) {
        return;
    }
    let Some(info) = known.get(name) else { return };
    for dependency in info.soft.iter().chain(&info.depends) {
        chain_of(dependency, known, seen, chain);
    }
    chain.push(name.to_owned());
}

fn info(module: &[u8]) -> Option<Info> {
    let elf = ElfFile64::<LittleEndian>::parse(module).ok()?;
    let section = elf.section_by_name(".modinfo")?.data().ok()?;
    let mut info = Info::default();
    let kernel_name = |name: &str| name.replace('-', "_");
    for entry in section.split(|byte| *byte == 0) {
        match std::str::from_utf8(entry).ok().and_then(|entry| entry.split_once('=')) {
            Some(("alias", alias)) => info.aliases.push(alias.to_owned()),
            Some(("depends", depends)) => {
                info.depends.extend(depends.split(',').filter(|name| !name.is_empty()).map(kernel_name));
            }
            // `pre: NAME… post: NAME…`
            Some(("softdep", names)) => {
                let mut is_after = false;
                for name in names.split_whitespace() {
                    match name {
                        "pre:" => is_after = false,
                        "post:" => is_after = true,
                        name if is_after => info.after.push(kernel_name(name)),
                        name => info.soft.push(kernel_name(name)),
                    }
                }
            }
            Some(("firmware", name)) => info.firmware.push(name.to_owned()),
            _ => {}
        }
    }
    Some(info)
}

/// Whether a program runs without a dynamic loader.
pub(super) fn is_static(program: &[u8]) -> bool {
    let Ok(elf) = ElfFile64::<LittleEndian>::parse(program) else { return false };
    let endian = elf.endian();
    let headers = elf.elf_header().program_headers(endian, program).unwrap_or_default();
    !headers.is_empty() && headers.iter().all(|header| header.p_type(endian) != object::elf::PT_INTERP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_needs_stands_before_it() {
        let module = |depends: &[&str], soft: &[&str]| Info {
            depends: depends.iter().map(|name| (*name).to_owned()).collect(),
            soft: soft.iter().map(|name| (*name).to_owned()).collect(),
            ..Info::default()
        };
        let known = BTreeMap::from([
            ("virtio_net".to_owned(), module(&["virtio_ring", "virtio", "net_failover"], &["built_in"])),
            ("virtio_ring".to_owned(), module(&[], &[])),
            ("virtio".to_owned(), module(&["virtio_ring"], &[])),
            ("net_failover".to_owned(), module(&["failover"], &[])),
            ("failover".to_owned(), module(&[], &["virtio"])),
        ]);
        let mut chain = Vec::new();
        chain_of("virtio_net", &known, &mut BTreeSet::new(), &mut chain);
        assert_eq!(chain, ["virtio_ring", "virtio", "failover", "net_failover", "virtio_net"]);
    }

    #[test]
    fn a_driver_that_the_kernel_lacks_is_named_and_one_that_is_built_in_is_fine() {
        let kernel = || Kernel { built_in: BTreeSet::from(["nvme".to_owned()]), ..Kernel::default() };
        assert!(select("linux", kernel(), &["nvme"], None).unwrap().files.is_empty());
        let error = select("linux", kernel(), &["nvme", "ahci"], None).unwrap_err().to_string();
        assert!(error.contains("ahci") && error.contains("linux"), "{error}");
    }
}
