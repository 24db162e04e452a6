//! A workload cluster that is there when the test says so.

use std::sync::Mutex;

use async_trait::async_trait;
use bessemer_reconcilers::outside::{ClusterKey, NodeAddressView, NodeView, WorkloadClusters, WorkloadError};

#[derive(Default)]
pub struct FakeWorkload(Mutex<Option<(String, NodeView)>>);

impl FakeWorkload {
    /// The API serves, with one Node.
    pub fn serve(&self, provider_id: &str, ready: bool) {
        let node = NodeView {
            name: "r7-u12".to_owned(),
            ready: Some((ready, if ready { String::new() } else { "cni plugin not initialized".to_owned() })),
            addresses: vec![NodeAddressView { kind: "InternalIP".to_owned(), address: "10.77.0.112".to_owned() }],
            info: serde_json::json!({ "osImage": "Debian GNU/Linux 12 (bookworm)" }),
            pressures: Vec::new(),
        };
        *self.0.lock().unwrap() = Some((provider_id.to_owned(), node));
    }

    fn get(&self, cluster: &ClusterKey) -> Result<(String, NodeView), WorkloadError> {
        let unreachable = || WorkloadError::Unreachable { cluster: cluster.clone(), why: "refused".to_owned() };
        self.0.lock().unwrap().clone().ok_or_else(unreachable)
    }
}

#[async_trait]
impl WorkloadClusters for FakeWorkload {
    async fn node(&self, cluster: &ClusterKey, provider_id: &str) -> Result<Option<NodeView>, WorkloadError> {
        let (id, node) = self.get(cluster)?;
        Ok((id == provider_id).then_some(node))
    }

    async fn initialized(&self, cluster: &ClusterKey) -> Result<bool, WorkloadError> {
        self.get(cluster).map(|_| true)
    }
}
