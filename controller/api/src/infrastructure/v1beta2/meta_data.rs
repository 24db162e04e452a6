//! The recipe for metadata: which key gets its value from where.

use bessemer_api_macros::api;

use super::MachineObject;

/// Keys of the metadata, by where their values come from.
#[api]
#[derive(Eq)]
pub struct MetaData {
    /// Fixed texts.
    #[list(map(key), 1..=512)]
    pub strings: Vec<MetaDataString>,
    /// Names of objects.
    #[list(map(key), 1..=512)]
    pub object_names: Vec<MetaDataObjectName>,
    /// The machine's number, with something around it.
    #[list(map(key), 1..=512)]
    pub indexes: Vec<MetaDataIndex>,
    /// The machine's namespace.
    #[list(map(key), 1..=512)]
    pub namespaces: Vec<MetaDataNamespace>,
    /// MAC addresses of the host.
    #[list(map(key), 1..=512)]
    pub from_host_interfaces: Vec<MetaDataHostInterface>,
    /// Labels of objects.
    #[list(map(key), 1..=512)]
    pub from_labels: Vec<MetaDataLabel>,
    /// Annotations of objects.
    #[list(map(key), 1..=512)]
    pub from_annotations: Vec<MetaDataAnnotation>,
    /// Addresses of pools.
    #[list(map(key), 1..=512)]
    #[serde(rename = "ipAddressesFromPool")]
    pub ip_addresses_from_pool: Vec<MetaDataPool>,
    /// Prefix lengths of pools.
    #[list(map(key), 1..=512)]
    pub prefixes_from_pool: Vec<MetaDataPool>,
    /// Gateways of pools.
    #[list(map(key), 1..=512)]
    pub gateways_from_pool: Vec<MetaDataPool>,
    /// DNS servers of pools.
    #[list(map(key), 1..=512)]
    pub dns_servers_from_pool: Vec<MetaDataPool>,
}

/// A fixed text.
#[api]
#[derive(Eq)]
pub struct MetaDataString {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// The text.
    #[text(1..=512)]
    pub value: String,
}

/// Name of an object.
#[api(no_default)]
#[derive(Eq)]
pub struct MetaDataObjectName {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// Which object.
    pub object: MachineObject,
}

/// The machine's number, with something around it: `prefix`, then `offset + step × number`, then `suffix`.
#[api]
#[derive(Eq)]
pub struct MetaDataIndex {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// Added to the number.
    #[number(0..)]
    pub offset: Option<i32>,
    /// The number is taken so many times.
    #[number(1..)]
    #[schemars(extend("x-default" = 1))]
    pub step: Option<i32>,
    /// Before it.
    #[text(1..=512)]
    pub prefix: Option<String>,
    /// After it.
    #[text(1..=512)]
    pub suffix: Option<String>,
}

/// The machine's namespace.
#[api]
#[derive(Eq)]
pub struct MetaDataNamespace {
    /// Key.
    #[text(1..=512)]
    pub key: String,
}

/// MAC address of one of the host's interfaces.
#[api]
#[derive(Eq)]
pub struct MetaDataHostInterface {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// Name of the interface.
    #[text(1..=512)]
    pub interface: Option<String>,
    /// The one that boots from the network.
    #[serde(rename = "fromBootMAC")]
    pub from_boot_mac: Option<bool>,
}

/// Label of an object.
#[api(no_default)]
#[derive(Eq)]
pub struct MetaDataLabel {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// Which object.
    pub object: MachineObject,
    /// Key of the label.
    #[text(1..=512)]
    pub label: String,
}

/// Annotation of an object.
#[api(no_default)]
#[derive(Eq)]
pub struct MetaDataAnnotation {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// Which object.
    pub object: MachineObject,
    /// Key of the annotation.
    #[text(1..=512)]
    pub annotation: String,
}

/// Something of the address that the machine has from a pool.
#[api]
#[derive(Eq)]
pub struct MetaDataPool {
    /// Key.
    #[text(1..=512)]
    pub key: String,
    /// API group of the pool.
    #[text(1..=512)]
    #[schemars(extend("x-default" = "ipam.metal3.io"))]
    pub api_group: Option<String>,
    /// Kind of the pool.
    #[text(1..=512)]
    #[schemars(extend("x-default" = "IPPool"))]
    pub kind: Option<String>,
    /// Name of the pool.
    #[text(1..=512)]
    pub name: String,
}
