//! The disks of a host as its inspection found them, in the words of the agent's orders.

use bessemer_api::metal3::{BareMetalHost, Storage};
use bessemer_protocol::{Candidate, Disk, DiskIdentity, Erase, EraseMode, EraseReport, RootDeviceHints, Unlisted};
use kube::ResourceExt;
use serde_json::{Map, Value};

use super::images::hints;

/// On a BareMetalHost: disks that are neither erased nor written, a JSON list of root device hints. Each must hold of a
/// disk.
pub(super) const KEEP_ANNOTATION: &str = "bessemer.dev/keep-disks";

/// The order to erase a host, or what is wrong with what its owner says.
pub(super) fn erase(host: &BareMetalHost, mode: EraseMode) -> Result<Erase, String> {
    if mode == EraseMode::Seeds {
        // Only the disk that we wrote: what others carry is their owners'.
        let written = host.status.as_ref().map(|status| &status.provisioning).filter(|found| found.image.is_some());
        let given = written.map_or(&host.spec.root_device_hints, |written| &written.root_device_hints);
        let disk = root(host, &given.clone().map(hints).unwrap_or_default())?;
        return Ok(Erase { mode, disks: vec![disk], keep: Vec::new(), unlisted: Unlisted::Keep });
    }
    let keep = kept(host)?;
    let disks = inspected(host);
    Ok(Erase { mode, disks: disks.iter().map(DiskIdentity::of).collect(), keep, unlisted: Unlisted::Refuse })
}

/// The disk to write, and those to leave alone; or why none is written.
pub(super) fn to_write(
    host: &BareMetalHost,
    hints: &RootDeviceHints,
) -> Result<(DiskIdentity, Vec<DiskIdentity>), String> {
    let disks = inspected(host);
    let mut keep = Vec::new();
    for kept in kept(host)? {
        let before = keep.len();
        keep.extend(disks.iter().filter(|disk| kept.mismatch(disk).is_none()).map(DiskIdentity::of));
        if keep.len() == before {
            let there: Vec<String> = disks.iter().map(|disk| DiskIdentity::of(disk).to_string()).collect();
            let there = if there.is_empty() { "no disk".to_owned() } else { there.join(", ") };
            return Err(format!(
                "no disk is the one to be kept ({kept}, annotation {KEEP_ANNOTATION}); this host has {there}"
            ));
        }
    }
    let chosen = root(host, hints)?;
    if keep.contains(&chosen) {
        return Err(format!(
            "the disk to be written would be {chosen}, which is to be kept (annotation {KEEP_ANNOTATION}): name another \
             one by spec.rootDeviceHints"
        ));
    }
    Ok((chosen, keep))
}

/// What `hints` choose of the disks of the inspection, by the rule that the agent follows, too.
fn root(host: &BareMetalHost, hints: &RootDeviceHints) -> Result<DiskIdentity, String> {
    let disks = inspected(host);
    let candidates: Vec<Candidate<'_>> = disks.iter().map(Candidate::inspected).collect();
    hints.choose(&candidates).map(DiskIdentity::of).map_err(|error| error.to_string())
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
fn inspected(host: &BareMetalHost) -> Vec<Disk> {
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
