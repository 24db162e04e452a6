//! Group `infrastructure.cluster.x-k8s.io`: clusters and machines on BareMetalHosts.

use crate::kubernetes::Key;

/// The providerID of a machine on a host, as Metal3 writes it.
pub(crate) fn provider_id(host: &Key, machine: &str) -> String {
    format!("metal3://{}/{}/{machine}", host.namespace, host.name)
}
