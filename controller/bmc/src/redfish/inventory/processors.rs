//! Processors and accelerators.

use redfish_client::Resource;

use super::super::survey::Survey;
use super::super::value::{count, first, health, is_absent, natural, tell_apart, text};
use super::id;
use crate::Processor;

/// Processors, and accelerators apart.
pub(super) async fn read(survey: &Survey<'_>, system: &Resource) -> (Vec<Processor>, Vec<Processor>) {
    let mut kinds: [(Vec<Processor>, Vec<String>); 2] = Default::default();
    let [plain, special] = &mut kinds;
    for resource in survey.members(system, "Processors").await {
        let Some((processor, accelerator)) = decode(&resource) else { continue };
        let kind = if accelerator { &mut *special } else { &mut *plain };
        kind.0.push(processor);
        kind.1.push(id(&resource));
    }
    let [processors, accelerators] = kinds.map(|(mut processors, ids)| {
        tell_apart(&mut processors, &ids, |processor| &mut processor.name);
        processors.sort_by_key(|processor| natural(&processor.name));
        processors
    });
    (processors, accelerators)
}

/// The processor, and whether it is an accelerator; none for an empty socket.
pub(super) fn decode(resource: &Resource) -> Option<(Processor, bool)> {
    if is_absent(resource) {
        return None;
    }
    let kind = resource.text("ProcessorType");
    let processor = Processor {
        name: first(resource, &["Socket", "Location/PartLocation/ServiceLabel"]).unwrap_or_else(|| id(resource)),
        vendor: text(resource, "Manufacturer"),
        model: first(resource, &["Model", "Version"]),
        arch: arch(resource),
        cores: count(resource, "TotalCores"),
        threads: count(resource, "TotalThreads"),
        max_speed_mhz: count(resource, "MaxSpeedMHz"),
        health: health(resource),
    };
    Some((processor, !matches!(kind, None | Some("CPU" | "Core" | "Thread"))))
}

fn arch(resource: &Resource) -> Option<String> {
    let word = first(resource, &["InstructionSet", "ProcessorArchitecture"])?;
    Some(match word.as_str() {
        "x86-64" | "x86" => "x86_64".to_owned(),
        "ARM-A64" | "ARM" => "aarch64".to_owned(),
        _ => word,
    })
}
