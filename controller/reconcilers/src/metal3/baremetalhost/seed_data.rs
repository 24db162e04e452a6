//! What a host's Secrets hold for the system that is installed on it, by Metal3's names and fallbacks. No rule here says
//! what becomes of it.

use std::fmt;

use bessemer_api::metal3::BareMetalHost;
use bessemer_protocol::NetworkConfig;
use k8s_openapi::api::core::v1::{Secret, SecretReference};
use kube::Api;
use serde_json::{Map, Value};

use super::ramdisk_network;
use crate::kubernetes::{Asking, Key, ReconcileError};

/// Format of bootstrap data that does not say which it has.
const CLOUD_CONFIG: &str = "cloud-config";

/// User data, metadata and network data of a host. Never printed.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct SeedData {
    /// What cloud-init or Ignition runs, or our agent in their place.
    pub(crate) user_data: Option<UserData>,
    /// What goes over the metadata that every host has.
    pub(crate) meta_data: Map<String, Value>,
    /// OpenStack's network data, as JSON.
    pub(crate) network_data: Option<String>,
}

/// User data with its format.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct UserData {
    /// `cloud-config`, `ignition` and so on.
    pub(crate) format: String,
    /// Secret: a control plane's holds the cluster's CA keys.
    pub(crate) text: String,
}

impl fmt::Debug for SeedData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeedData")
            .field("user_data", &self.user_data.as_ref().map(|data| (&data.format, data.text.len())))
            .field("meta_data", &self.meta_data.keys().collect::<Vec<_>>())
            .field("network_data", &self.network_data.as_ref().map(String::len))
            .finish()
    }
}

impl SeedData {
    /// Reads them; the inner error says which Secret is missing or wrong, and quotes nothing of it.
    pub(super) async fn read(
        secrets: &Api<Secret>,
        host: &BareMetalHost,
        key: &Key,
    ) -> Result<Result<Self, String>, ReconcileError> {
        let spec = &host.spec;
        let network = spec.network_data.clone().or_else(|| preprovisioning(host));
        let user_data = fetch(secrets, "userData", spec.user_data.as_ref(), key).await?;
        let meta_data = fetch(secrets, "metaData", spec.meta_data.as_ref(), key).await?;
        let network_data = fetch(secrets, "networkData", network.as_ref(), key).await?;
        Ok(Self::of(user_data, meta_data, network_data))
    }

    fn of(user: Found, meta: Found, network: Found) -> Result<Self, String> {
        let mut data = Self::default();
        if let Some(content) = user? {
            data.user_data = Some(UserData { format: content.format, text: content.text });
        }
        if let Some(content) = meta? {
            data.meta_data = content.mapping()?;
        }
        if let Some(content) = network? {
            data.network_data = Some(Value::Object(content.mapping()?).to_string());
        }
        Ok(data)
    }
}

/// What `spec.preprovisioningNetworkDataName` says of the ramdisk's network; none for DHCP. The inner error is for people.
pub(super) async fn ramdisk_network(
    secrets: &Api<Secret>,
    host: &BareMetalHost,
    key: &Key,
) -> Result<Result<Option<NetworkConfig>, String>, ReconcileError> {
    let Some(reference) = preprovisioning(host) else { return Ok(Ok(None)) };
    let found = fetch(secrets, "networkData", Some(&reference), key).await?;
    let network = found.and_then(|content| {
        let Some(content) = content else { return Ok(None) };
        let network = ramdisk_network::of(&content.mapping()?);
        network.map(Some).map_err(|why| format!("{} cannot be the ramdisk's network: {why}", content.from))
    });
    Ok(network.map_err(|why| format!("spec.preprovisioningNetworkDataName: {why}")))
}

fn preprovisioning(host: &BareMetalHost) -> Option<SecretReference> {
    let name = host.spec.preprovisioning_network_data_name.clone().filter(|name| !name.is_empty())?;
    Some(SecretReference { name: Some(name), namespace: None })
}

/// The content of a Secret that is asked for, if one is.
type Found = Result<Option<Content>, String>;

/// The text under one key of a Secret.
pub(super) struct Content {
    /// Which Secret, for messages.
    from: String,
    /// What its key `format` says.
    pub(super) format: String,
    pub(super) text: String,
}

