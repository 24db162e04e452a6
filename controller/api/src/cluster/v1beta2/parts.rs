//! Small structs that several kinds, and several groups, share.

use std::collections::BTreeMap;

use bessemer_api_macros::api;

/// Where an API server is reached.
#[api(some)]
#[derive(Eq)]
pub struct ApiEndpoint {
    /// Host name or address.
    #[text(1..=512)]
    pub host: Option<String>,
    /// Port.
    #[number(1..=65535)]
    pub port: Option<i32>,
}

impl ApiEndpoint {
    /// An endpoint with both parts.
    pub fn new(host: impl Into<String>, port: i32) -> Self {
        Self { host: Some(host.into()), port: Some(port) }
    }

    /// Host and port, if both are given.
    #[must_use]
    pub fn parts(&self) -> Option<(&str, i32)> {
        let host = self.host.as_deref().filter(|host| !host.is_empty())?;
        Some((host, self.port.filter(|port| *port > 0)?))
    }

    /// Both parts are given.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.parts().is_some()
    }
}

impl std::fmt::Display for ApiEndpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (host, port) = (self.host.as_deref().unwrap_or_default(), self.port.unwrap_or_default());
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// One address of a machine.
#[api(no_default)]
#[derive(Eq)]
pub struct MachineAddress {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: AddressKind,
    /// The address.
    #[text(1..=256)]
    pub address: String,
}

/// What an address of a machine is.
#[api]
pub enum AddressKind {
    /// A host name that only the machine's own network may know.
    Hostname,
    /// An address that is reached from outside.
    ExternalIP,
    /// An address inside the cluster's network.
    InternalIP,
    /// A DNS name that is known outside.
    ExternalDNS,
    /// A DNS name that is known inside.
    InternalDNS,
}

/// Metadata for what is made from a template.
#[api(some)]
#[derive(Eq)]
pub struct TemplateMetadata {
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// A domain in which machines fail together.
#[api]
#[derive(Eq)]
pub struct FailureDomain {
    /// Its name.
    #[text(1..=256)]
    pub name: String,
    /// Control plane machines may be placed there.
    pub control_plane: Option<bool>,
    /// What its infrastructure wants to know of it.
    pub attributes: BTreeMap<String, String>,
}

/// How many machines run a version.
#[api]
#[derive(Eq)]
pub struct VersionCount {
    /// The version, with a `v`.
    #[text(1..=256)]
    pub version: String,
    /// The machines.
    #[number(1..)]
    pub replicas: Option<i32>,
}

/// A condition that must hold too before an object counts as ready or available.
#[api]
#[derive(Eq)]
pub struct ConditionGate {
    /// Type of the condition.
    #[text(1..=316, crate::patterns::CONDITION_TYPE)]
    pub condition_type: String,
    /// Which status is the good one; `Positive` unless given.
    pub polarity: Option<Polarity>,
}

/// Which status of a condition is the good one.
#[api]
pub enum Polarity {
    /// `True` is good.
    Positive,
    /// `False` is good.
    Negative,
}

/// How the names of new machines are made.
#[api(some)]
#[derive(Eq)]
pub struct MachineNaming {
    /// A Go template; must contain `.random`.
    #[text(1..=256)]
    pub template: Option<String>,
}
