//! HostDeployPolicy: who may claim the hosts of a namespace.

use bessemer_api_macros::api;

/// Namespaces whose HostClaims may get hosts of this one.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostDeployPolicy",
    plural = "hostdeploypolicies",
    namespaced,
    status = "HostDeployPolicyStatus"
)]
pub struct HostDeployPolicySpec {
    /// Which namespaces. One way of naming them suffices.
    pub host_claim_namespaces: Option<ClaimNamespaces>,
}

/// Ways of naming namespaces.
#[api]
#[derive(Eq)]
pub struct ClaimNamespaces {
    /// By name.
    pub names: Vec<String>,
    /// By a regular expression that the name matches.
    pub name_matches: Option<String>,
    /// By labels, of which one suffices.
    pub has_labels: Vec<NameValue>,
}

/// A label.
#[api]
#[derive(Eq)]
pub struct NameValue {
    /// Key.
    pub name: String,
    /// Value; any unless given.
    pub value: Option<String>,
}

/// Nothing is observed of it.
#[api]
#[derive(Eq)]
pub struct HostDeployPolicyStatus {}
