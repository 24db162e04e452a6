//! The disks of a host as its inspection found them, in the words of the agent's orders.

use bessemer_api::metal3::{BareMetalHost, Storage};
use bessemer_protocol::{Disk, DiskIdentity, Erase, EraseMode, EraseReport, RootDeviceHints, Unlisted};
use kube::ResourceExt;
use serde_json::{Map, Value};

/// On a BareMetalHost: disks that are neither erased nor written, a JSON list of root device hints. Each must hold of a
/// disk.
pub(super) const KEEP_ANNOTATION: &str = "bessemer.dev/keep-disks";

/// The order to erase a host, or what is wrong with what its owner says.
pub(super) fn erase(host: &BareMetalHost, mode: EraseMode) -> Result<Erase, String> {
    let keep = kept(host)?;
    let disks = inspected(host);
    Ok(Erase { mode, disks: disks.iter().map(DiskIdentity::of).collect(), keep, unlisted: Unlisted::Refuse })
}

/// What an erasure did, for the host's story.
pub(super) fn told(report: &EraseReport) -> String {
    let erased =
        report.erased.iter().map(|erased| format!("{}: {} in {} s", erased.disk.name, erased.proof, erased.seconds));
    let skipped = report.skipped.iter().map(|skipped| format!("{}: left alone, {}", skipped.name, skipped.why));
    let all: Vec<String> = erased.chain(skipped).collect();
    if all.is_empty() { "there is no disk".to_owned() } else { all.join("; ") }
}

/// In the order of the inspection, which is the kernel's.
pub(super) fn inspected(host: &BareMetalHost) -> Vec<Disk> {
    let hardware = host.status.as_ref().and_then(|status| status.hardware.as_ref());
    hardware.map(|hardware| hardware.storage.iter().map(disk).collect()).unwrap_or_default()
}

fn disk(found: &Storage) -> Disk {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Disk {
        name: text(&found.name),
        alternate_names: found.alternate_names.clone(),
        kind: found.kind.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
        size_bytes: found.size_bytes.and_then(|size| u64::try_from(size).ok()).unwrap_or_default(),
        rotational: found.rotational.unwrap_or_default(),
        vendor: text(&found.vendor),
        model: text(&found.model),
        serial_number: text(&found.serial_number),
        wwn: text(&found.wwn),
        wwn_vendor_extension: text(&found.wwn_vendor_extension),
        wwn_with_extension: text(&found.wwn_with_extension),
        hctl: text(&found.hctl),
        ..Disk::default()
    }
}

/// The hints of [`KEEP_ANNOTATION`].
fn kept(host: &BareMetalHost) -> Result<Vec<RootDeviceHints>, String> {
    let Some(text) = host.annotations().get(KEEP_ANNOTATION) else { return Ok(Vec::new()) };
    let wrong = |why: String| {
        format!(
            "annotation {KEEP_ANNOTATION} {why}; a list of root device hints is wanted, such as \
             [{{\"serialNumber\": \"S1\"}}]"
        )
    };
    let given: Vec<Map<String, Value>> =
        serde_json::from_str(text).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let mut keep = Vec::new();
    for entry in given {
        let hints: RootDeviceHints = serde_json::from_value(Value::Object(entry.clone()))
            .map_err(|error| wrong(format!("cannot be read: {error}")))?;
        let known = serde_json::to_value(&hints).unwrap_or_default();
        if let Some(name) = entry.keys().find(|name| known.get(name.as_str()).is_none_or(Value::is_null)) {
            return Err(wrong(format!("has {name:?}, which is no hint")));
        }
        if entry.is_empty() {
            return Err(wrong("has an entry without a hint, which would keep every disk".to_owned()));
        }
        keep.push(hints);
    }
    Ok(keep)
}
