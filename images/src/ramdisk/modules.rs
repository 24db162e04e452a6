//! Which modules go in and in which order they must be loaded, from what each module says of itself in its `.modinfo` section: this
//! needs no depmod and no module tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSection};

use super::RamdiskError;
use super::debian::Kernel;

/// What the ramdisk carries.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// Lines `alias PATTERN MODULE`.
    pub(super) aliases: String,
    /// Lines `MODULE DEPENDENCY…`, each dependency after those that it needs itself.
    pub(super) order: String,
    /// By name without `.ko`.
    pub(super) files: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Info {
    aliases: Vec<String>,
    depends: Vec<String>,
}

/// The wanted modules and all that they need.
pub(super) fn select(kernel: &Kernel, wanted: &[&str]) -> Result<Selection, RamdiskError> {
    let problem = |what: String| RamdiskError::Package { package: kernel.package.clone(), what };
    let mut known = BTreeMap::new();
    let mut files = BTreeMap::new();
    let mut open: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
    while let Some(name) = open.pop() {
        if known.contains_key(&name) {
            continue;
        }
        let content = fs::read(kernel.modules.join(format!("{name}.ko")))
            .map_err(|error| problem(format!("module {name}: {error}")))?;
        let info = info(&content).ok_or_else(|| problem(format!("module {name} says nothing of itself")))?;
        open.extend(info.depends.iter().cloned());
        known.insert(name.clone(), info);
        files.insert(name, content);
    }
    let mut selection = Selection { files, ..Selection::default() };
    for (name, info) in &known {
        for alias in &info.aliases {
            let _ = writeln!(selection.aliases, "alias {alias} {name}");
        }
        let mut chain = Vec::new();
        chain_of(name, &known, &mut BTreeSet::new(), &mut chain);
        chain.retain(|other| other != name);
        let _ = writeln!(selection.order, "{name} {}", chain.join(" "));
    }
    Ok(selection)
}

/// Depth first: what a module needs stands before it.
fn chain_of(name: &str, known: &BTreeMap<String, Info>, seen: &mut BTreeSet<String>, chain: &mut Vec<String>) {
    if !seen.insert(name.to_owned()) {
        return;
    }
    for dependency in known.get(name).map(|info| info.depends.as_slice()).unwrap_or_default() {
        chain_of(dependency, known, seen, chain);
    }
    chain.push(name.to_owned());
}

fn info(module: &[u8]) -> Option<Info> {
    let elf = ElfFile64::<LittleEndian>::parse(module).ok()?;
    let section = elf.section_by_name(".modinfo")?.data().ok()?;
    let mut info = Info::default();
    for entry in section.split(|byte| *byte == 0) {
        match std::str::from_utf8(entry).ok().and_then(|entry| entry.split_once('=')) {
            Some(("alias", alias)) => info.aliases.push(alias.to_owned()),
            Some(("depends", depends)) => {
                info.depends
                    .extend(depends.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")));
            }
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
        let module = |depends: &[&str]| Info {
            depends: depends.iter().map(|name| (*name).to_owned()).collect(),
            ..Info::default()
        };
        let known = BTreeMap::from([
            ("virtio_net".to_owned(), module(&["virtio_ring", "virtio", "net_failover"])),
            ("virtio_ring".to_owned(), module(&[])),
            ("virtio".to_owned(), module(&["virtio_ring"])),
            ("net_failover".to_owned(), module(&["failover"])),
            ("failover".to_owned(), module(&[])),
        ]);
        let mut chain = Vec::new();
        chain_of("virtio_net", &known, &mut BTreeSet::new(), &mut chain);
        assert_eq!(chain, ["virtio_ring", "virtio", "failover", "net_failover", "virtio_net"]);
    }
}
