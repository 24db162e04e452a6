//! PreprovisioningImage: a ramdisk made for one host.

use bessemer_api_macros::api;

use crate::Condition;

/// A ramdisk for the BareMetalHost of the same name, with network data built in.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "PreprovisioningImage",
    plural = "preprovisioningimages",
    shortname = "ppimg",
    namespaced,
    status = "PreprovisioningImageStatus"
)]
#[column("Ready", string, ".status.conditions[?(@.type=='Ready')].status", "It can be booted")]
#[column("Reason", string, ".status.conditions[?(@.type=='Ready')].reason", "Why, or why not")]
pub struct PreprovisioningImageSpec {
    /// Formats that the host can boot.
    pub accept_formats: Vec<RamdiskFormat>,
    /// Processor architecture.
    pub architecture: Option<String>,
    /// Secret with the network data, in the same namespace.
    pub network_data_name: Option<String>,
}

/// What a ramdisk is delivered as.
#[api]
pub enum RamdiskFormat {
    /// A CD.
    #[serde(rename = "iso")]
    Iso,
    /// An initial ramdisk beside a kernel.
    #[serde(rename = "initrd")]
    Initrd,
}

/// What is observed of it.
#[api]
pub struct PreprovisioningImageStatus {
    /// Processor architecture it was made for.
    pub architecture: Option<String>,
    /// Conditions: `Ready` and `Error`.
    #[list(map(type))]
    pub conditions: Vec<Condition>,
    /// What to add to the kernel's command line.
    pub extra_kernel_params: Option<String>,
    /// What it is.
    pub format: Option<RamdiskFormat>,
    /// Where it is.
    pub image_url: Option<String>,
    /// Where its kernel is, unless it is a CD.
    pub kernel_url: Option<String>,
    /// The network data that is built in.
    pub network_data: Option<SecretVersion>,
}

/// A Secret in one of its versions.
#[api]
#[derive(Eq)]
pub struct SecretVersion {
    /// Name.
    pub name: Option<String>,
    /// Its resourceVersion.
    pub version: Option<String>,
}
