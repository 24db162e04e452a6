//! SMBIOS (DMTF DSP0134): what the firmware says of the machine. [`Table`] cuts the bytes into structures, [`read`] gives meaning to those that
//! an inventory wants.

use std::fs;
use std::path::Path;

use bessemer_protocol::{Dimm, Enclosure, Firmware, SystemVendor, Tpm};

mod host_interface;
mod memory;
mod system;
mod table;
#[cfg(test)]
mod tests;

pub(super) use host_interface::HostInterface;
pub(super) use table::Table;

/// Larger than any real table, whose length is a word in old versions.
const LARGEST: usize = 1 << 20;

/// What the table says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Smbios {
    pub(super) system: SystemVendor,
    pub(super) enclosure: Enclosure,
    /// Without the boot mode, of which the table knows nothing.
    pub(super) bios: Firmware,
    pub(super) dimms: Vec<Dimm>,
    pub(super) dimm_slots: u32,
    /// Packages with a processor, their cores, and the model of the first.
    pub(super) sockets: u32,
    pub(super) cores: u32,
    pub(super) processor: String,
    pub(super) tpm: Option<Tpm>,
    pub(super) host_interface: Option<HostInterface>,
}

/// Reads what the kernel keeps below `/sys/firmware/dmi/tables`.
pub(super) fn load(sys: &Path) -> Result<Smbios, String> {
    let folder = sys.join("firmware/dmi/tables");
    let file = |name: &str| {
        let path = folder.join(name);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (entry, table) = (file("smbios_entry_point")?, file("DMI")?);
    Ok(read(&Table::new(&table), table::version(&entry)))
}

/// Gives meaning to `table` of `version`, major and minor.
pub(super) fn read(table: &Table<'_>, version: (u8, u8)) -> Smbios {
    let mut found = Smbios::default();
    let mut has_board = false;
    for structure in table.structures() {
        match structure.kind {
            0 => found.bios = system::bios(&structure),
            1 => found.system = system::system(&structure, version),
            // A machine of several boards lists its main board first.
            2 if !has_board => {
                has_board = true;
                system::board(&structure, &mut found.enclosure);
            }
            3 if found.enclosure.chassis_type == 0 => system::chassis(&structure, &mut found.enclosure),
            4 => {
                if let Some((model, cores)) = system::processor(&structure) {
                    found.sockets += 1;
                    found.cores = found.cores.saturating_add(cores);
                    if found.processor.is_empty() {
                        found.processor = model;
                    }
                }
            }
            17 => {
                found.dimm_slots = found.dimm_slots.saturating_add(1);
                found.dimms.extend(memory::dimm(&structure));
            }
            38 => found.host_interface.get_or_insert_default().ipmi(&structure),
            42 => found.host_interface.get_or_insert_default().redfish(&structure),
            43 => found.tpm = Some(system::tpm(&structure)),
            _ => {}
        }
    }
    found
}
