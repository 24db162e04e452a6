//! The rules of KubeadmConfig.

use std::time::Duration;

use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::conditions::{self, Wanted, wanted};
use bessemer_api::well_known::CONTROL_PLANE_LABEL;
use jiff::Timestamp;
use kube::ResourceExt;

use super::cloud_config;
use super::observe::Observed;
use crate::cluster::{infrastructure_is_provisioned, is_paused};
use crate::controlplane::certificates::Purpose;
use crate::kubernetes::{is_deleting, time};

/// For Secrets that others make, whose creation no watch of ours sees.
const SECRET_POLL: Duration = Duration::from_secs(10);

/// One step.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    /// The KubeadmConfig as it shall be.
    pub(super) config: KubeadmConfig,
    /// The data to be stored first; secret.
    pub(super) data: Option<Data>,
    /// When to look again if nothing happens.
    pub(super) wake: Option<Duration>,
}

/// Bootstrap data; never printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Data(pub(super) String);

impl std::fmt::Debug for Data {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

/// Why there is no data yet.
struct Waits {
    message: String,
    wake: Option<Duration>,
}

fn waits(message: impl Into<String>) -> Waits {
    Waits { message: message.into(), wake: None }
}

/// What a KubeadmConfig shall become next.
pub(super) fn decide(seen: &Observed, now: Timestamp) -> Decision {
    let mut decision = Decision { config: seen.config.clone(), data: None, wake: None };
    if is_paused(&seen.config, seen.cluster.as_ref()) || is_deleting(&seen.config) {
        return decision;
    }
    let available = match render(seen) {
        Ok(data) => {
            decision.data = data;
            let name = seen.config.name_any();
            let status = decision.config.status.get_or_insert_default();
            status.data_secret_name = Some(name);
            status.initialization.get_or_insert_default().data_secret_created = Some(true);
            wanted("DataSecretAvailable", true, "Available", "")
        }
        Err(waits) => {
            decision.wake = waits.wake;
            wanted("DataSecretAvailable", false, "NotAvailable", waits.message)
        }
    };
    let ready = Wanted { type_: "Ready", reason: ready_reason(&available), ..available.clone() };
    let generation = decision.config.metadata.generation;
    let status = decision.config.status.get_or_insert_default();
    status.observed_generation = generation;
    for condition in [ready, available] {
        conditions::set(&mut status.conditions, condition, generation, time(now));
    }
    decision
}

fn ready_reason(available: &Wanted) -> String {
    if available.reason == "Available" { "Ready".to_owned() } else { "NotReady".to_owned() }
}

/// The data to be stored; nothing if it is stored already. It is never changed: a machine may have fetched it.
fn render(seen: &Observed) -> Result<Option<Data>, Waits> {
    if seen.secret.is_some() {
        return Ok(None);
    }
    let machine = seen.machine.as_ref().ok_or_else(|| waits("no Machine owns it yet"))?;
    let cluster = seen.cluster.as_ref().ok_or_else(|| waits("its Cluster does not exist yet"))?;
    if !infrastructure_is_provisioned(cluster) {
        return Err(waits("waiting for Cluster status.initialization.infrastructureProvisioned to be true"));
    }
    let version = machine.spec.version.as_deref().ok_or_else(|| waits("the Machine has no spec.version: set it"))?;
    let reached = cluster.status.as_ref().and_then(|status| status.initialization.clone()).unwrap_or_default();
    let spec = &seen.config.spec;
    let control_plane = machine.labels().contains_key(CONTROL_PLANE_LABEL);
    let first = spec.init_configuration.is_some() || (control_plane && spec.join_configuration.is_none());
    if reached.control_plane_initialized == Some(true) || !first {
        return Err(waits(
            "joining a cluster is not built yet: only the first control plane machine can be bootstrapped",
        ));
    }
    let missing: Vec<String> = Purpose::ALL
        .into_iter()
        .filter(|purpose| !seen.certificates.iter().any(|(found, _)| found == purpose))
        .map(|purpose| purpose.secret(&cluster.name_any()))
        .collect();
    if !missing.is_empty() {
        let message = format!("waiting for the Secrets {}", missing.join(", "));
        return Err(Waits { message, wake: Some(SECRET_POLL) });
    }
    let text =
        cloud_config::render(seen, cluster, version).map_err(|why| Waits { message: why, wake: Some(SECRET_POLL) })?;
    Ok(Some(Data(text)))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
