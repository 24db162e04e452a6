//! Group `cluster.x-k8s.io`: Cluster and Machine, Cluster API's core.

#[expect(clippy::module_inception, reason = "the kind is called as its group is")]
pub(crate) mod cluster;
pub(crate) mod machine;
mod mirrored;

pub(crate) use mirrored::mirrored;

use bessemer_api::cluster::Cluster;
use bessemer_api::well_known::{CLUSTER_NAME_LABEL, PAUSED_ANNOTATION};
use kube::ResourceExt;

/// Whether the object, or everything of its cluster, is paused.
pub(crate) fn is_paused(object: &impl ResourceExt, cluster: Option<&Cluster>) -> bool {
    object.annotations().contains_key(PAUSED_ANNOTATION)
        || cluster.is_some_and(|cluster| cluster.spec.paused == Some(true))
}

/// The infrastructure of the cluster can be used.
pub(crate) fn infrastructure_is_provisioned(cluster: &Cluster) -> bool {
    let initialization = cluster.status.as_ref().and_then(|status| status.initialization.as_ref());
    initialization.is_some_and(|initialization| initialization.infrastructure_provisioned == Some(true))
}

/// The cluster that an object's label names.
pub(crate) fn cluster_label(object: &impl ResourceExt) -> Option<&str> {
    object.labels().get(CLUSTER_NAME_LABEL).map(String::as_str)
}
