//! Stands in until the reconcilers bring their own.

use bessemer_reconcilers::outside::{ClusterKey, NodeView, WorkloadClusters, WorkloadError};

pub(super) struct Pending;

#[async_trait::async_trait]
impl WorkloadClusters for Pending {
    async fn node(&self, cluster: &ClusterKey, _: &str) -> Result<Option<NodeView>, WorkloadError> {
        Err(WorkloadError::Unreachable { cluster: cluster.clone(), why: "being built".into() })
    }
    async fn initialized(&self, cluster: &ClusterKey) -> Result<bool, WorkloadError> {
        Err(WorkloadError::Unreachable { cluster: cluster.clone(), why: "being built".into() })
    }
}
