//! Environment variables of static pods, as core Kubernetes has them.

use bessemer_api_macros::api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// One environment variable.
#[api]
pub struct EnvVar {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Its value, by reference.
    pub value_from: Option<EnvVarSource>,
}

/// Where an environment variable's value comes from: one of these.
#[api]
pub struct EnvVarSource {
    /// A field of the pod.
    pub field_ref: Option<PodFieldReference>,
    /// A resource of a container.
    pub resource_field_ref: Option<ResourceFieldReference>,
    /// A key of a ConfigMap.
    pub config_map_key_ref: Option<KeySelector>,
    /// A key of a Secret.
    pub secret_key_ref: Option<KeySelector>,
    /// A key of a file on a volume.
    pub file_key_ref: Option<FileKeySelector>,
}

/// A field of the pod.
#[api(atomic)]
pub struct PodFieldReference {
    /// Version of the path; `v1` unless given.
    pub api_version: Option<String>,
    /// The path.
    pub field_path: String,
}

/// A resource of a container.
#[api(atomic)]
pub struct ResourceFieldReference {
    /// The container; its own unless given.
    pub container_name: Option<String>,
    /// The resource.
    pub resource: String,
    /// Unit of the value; `1` unless given.
    pub divisor: Option<Quantity>,
}

/// A key of a ConfigMap or Secret.
#[api(atomic)]
pub struct KeySelector {
    /// Name of the object.
    #[schemars(extend("x-default" = ""))]
    pub name: Option<String>,
    /// Key in its data.
    pub key: String,
    /// It may be missing.
    pub optional: Option<bool>,
}

/// A key of a file on a volume.
#[api(atomic)]
pub struct FileKeySelector {
    /// The volume.
    pub volume_name: String,
    /// The file.
    pub path: String,
    /// The key.
    pub key: String,
    /// It may be missing.
    #[schemars(extend("x-default" = false))]
    pub optional: Option<bool>,
}
