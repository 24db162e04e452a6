//! What each kind says, and where.

use std::fmt::Debug;

use bessemer_api::conditions::{set, wanted};
use bessemer_api::infrastructure::{Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Remediation};
use bessemer_api::ipam_metal3::{IpClaim, IpPool};
use bessemer_api::metal3::{
    BareMetalSwitch, BmcEventSubscription, DataImage, DataImageError, HostClaim, HostDeployPolicy,
    HostFirmwareComponents, HostFirmwareSettings, HostNetworkAttachment, HostUpdatePolicy, PreprovisioningImage,
};
use bessemer_api::well_known::NOT_IMPLEMENTED_ANNOTATION;
use jiff::Timestamp;
use k8s_openapi::NamespaceResourceScope;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::kubernetes::time;

/// Why such a condition is false.
const REASON: &str = "NotImplemented";

/// A kind that nobody acts on yet.
pub(super) trait Unserved:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + Serialize
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
    /// Says so on the object, in the one place that the kind has for it.
    fn say(&mut self, now: Timestamp);
}

macro_rules! in_condition {
    ($($kind:ident, $type_:literal: $message:literal;)*) => {
        $(impl Unserved for $kind {
            fn say(&mut self, now: Timestamp) {
                let conditions = &mut self.status.get_or_insert_default().conditions;
                set(conditions, wanted($type_, false, REASON, $message), self.metadata.generation, time(now));
            }
        })*
    };
}

macro_rules! in_error_message {
    ($($kind:ident, $field:ident: $message:literal;)*) => {
        $(impl Unserved for $kind {
            fn say(&mut self, _: Timestamp) {
                self.status.get_or_insert_default().$field = Some(format!("{REASON}: {}", $message));
            }
        })*
    };
}

macro_rules! in_annotation {
    ($($kind:ident: $message:literal;)*) => {
        $(impl Unserved for $kind {
            fn say(&mut self, _: Timestamp) {
                self.annotations_mut().insert(NOT_IMPLEMENTED_ANNOTATION.to_owned(), $message.to_owned());
            }
        })*
    };
}

in_condition! {
    HostFirmwareSettings, "Valid": "BIOS settings are neither read nor changed yet";
    HostFirmwareComponents, "Valid": "firmware is neither read nor updated yet";
    PreprovisioningImage, "Ready": "no ramdisk is made for single hosts yet: every host boots the common one";
    BareMetalSwitch, "Valid": "switches are not configured yet";
    HostClaim, "Ready": "hosts cannot be claimed across namespaces yet: claim them with a Metal3Machine";
}

in_error_message! {
    BmcEventSubscription, error: "events of BMCs are not subscribed to yet";
    Metal3DataClaim, error_message: "no metadata or network data is rendered from templates yet";
    Metal3Data, error_message: "no metadata or network data is rendered from templates yet";
    IpClaim, error_message: "no addresses are given out of pools yet";
}

in_annotation! {
    HostUpdatePolicy: "firmware is not changed yet, so there is nothing to hold back";
    HostNetworkAttachment: "switches are not configured yet";
    HostDeployPolicy: "hosts cannot be claimed across namespaces yet, whatever this allows";
    Metal3DataTemplate: "no metadata or network data is rendered from templates yet";
    Metal3Remediation: "machines are not power cycled to bring them back yet";
    IpPool: "no addresses are given out of pools yet";
}

impl Unserved for DataImage {
    fn say(&mut self, _: Timestamp) {
        let message = format!("{REASON}: no CD is attached to running hosts yet");
        self.status.get_or_insert_default().error = Some(DataImageError { count: 1, message });
    }
}
