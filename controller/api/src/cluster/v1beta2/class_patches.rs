//! Patches of a class: how its templates change with the variables.

use std::collections::BTreeMap;

use bessemer_api_macros::api;
use serde_json::Value;

use crate::patterns::{API_VERSION, KIND};

/// One patch: either written here or made by an extension.
#[api]
pub struct ClassPatch {
    /// Its name.
    #[text(1..=256)]
    pub name: String,
    /// What it does.
    #[text(1..=1024)]
    pub description: Option<String>,
    /// A Go template; the patch is left out unless it says `true`.
    #[text(1..=256)]
    pub enabled_if: Option<String>,
    /// What it changes.
    #[list(atomic, ..=100)]
    pub definitions: Vec<PatchDefinition>,
    /// The extension that makes it.
    pub external: Option<ExternalPatch>,
}

/// JSON patches of some templates.
#[api]
pub struct PatchDefinition {
    /// Which templates.
    pub selector: PatchSelector,
    /// The patches, in this order.
    #[required]
    #[list(atomic, 1..=100)]
    pub json_patches: Vec<JsonPatch>,
}

/// Which templates of a class.
#[api]
#[derive(Eq)]
pub struct PatchSelector {
    /// `<group>/<version>` of the template.
    #[text(1..=317, API_VERSION)]
    pub api_version: String,
    /// Its kind.
    #[text(1..=63, KIND)]
    pub kind: String,
    /// By what it is used for.
    pub match_resources: PatchMatch,
}

/// What templates are used for: any of these.
#[api(some)]
#[derive(Eq)]
pub struct PatchMatch {
    /// For the control plane and its machines.
    pub control_plane: Option<bool>,
    /// For the cluster's infrastructure.
    pub infrastructure_cluster: Option<bool>,
    /// For machines of MachineDeployments.
    pub machine_deployment_class: Option<PatchMatchClasses>,
    /// For machines of MachinePools.
    pub machine_pool_class: Option<PatchMatchClasses>,
}

/// Some kinds of workers.
#[api]
#[derive(Eq)]
pub struct PatchMatchClasses {
    /// Their names in the class; a `*` stands for any text.
    #[list(atomic, ..=100, each(1..=256))]
    pub names: Vec<String>,
}

/// One operation as in RFC 6902.
#[api(no_default)]
pub struct JsonPatch {
    /// What is done.
    pub op: JsonPatchOperation,
    /// To which field, below `/spec`.
    #[text(1..=512)]
    pub path: String,
    /// The new value.
    pub value: Option<Value>,
    /// The new value, from variables.
    pub value_from: Option<JsonPatchValue>,
}

/// What a JSON patch does.
#[api]
pub enum JsonPatchOperation {
    /// Sets a field or puts in an element.
    #[serde(rename = "add")]
    Add,
    /// Sets a field that is there.
    #[serde(rename = "replace")]
    Replace,
    /// Takes it away.
    #[serde(rename = "remove")]
    Remove,
}

/// A value from variables: one of the two.
#[api]
#[derive(Eq)]
pub struct JsonPatchValue {
    /// A variable, or a field of one.
    #[text(1..=256)]
    pub variable: Option<String>,
    /// A Go template that gives YAML.
    #[text(1..=10240)]
    pub template: Option<String>,
}

/// Runtime extensions that make a patch.
#[api]
#[derive(Eq)]
pub struct ExternalPatch {
    /// Handler that makes it.
    #[text(1..=512)]
    pub generate_patches_extension: Option<String>,
    /// Handler that checks the outcome.
    #[text(1..=512)]
    pub validate_topology_extension: Option<String>,
    /// Handler that defines further variables.
    #[text(1..=512)]
    pub discover_variables_extension: Option<String>,
    /// Told to all of them.
    pub settings: BTreeMap<String, String>,
}
