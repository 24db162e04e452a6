//! Group `metal3.io`: physical hosts, their firmware and what attaches to them.

mod v1alpha1;

pub use v1alpha1::*;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::crds::{CLUSTERCTL, MOVE, MOVE_HIERARCHY, of, provider, with_status, without_subresources};

/// Group of these kinds.
pub const GROUP: &str = "metal3.io";

/// The CRDs of this group. A move takes hosts with what they own; what nothing owns says that it goes too.
pub(crate) fn crds() -> Vec<CustomResourceDefinition> {
    let provider = provider("infrastructure-metal3");
    let owned = [CLUSTERCTL, provider];
    let alone = [CLUSTERCTL, MOVE, provider];
    vec![
        of::<BareMetalHost>(&[CLUSTERCTL, MOVE_HIERARCHY, provider]),
        of::<HardwareData>(&owned),
        of::<HostFirmwareSettings>(&owned),
        of::<FirmwareSchema>(&owned),
        of::<HostFirmwareComponents>(&owned),
        without_subresources(of::<HostUpdatePolicy>(&alone)),
        of::<PreprovisioningImage>(&owned),
        of::<BmcEventSubscription>(&alone),
        of::<DataImage>(&owned),
        of::<BareMetalSwitch>(&alone),
        with_status(of::<HostNetworkAttachment>(&alone)),
        of::<HostClaim>(&alone),
        of::<HostDeployPolicy>(&alone),
    ]
}
