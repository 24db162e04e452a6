//! References between objects, in Cluster API's v1beta2 forms.

use bessemer_api_macros::api;

use crate::patterns::{API_VERSION, KIND, SUBDOMAIN};

/// A reference without a version: the CRD's contract label tells it. Always within the referrer's namespace.
#[api]
#[derive(Eq)]
pub struct ContractReference {
    /// API group of the kind.
    #[text(1..=253, SUBDOMAIN)]
    pub api_group: String,
    /// Kind.
    #[text(1..=63, KIND)]
    pub kind: String,
    /// Name.
    #[text(1..=253, SUBDOMAIN)]
    pub name: String,
}

/// A reference to a template, in the version in which it is to be read.
#[api]
#[derive(Eq)]
pub struct TemplateReference {
    /// `<group>/<version>` of the kind.
    #[text(1..=317, API_VERSION)]
    pub api_version: String,
    /// Kind.
    #[text(1..=63, KIND)]
    pub kind: String,
    /// Name.
    #[text(1..=253, SUBDOMAIN)]
    pub name: String,
}

/// A reference to an object of a known kind in the same namespace.
#[api]
#[derive(Eq)]
pub struct NameReference {
    /// Name.
    #[text(1..=253, SUBDOMAIN)]
    pub name: String,
}

/// One key of a Secret in the same namespace.
#[api]
#[derive(Eq)]
pub struct SecretKeyReference {
    /// Name of the Secret.
    #[text(1..=253)]
    pub name: String,
    /// Key in its data.
    #[text(1..=256)]
    pub key: String,
}
