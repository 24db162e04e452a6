//! Drivers: for each device that the kernel shows, the modules whose alias matches it.
//!
//! The ramdisk's builder leaves two lists beside the modules, `modules.alias` (`alias PATTERN MODULE`) and `modules.order` (`MODULE DEPENDENCY…`, dependencies
//! first to load last named), both made from what the modules say of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::system::finit_module;
use tracing::{info, warn};

use crate::files;

/// Modules that go with others: `ipmi_devintf` makes the device through which the management controller is asked.
const COMPANIONS: &[(&str, &str)] = &[("ipmi_si", "ipmi_devintf"), ("ipmi_ssif", "ipmi_devintf")];

/// Loads what the present hardware asks for, again and again until no new device turns up: a bus driver makes the devices of the next one.
pub(super) fn load_for_hardware(sys: &Path, folder: &Path) {
    let Some(catalogue) = Catalogue::read(folder) else {
        info!("no modules in {}: every driver must be in the kernel", folder.display());
        return;
    };
    let mut asked = BTreeSet::new();
    let mut loaded = BTreeSet::new();
    loop {
        let mut new = Vec::new();
        modaliases(&sys.join("devices"), 0, &mut new);
        new.retain(|alias| asked.insert(alias.clone()));
        if new.is_empty() {
            break;
        }
        for module in new.iter().flat_map(|alias| catalogue.matching(alias)) {
            for name in catalogue.with_dependencies(&module) {
                if loaded.insert(name.clone()) && !load(&folder.join(format!("{name}.ko"))) {
                    // It may be asked for again when what it lacked is there.
                    loaded.remove(&name);
                }
            }
        }
    }
    // No device asks for what only programs need.
    for (driver, companion) in COMPANIONS {
        if loaded.contains(*driver) && loaded.insert((*companion).to_owned()) {
            load_named(companion, folder);
        }
    }
    info!("drivers: {}", loaded.into_iter().collect::<Vec<_>>().join(" "));
}

/// Loads what the kernel asks for by name while it works: a module, or an alias such as `fs-xfs`, `rtnl-link-bond` or `crypto-crc32c`. Whether
/// there was such a module and all of it could be loaded.
pub(super) fn load_named(name: &str, folder: &Path) -> bool {
    let Some(catalogue) = Catalogue::read(folder) else { return false };
    let chains: Vec<_> = catalogue.named(name).iter().map(|module| catalogue.with_dependencies(module)).collect();
    // Each is tried, whatever becomes of the one before.
    let failed = chains.iter().flatten().filter(|module| !load(&folder.join(format!("{module}.ko")))).count();
    !chains.is_empty() && failed == 0
}

fn load(path: &Path) -> bool {
    let result =
        File::open(path).map_err(|error| error.to_string()).and_then(|module| match finit_module(&module, c"", 0) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.to_string()),
        });
    if let Err(error) = &result {
        warn!("cannot load {}: {error}", path.display());
    }
    result.is_ok()
}

/// Every `modalias` below `folder`.
fn modaliases(folder: &Path, depth: usize, found: &mut Vec<String>) {
    /// Deeper than any real device tree.
    const DEEPEST: usize = 24;
    if depth > DEEPEST {
        return;
    }
    for path in files::entries(folder) {
        if path.file_name().is_some_and(|name| name == "modalias") {
            found.extend(files::line(&path));
        } else if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_dir()) {
            modaliases(&path, depth + 1, found);
        }
    }
}

#[derive(Debug, Default)]
struct Catalogue {
    aliases: Vec<(String, String)>,
    dependencies: BTreeMap<String, Vec<String>>,
}

impl Catalogue {
    fn read(folder: &Path) -> Option<Self> {
        let text = |name: &str| fs::read_to_string(PathBuf::from(folder).join(name)).ok();
        Some(Self::parse(&text("modules.alias")?, &text("modules.order")?))
    }

