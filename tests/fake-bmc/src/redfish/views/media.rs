//! Virtual media slots.

use serde_json::Value;

use super::super::json::{replace, set};
use super::super::service::Service;

impl Service {
    pub(super) fn show_media(&self, path: &str, body: &mut Value) {
        let Some(host) = self.host_of(path) else { return };
        let behaviour = self.behaviour();
        let held = host.media().get(path).cloned();
        let leaving = self.leaving(path);
        // what a machine was crawled with in a slot is not what this one has
        let empty = match body.get("Image") {
            Some(Value::String(_)) => Value::from(""),
            _ => Value::Null,
        };
        match held.as_ref().or(leaving.as_ref()) {
            Some(inserted) => {
                set(body, "Image", inserted.image.as_str());
                set(body, "Inserted", true);
                replace(body, "WriteProtected", inserted.write_protected);
                replace(body, "ImageName", inserted.image.rsplit('/').next().unwrap_or_default());
                replace(body, "ConnectedVia", "URI");
                let scheme = inserted.image.split("://").next().unwrap_or_default().to_ascii_uppercase();
                replace(body, "TransferProtocolType", scheme);
            }
            None => {
                let last = self.last_image(path).filter(|_| behaviour.media_keeps_image);
                replace(body, "Image", last.map_or(empty, Value::from));
                set(body, "Inserted", false);
                replace(body, "ImageName", Value::Null);
                replace(body, "ConnectedVia", "NotConnected");
                replace(body, "TransferProtocolType", Value::Null);
            }
        }
    }
}
