//! BMCEventSubscription: a BMC that tells somebody of its events.

use bessemer_api_macros::api;
use k8s_openapi::api::core::v1::SecretReference;

/// A Redfish event subscription at the BMC of one host.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "BMCEventSubscription",
    plural = "bmceventsubscriptions",
    shortname = "bes",
    shortname = "bmcevent",
    namespaced,
    status = "BmcEventSubscriptionStatus",
    root = "BmcEventSubscription"
)]
#[column("Error", string, ".status.error", "The last error")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct BmcEventSubscriptionSpec {
    /// What the BMC says with each event.
    pub context: Option<String>,
    /// URL to which it sends them.
    pub destination: Option<String>,
    /// BareMetalHost, in the same namespace.
    pub host_name: Option<String>,
    /// Secret with HTTP headers to send along.
    pub http_headers_ref: Option<SecretReference>,
}

/// What is observed of it.
#[api]
#[derive(Eq)]
pub struct BmcEventSubscriptionStatus {
    /// The last error.
    pub error: Option<String>,
    /// What the BMC calls it.
    #[serde(rename = "subscriptionID")]
    pub subscription_id: Option<String>,
}