    fn parse(aliases: &str, order: &str) -> Self {
        let alias = |line: &str| {
            let mut words = line.strip_prefix("alias ")?.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        };
        let dependency = |line: &str| {
            let mut words = line.split_whitespace().map(str::to_owned);
            Some((words.next()?, words.collect()))
        };
        Self {
            aliases: aliases.lines().filter_map(alias).collect(),
            dependencies: order.lines().filter_map(dependency).collect(),
        }
    }

    fn matching(&self, modalias: &str) -> Vec<String> {
        let matching = self.aliases.iter().filter(|(pattern, _)| matches(pattern.as_bytes(), modalias.as_bytes()));
        matching.map(|(_, module)| module.clone()).collect()
    }

    /// The module of this name, or those with this alias.
    fn named(&self, name: &str) -> Vec<String> {
        let module = name.replace('-', "_");
        if self.dependencies.contains_key(&module) { vec![module] } else { self.matching(name) }
    }

    /// In the order in which to load them.
    fn with_dependencies(&self, module: &str) -> Vec<String> {
        let mut chain = self.dependencies.get(module).cloned().unwrap_or_default();
        chain.push(module.to_owned());
        chain
    }
}

/// Shell patterns as far as module aliases use them: `*`, `?` and `[a-b]`.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, text) || text.split_first().is_some_and(|(_, text)| matches(pattern, text))
        }
        (Some((b'?', rest)), Some((_, text))) => matches(rest, text),
        (Some((b'[', rest)), Some((byte, text))) => {
            let Some(end) = rest.iter().position(|byte| *byte == b']') else { return false };
            let (set, rest) = rest.split_at(end);
            in_set(set, *byte) && matches(rest.get(1..).unwrap_or_default(), text)
        }
        (Some((wanted, rest)), Some((byte, text))) => wanted == byte && matches(rest, text),
        _ => false,
    }
}

fn in_set(set: &[u8], byte: u8) -> bool {
    match set {
        [low, b'-', high, rest @ ..] => (*low..=*high).contains(&byte) || in_set(rest, byte),
        [one, rest @ ..] => *one == byte || in_set(rest, byte),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_match_as_modprobe_does() {
        let table = [
            ("virtio:d00000002v*", "virtio:d00000002v00001AF4", true),
            ("virtio:d00000002v*", "virtio:d00000001v00001AF4", false),
            ("pci:v00001AF4d*sv*sd*bc*sc*i*", "pci:v00001AF4d00001041sv00001AF4sd00001100bc02sc00i00", true),
            ("usb:v046Dp08[0-2]?d*", "usb:v046Dp081Ad0010", true),
            ("usb:v046Dp08[0-2]?d*", "usb:v046Dp083Ad0010", false),
            ("x", "", false),
            ("", "", true),
        ];
        for (pattern, text, expected) in table {
            assert_eq!(matches(pattern.as_bytes(), text.as_bytes()), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn dependencies_are_loaded_first() {
        let catalogue = Catalogue::parse(
            "alias virtio:d00000001v* virtio_net\n",
            "virtio_net virtio_ring virtio failover net_failover\n",
        );
        let module = catalogue.matching("virtio:d00000001v00001AF4");
        assert_eq!(module, ["virtio_net"]);
        let order = catalogue.with_dependencies("virtio_net");
        assert_eq!(order, ["virtio_ring", "virtio", "failover", "net_failover", "virtio_net"]);
    }

    #[test]
    fn the_kernel_asks_by_name_or_by_alias() {
        let catalogue =
            Catalogue::parse("alias fs-ext4 ext4\nalias rtnl-link-vlan 8021q\n", "ext4 jbd2\n8021q\ndm_mod\n");
        for (asked, module) in
            [("fs-ext4", "ext4"), ("rtnl-link-vlan", "8021q"), ("dm-mod", "dm_mod"), ("ext4", "ext4")]
        {
            assert_eq!(catalogue.named(asked), [module], "{asked}");
        }
        assert!(catalogue.named("fs-ntfs").is_empty());
    }
}
