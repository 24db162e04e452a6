//! What UEFI firmware will start: an entry for the loader on the deployed disk, first in its order, the fallback loader in its place, and
//! nothing of other disks before it. All of it is read back; none of it proves that the firmware does so.

mod entries;
mod loader;
mod variables;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bessemer_image_formats::boot::load_option::{HardDrive, LoadOption};
use bessemer_image_formats::guid::Guid;
use bessemer_protocol::BootReport;
use fatfs::{FileSystem, FsOptions};

use super::disk::Target;
use super::region::Window;
use super::table::{self, Place};
use variables::{EfiVarFs, Variables};

/// Where the kernel shows the firmware's variables.
const VARIABLES: &str = "/sys/firmware/efi/efivars";

/// Makes the firmware start what is on `target`. What does not work is a note: the fallback loader or the controller may still do it.
pub(super) fn set(target: &Target, next: bool) -> BootReport {
    let uefi = Path::new(VARIABLES).parent().is_some_and(Path::is_dir);
    let mut store = EfiVarFs::new(Path::new(VARIABLES));
    let mut report = BootReport { uefi, ..BootReport::default() };
    if let Err(why) = set_in(target, uefi.then_some(&mut store as &mut dyn Variables), next, &mut report) {
        report.notes.push(why);
    }
    report
}

/// The disk is looked after whether or not this host was started by UEFI: it may be next time.
fn set_in(
    target: &Target,
    store: Option<&mut dyn Variables>,
    next: bool,
    report: &mut BootReport,
) -> Result<(), String> {
    let mut head = vec![0; 1 << 20];
    target.buffered().read_exact_at(&mut head, 0).map_err(|error| format!("{}: {error}", target.name()))?;
    let (places, esp) = table::places(&head, target.sector())?;
    let Some(esp) = esp else {
        return if report.uefi { Err("the image has no EFI system partition".to_owned()) } else { Ok(()) };
    };
    let found = look_after(target.buffered(), &esp)?;
    target.sync().map_err(|error| format!("{}: {error}", target.name()))?;
    report.fallback_loader = found.has_fallback;
    let Some(store) = store else { return Ok(()) };
    if esp.id.is_nil() {
        return Err("a boot entry needs a partition with a GUID, which an MBR does not have".to_owned());
    }
    let sector = target.sector();
    let drive =
        HardDrive { number: esp.number, first: esp.start / sector, sectors: esp.length / sector, id: Some(esp.id) };
    let wanted = LoadOption::new(&found.label, drive, &found.path);
    let ids: Vec<Guid> = places.iter().map(|place| place.id).collect();
    let set = entries::ensure(store, &wanted, &ids, next)?;
    report.entry = Some(set.name);
    report.neutralised = set.neutralised;
    report.loader = Some(found.path);
    Ok(())
}

fn look_after(disk: &File, esp: &Place) -> Result<loader::Found, String> {
    let failed = |error: std::io::Error| format!("EFI system partition: {error}");
    let volume = FileSystem::new(Window::new(disk, esp.start, esp.length), FsOptions::new()).map_err(failed)?;
    let found = loader::find(&volume);
    let found = found.map_err(failed)?.ok_or("the EFI system partition has no loader")?;
    let found = loader::ensure_fallback(&volume, found).map_err(failed)?;
    volume.unmount().map_err(failed)?;
    Ok(found)
}

#[cfg(test)]
mod tests;
