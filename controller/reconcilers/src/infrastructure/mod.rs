//! Group `infrastructure.cluster.x-k8s.io`: clusters and machines on BareMetalHosts.

pub(crate) mod metal3cluster;
pub(crate) mod metal3machine;

use crate::kubernetes::Key;

/// The providerID of a machine on a host, as Metal3 writes it.
pub(crate) fn provider_id(host: &Key, machine: &str) -> String {
    format!("metal3://{}/{}/{machine}", host.namespace, host.name)
}
