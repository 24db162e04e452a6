//! Writes what a Machine and its parts shall be, and deletes parts in their order.

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Machine, MachinePhase};
use bessemer_api::infrastructure::Metal3Machine;
use kube::Api;
use kube::runtime::controller::Action;

use super::MachineReconciler;
use super::decide::{Decision, Delete};
use super::observe::Observed;
use crate::kubernetes::{Key, ReconcileError, delete, write};

impl MachineReconciler {
    pub(super) async fn act(&self, key: &Key, seen: &Observed, decision: Decision) -> Result<Action, ReconcileError> {
        let machines: Api<Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        let configs: Api<KubeadmConfig> = Api::namespaced(self.client.clone(), &key.namespace);
        let infrastructures: Api<Metal3Machine> = Api::namespaced(self.client.clone(), &key.namespace);
        if let (Some(before), Some(after)) = (&seen.config, &decision.config) {
            write(&configs, before, after).await?;
        }
        if let (Some(before), Some(after)) = (&seen.infrastructure, &decision.infrastructure) {
            write(&infrastructures, before, after).await?;
        }
        write(&machines, &seen.machine, &decision.machine).await?;
        let phase = |machine: &Machine| machine.status.as_ref().and_then(|status| status.phase);
        if phase(&seen.machine) != phase(&decision.machine) {
            tracing::info!(machine = %key, phase = phase(&decision.machine).map(MachinePhase::as_str), "machine");
        }
        match decision.delete {
            None => {}
            Some(Delete::Infrastructure) => {
                if let Some(object) = &seen.infrastructure {
                    delete(&infrastructures, object).await?;
                }
            }
            Some(Delete::Bootstrap) => {
                if let Some(object) = &seen.config {
                    delete(&configs, object).await?;
                }
            }
        }
        Ok(decision.wake.map_or_else(Action::await_change, Action::requeue))
    }
}
