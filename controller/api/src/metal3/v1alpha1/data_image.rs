//! DataImage: a CD for a running host.

use bessemer_api_macros::api;

use crate::Time;

/// A CD that the BareMetalHost of the same name finds in its drive from its next reboot on. It does not boot from it.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "DataImage",
    plural = "dataimages",
    namespaced,
    status = "DataImageStatus"
)]
pub struct DataImageSpec {
    /// Where it is.
    #[serde(default)]
    pub url: String,
}

/// What is observed of it.
#[api]
pub struct DataImageStatus {
    /// What is in the drive.
    pub attached_image: Option<AttachedImage>,
    /// What went wrong.
    pub error: Option<DataImageError>,
    /// When this was last looked at.
    pub last_reconciled: Option<Time>,
}

/// A CD in a drive.
#[api]
#[derive(Eq)]
pub struct AttachedImage {
    /// Where it comes from.
    pub url: String,
}

/// Failures of one kind.
#[api]
#[derive(Eq)]
pub struct DataImageError {
    /// In a row.
    #[schemars(extend("format" = null))]
    pub count: i64,
    /// The last one.
    pub message: String,
}
