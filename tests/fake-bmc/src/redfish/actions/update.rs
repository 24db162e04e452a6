//! Firmware updates: a task, after which the inventory shows the version that the image's name bears.

use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::json::{clean, members, text};
use super::super::service::{Effect, Service};

const ACTION: &str = "UpdateService.SimpleUpdate";

impl Service {
    pub(super) fn simple_update(&self, body: &Value) -> Result<Effect, Answer> {
        let image = text(body, "ImageURI").ok_or_else(|| Answer::missing_parameter(ACTION, "ImageURI"))?;
        if !image.contains("://") {
            return Err(Answer::parameter_not_in_list(image, "ImageURI", ACTION));
        }
        let collection = self.tree.facts.firmware.as_ref().and_then(|path| self.tree.get(path));
        let known = collection.map(members).unwrap_or_default();
        let asked = body.get("Targets").and_then(Value::as_array).and_then(|targets| targets.first()?.as_str());
        let target = match asked {
            Some(asked) => known.iter().find(|path| **path == clean(asked)),
            // the firmware of the system, as every vendor calls it, else the first
            None => known.iter().find(|path| path.to_ascii_uppercase().contains("BIOS")).or(known.first()),
        };
        let Some(target) = target.cloned() else {
            return Err(Answer::parameter_not_in_list(asked.unwrap_or_default(), "Targets", ACTION));
        };
        let old = self.read(&target).and_then(|item| text(&item, "Version").map(str::to_owned)).unwrap_or_default();
        let version = version(image).unwrap_or_else(|| format!("{old}.1"));
        Ok(Box::new(move |service| {
            if let Some(why) = service.behaviour().update_fails {
                return Err(Answer::error(500, "InternalError", &why, &[]));
            }
            service.overlay().patch(&target, &json!({ "Version": version }));
            Ok(())
        }))
    }
}

/// The longest run of digits and dots in the name of a file, `2.11.0` of `bios-2.11.0.bin`.
fn version(image: &str) -> Option<String> {
    let file = image.rsplit('/').next()?;
    let runs = file.split(|character: char| !character.is_ascii_digit() && character != '.');
    let runs = runs.map(|run| run.trim_matches('.')).filter(|run| run.contains('.'));
    runs.max_by_key(|run| run.len()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_names() {
        let table = [
            ("http://h/bios-2.11.0.bin", Some("2.11.0")),
            ("http://h/2.1/BIOS_X12_1.4b.rom", Some("1.4")),
            ("http://h/image.bin", None),
        ];
        for (image, expected) in table {
            assert_eq!(version(image).as_deref(), expected, "{image}");
        }
    }
}
