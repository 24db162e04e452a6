//! ExtensionConfig: one server of hooks.

use std::collections::BTreeMap;

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::Condition;
use crate::cluster::{Deprecated, V1Beta1Conditions};

/// One server of hooks, and for which namespaces it is asked.
#[api]
#[kube(
    group = "runtime.cluster.x-k8s.io",
    version = "v1beta2",
    kind = "ExtensionConfig",
    plural = "extensionconfigs",
    shortname = "ext",
    category = "cluster-api",
    status = "ExtensionConfigStatus"
)]
#[column("Paused", string, ".status.conditions[?(@.type==\"Paused\")].status", "Nothing acts on it", 10)]
#[column("Discovered", string, ".status.conditions[?(@.type==\"Discovered\")].status", "Its hooks are known")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct ExtensionConfigSpec {
    /// How it is reached.
    pub client_config: ExtensionClientConfig,
    /// For which namespaces; for all unless given.
    pub namespace_selector: Option<LabelSelector>,
    /// Told to it with every call.
    pub settings: BTreeMap<String, String>,
}

/// How a server of hooks is reached: by one of `url` and `service`.
#[api(some)]
#[derive(Eq)]
pub struct ExtensionClientConfig {
    /// By a URL, `https://host:port/path`.
    #[text(1..=512)]
    pub url: Option<String>,
    /// By a Service.
    pub service: Option<ServiceReference>,
    /// CA certificates for its own, in base64; the system's unless given.
    #[text(1..=51200)]
    #[schemars(extend("format" = "byte"))]
    pub ca_bundle: Option<String>,
}

/// A Service.
#[api]
#[derive(Eq)]
pub struct ServiceReference {
    /// Namespace.
    #[text(1..=63)]
    pub namespace: String,
    /// Name.
    #[text(1..=63)]
    pub name: String,
    /// Path of the URL.
    #[text(1..=512)]
    pub path: Option<String>,
    /// Port; 443 unless given.
    pub port: Option<i32>,
}

/// What is observed of a server of hooks.
#[api(some)]
pub struct ExtensionConfigStatus {
    /// Conditions.
    #[list(map(type), ..=32)]
    pub conditions: Vec<Condition>,
    /// Its handlers.
    #[list(map(name), ..=512)]
    pub handlers: Vec<ExtensionHandler>,
    /// What older versions said.
    pub deprecated: Option<Deprecated<V1Beta1Conditions>>,
}

/// One handler.
#[api]
#[derive(Eq)]
pub struct ExtensionHandler {
    /// `<handler>.<extension config>`.
    #[text(1..=512)]
    pub name: String,
    /// What it answers.
    pub request_hook: HookReference,
    /// How long it may take, in seconds.
    #[number(1..)]
    pub timeout_seconds: Option<i32>,
    /// What follows if it cannot be asked.
    pub failure_policy: Option<HookFailurePolicy>,
}

/// One hook.
#[api]
#[derive(Eq)]
pub struct HookReference {
    /// `<group>/<version>`.
    #[text(1..=512)]
    pub api_version: String,
    /// Its name.
    #[text(1..=256)]
    pub hook: String,
}

/// What follows if a handler cannot be asked.
#[api]
pub enum HookFailurePolicy {
    /// It goes on.
    Ignore,
    /// It waits until the handler can be asked.
    Fail,
}