impl Content {
    /// What the Secret holds under `field`, or under `value` as Cluster API has it.
    pub(super) fn of(secret: &Secret, name: &str, field: &str) -> Result<Self, String> {
        let bytes = |key: &str| secret.data.as_ref().and_then(|data| data.get(key)).map(|bytes| bytes.0.clone());
        let Some(found) = bytes(field).or_else(|| bytes("value")) else {
            return Err(format!("secret {name} has neither a key {field} nor value: add one"));
        };
        let text =
            String::from_utf8(found).map_err(|_| format!("secret {name} holds {field} that is no UTF-8 text"))?;
        let format = bytes("format").and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(Self { from: format!("{field} in secret {name}"), format: format.unwrap_or(CLOUD_CONFIG.to_owned()), text })
    }

    /// YAML, of which JSON is a part; nothing for an empty text.
    pub(super) fn mapping(&self) -> Result<Map<String, Value>, String> {
        match serde_saphyr::from_str(&self.text) {
            _ if self.text.trim().is_empty() => Ok(Map::new()),
            Ok(Value::Object(map)) => Ok(map),
            // The parser's words may quote what is there.
            Ok(_) | Err(_) => Err(format!("{} is no mapping in YAML or JSON", self.from)),
        }
    }
}

/// The content that `reference` of the host `key` leads to.
pub(super) async fn fetch(
    secrets: &Api<Secret>,
    field: &str,
    reference: Option<&SecretReference>,
    key: &Key,
) -> Result<Found, ReconcileError> {
    let Some(name) = reference.and_then(|reference| reference.name.clone()) else { return Ok(Ok(None)) };
    let namespace = reference.and_then(|reference| reference.namespace.as_deref()).unwrap_or_default();
    if !namespace.is_empty() && namespace != key.namespace {
        return Ok(Err(format!(
            "spec.{field} of host {key} names a secret of namespace {namespace}: it must be its own"
        )));
    }
    let full = format!("{}/{name}", key.namespace);
    let secret = secrets.get_opt(&name).await.asking("read", format!("Secret {full}"))?;
    Ok(match secret {
        None => Err(format!("secret {full}, which is to hold its {field}, does not exist: create it")),
        Some(secret) => Content::of(&secret, &full, field).map(Some),
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn secret(data: &[(&str, &str)]) -> Secret {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec()))).collect();
        Secret { data: Some(data), ..Secret::default() }
    }

    #[test]
    fn keys_have_metal3s_order_and_formats_are_kept() {
        for (data, wanted) in [
            (vec![("value", "v")], Ok(("v", "cloud-config"))),
            (vec![("value", "v"), ("userData", "u")], Ok(("u", "cloud-config"))),
            (vec![("value", "v"), ("format", "ignition")], Ok(("v", "ignition"))),
            (vec![("networkData", "n")], Err("secret metal/s has neither a key userData nor value: add one")),
        ] {
            let found = Content::of(&secret(&data), "metal/s", "userData");
            let found = found.as_ref().map(|found| (found.text.as_str(), found.format.as_str()));
            assert_eq!(found.map_err(String::as_str), wanted, "{data:?}");
        }
        let mut binary = secret(&[]);
        binary.data.get_or_insert_default().insert("value".to_owned(), ByteString(vec![0xff]));
        assert!(Content::of(&binary, "metal/s", "userData").is_err_and(|why| why.contains("no UTF-8")));
    }

    #[test]
    fn metadata_and_network_data_are_yaml_or_json_and_no_error_quotes_them() {
        let content = |text: &str| Content::of(&secret(&[("value", text)]), "metal/s", "metaData").map(Some);
        for text in ["rack: r1\n", r#"{"rack": "r1"}"#] {
            let data = SeedData::of(Ok(None), content(text), content(text)).unwrap();
            assert_eq!(data.meta_data.get("rack"), Some(&Value::from("r1")));
            assert_eq!(data.network_data.as_deref(), Some(r#"{"rack":"r1"}"#));
        }
        assert_eq!(SeedData::of(Ok(None), content(" \n"), Ok(None)), Ok(SeedData::default()));
        for text in ["hunter2", "- hunter2", "a: [hunter2", "{hunter2"] {
            let why = SeedData::of(Ok(None), content(text), Ok(None)).unwrap_err();
            assert!(why.contains("secret metal/s is no mapping") && !why.contains("hunter2"), "{why}");
        }
        let user = Content::of(&secret(&[("value", "hunter2")]), "metal/s", "userData").map(Some);
        let shown = format!("{:?}", SeedData::of(user, content("a: hunter2"), content("a: hunter2")).unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
