//! Writes which host is meant, then the claim on it.

use bessemer_api::infrastructure::Metal3Machine;
use bessemer_api::metal3::BareMetalHost;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};

use super::Metal3MachineReconciler;
use super::decide::Decision;
use super::observe::Observed;
use crate::kubernetes::{Key, ReconcileError, write};

impl Metal3MachineReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        let api: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        write(&api, &seen.object, &decision.object).await?;
        if let Some((before, after)) = &decision.host {
            let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
            // Of two machines that chose the same host, the resourceVersion lets one win.
            write(&hosts, before, after).await?;
            if before.spec.consumer_ref.is_none() && after.spec.consumer_ref.is_some() {
                tracing::info!(metal3machine = %key, host = before.name_any(), "host claimed");
            }
        }
        Ok(Action::await_change())
    }
}
