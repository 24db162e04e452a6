//! References of this group.

use bessemer_api_macros::api;

use crate::patterns::{KIND, SUBDOMAIN};

/// An object of a known kind; in the referrer's namespace unless another one is given.
#[api(atomic)]
#[derive(Eq)]
pub struct ObjectName {
    /// Name.
    #[text(1..=253)]
    pub name: Option<String>,
    /// Namespace.
    #[text(1..=253)]
    pub namespace: Option<String>,
}

/// A pool of addresses, in the referrer's namespace.
#[api]
#[derive(Eq)]
pub struct PoolReference {
    /// Its API group.
    #[text(1..=253, SUBDOMAIN)]
    #[schemars(extend("x-default" = "ipam.metal3.io"))]
    pub api_group: Option<String>,
    /// Its kind.
    #[text(1..=63, KIND)]
    #[schemars(extend("x-default" = "IPPool"))]
    pub kind: Option<String>,
    /// Its name.
    #[text(1..=253, SUBDOMAIN)]
    pub name: String,
}

/// An annotation of one of the objects around a machine.
#[api(no_default)]
#[derive(Eq)]
pub struct FromAnnotation {
    /// Whose.
    pub object: MachineObject,
    /// Its key.
    #[text(1..=512)]
    pub annotation: String,
}

/// An object around a machine.
#[api]
pub enum MachineObject {
    /// Its Machine.
    #[serde(rename = "machine")]
    Machine,
    /// Its Metal3Machine.
    #[serde(rename = "metal3machine")]
    Metal3Machine,
    /// Its BareMetalHost.
    #[serde(rename = "baremetalhost")]
    BareMetalHost,
}
