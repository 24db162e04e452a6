//! HostUpdatePolicy: when the firmware of a host may be changed.

use bessemer_api_macros::api;

/// When settings and firmware of the BareMetalHost of the same name may be changed.
#[api(optional_spec)]
#[kube(
    group = "metal3.io",
    version = "v1alpha1",
    kind = "HostUpdatePolicy",
    plural = "hostupdatepolicies",
    namespaced,
    status = "HostUpdatePolicyStatus"
)]
pub struct HostUpdatePolicySpec {
    /// When settings of HostFirmwareSettings may be applied.
    pub firmware_settings: Option<UpdatePolicy>,
    /// When updates of HostFirmwareComponents may be made.
    pub firmware_updates: Option<UpdatePolicy>,
}

/// When a change may be made.
#[api]
pub enum UpdatePolicy {
    /// While the host is prepared.
    #[serde(rename = "onPreparing")]
    OnPreparing,
    /// Also when a provisioned host is rebooted.
    #[serde(rename = "onReboot")]
    OnReboot,
}

/// Nothing is observed of it.
#[api]
#[derive(Eq)]
pub struct HostUpdatePolicyStatus {}
