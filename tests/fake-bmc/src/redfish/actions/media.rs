//! Inserting and ejecting virtual media, by action or by PATCH.

use serde_json::Value;

use super::super::answer::Answer;
use super::super::service::{Effect, Service};
use crate::host::media::Inserted;

const INSERT: &str = "VirtualMedia.InsertMedia";

/// What the action takes.
const PARAMETERS: [&str; 8] = [
    "Image",
    "Inserted",
    "WriteProtected",
    "UserName",
    "Password",
    "TransferMethod",
    "TransferProtocolType",
    "MediaType",
];

impl Service {
    /// `parameters` are of the action or of the PATCH.
    pub(in crate::redfish) fn insert(
        &self,
        slot: &str,
        image: &str,
        parameters: &Value,
        held: &Value,
    ) -> Result<Effect, Answer> {
        let behaviour = self.behaviour();
        let names = parameters.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        for name in names.filter(|name| !name.starts_with('@') && *name != "Oem") {
            let known = if behaviour.media_image_only { name == "Image" } else { PARAMETERS.contains(&name) };
            if !known {
                return Err(Answer::unknown_parameter(INSERT, name));
            }
        }
        if !image.contains("://") || (behaviour.media_needs_iso && !image.ends_with(".iso")) {
            return Err(Answer::parameter_not_in_list(image, "Image", INSERT));
        }
        if self.leaving(slot).is_some() {
            return Err(Answer::error(500, "InternalError", "the slot is still busy with the last image", &[]));
        }
        let occupied = held.get("Inserted") == Some(&Value::Bool(true));
        if occupied && behaviour.media_refuses_second {
            return Err(Answer::error(409, "ResourceInUse", "there is an image in the slot", &[]));
        }
        let flag = |name: &str| parameters.get(name).and_then(Value::as_bool);
        let inserted = Inserted { image: image.to_owned(), write_protected: flag("WriteProtected").unwrap_or(true) };
        let wanted = flag("Inserted").unwrap_or(true);
        let slot = slot.to_owned();
        Ok(Box::new(move |service| {
            if let Some(host) = service.host_of(&slot).filter(|_| wanted) {
                host.media().set(&slot, Some(inserted));
            }
            Ok(())
        }))
    }

    pub(in crate::redfish) fn eject(&self, slot: &str) -> Effect {
        let slot = slot.to_owned();
        Box::new(move |service| {
            let Some(host) = service.host_of(&slot) else { return Ok(()) };
            let held = host.media().get(&slot).cloned();
            host.media().set(&slot, None);
            if let Some(held) = held {
                service.remember_ejected(&slot, held);
            }
            Ok(())
        })
    }
}
