//! The rules of Metal3Cluster.

use bessemer_api::cluster::Cluster;
use bessemer_api::conditions::{self, Wanted, wanted};
use bessemer_api::infrastructure::{InfraInitialization, Metal3Cluster};
use bessemer_api::well_known::METAL3_CLUSTER_FINALIZER;
use jiff::Timestamp;
use kube::ResourceExt;

use crate::cluster::is_paused;
use crate::kubernetes::{is_deleting, time};

/// What is known.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    pub(super) object: Metal3Cluster,
    /// The Cluster that owns it.
    pub(super) owner: Option<Cluster>,
}

/// The object as it shall be.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Metal3Cluster {
    let mut object = seen.object.clone();
    if is_paused(&object, seen.owner.as_ref()) {
        return object;
    }
    if is_deleting(&object) {
        object.finalizers_mut().retain(|finalizer| finalizer != METAL3_CLUSTER_FINALIZER);
        return object;
    }
    if !object.finalizers().iter().any(|finalizer| finalizer == METAL3_CLUSTER_FINALIZER) {
        object.finalizers_mut().push(METAL3_CLUSTER_FINALIZER.to_owned());
    }
    let endpoint = object.spec.control_plane_endpoint.as_ref().is_some_and(|endpoint| endpoint.is_valid());
    let generation = object.metadata.generation;
    let status = object.status.get_or_insert_default();
    let before = status.clone();
    let ready = readiness(seen.owner.is_some(), endpoint);
    if ready.reason == "Ready" {
        status.initialization = Some(InfraInitialization { provisioned: Some(true) });
    }
    let infrastructure = Wanted { type_: "BaremetalInfrastructureReady", ..ready.clone() };
    conditions::set(&mut status.conditions, ready, generation, time(now));
    conditions::set(&mut status.conditions, infrastructure, generation, time(now));
    if *status != before {
        status.last_updated = Some(time(now));
    }
    object
}

fn readiness(owned: bool, endpoint: bool) -> Wanted {
    match (owned, endpoint) {
        (false, _) => wanted("Ready", false, "WaitingForClusterOwner", "no Cluster refers to it yet"),
        (true, false) => {
            let message = "spec.controlPlaneEndpoint needs a host and a port: set them";
            wanted("Ready", false, "ControlPlaneEndpointMissing", message)
        }
        (true, true) => wanted("Ready", true, "Ready", ""),
    }
}

#[cfg(test)]
mod tests {
    use bessemer_api::cluster::ApiEndpoint;

    use super::*;

    #[test]
    fn provisioned_needs_owner_and_endpoint() {
        for (owned, host, provisioned, reason) in [
            (true, "10.0.0.1", Some(true), "Ready"),
            (true, "", None, "ControlPlaneEndpointMissing"),
            (false, "10.0.0.1", None, "WaitingForClusterOwner"),
        ] {
            let mut object = Metal3Cluster::new("c", Default::default());
            object.spec.control_plane_endpoint = Some(ApiEndpoint::new(host, 6443));
            let seen = Observed { object, owner: owned.then(Cluster::default) };
            let after = decide(&seen, Timestamp::UNIX_EPOCH);
            let status = after.status.clone().unwrap();
            assert_eq!(status.initialization.and_then(|initialization| initialization.provisioned), provisioned);
            assert_eq!(conditions::get(&status.conditions, "Ready").unwrap().reason, reason);
            let again = decide(&Observed { object: after.clone(), ..seen }, Timestamp::MAX);
            assert_eq!(again, after, "a second pass changes nothing");
        }
    }
}
