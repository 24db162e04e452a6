//! Whether a BMC looks at the certificate of the server that a medium comes from (`VerifyCertificate`, Redfish
//! VirtualMedia 1.4).

use redfish_client::Resource;
use serde_json::{Value, json};

use super::super::RedfishBmc;
use crate::Medium;

const PROPERTY: &str = "VerifyCertificate";

impl RedfishBmc {
    /// The slot, asked to verify where it can and the medium comes by TLS. One that does not take the wish is no reason
    /// to go without the medium: what it says in the end is reported.
    pub(super) async fn have_verified(&self, slot: Resource, medium: &Medium) -> Resource {
        if !is_encrypted(medium) || said(&slot) != Some(false) {
            return slot;
        }
        if let Err(error) = self.client.patch(&slot, &json!({PROPERTY: true})).await {
            tracing::debug!(slot = %slot.uri(), %error, "the slot does not take the wish to verify certificates");
        }
        // Its version has changed with it.
        self.client.read(slot.uri()).await.unwrap_or(slot)
    }

    /// Whether the slot says so once the medium is in it.
    pub(super) async fn verifies(&self, slot: &Resource, medium: &Medium) -> bool {
        if !is_encrypted(medium) {
            return false;
        }
        match self.client.read(slot.uri()).await {
            Ok(now) => said(&now) == Some(true),
            Err(error) => {
                tracing::debug!(slot = %slot.uri(), %error, "the slot does not say whether it verifies certificates");
                false
            }
        }
    }
}

fn is_encrypted(medium: &Medium) -> bool {
    medium.url.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

fn said(slot: &Resource) -> Option<bool> {
    slot.value(PROPERTY).and_then(Value::as_bool)
}
