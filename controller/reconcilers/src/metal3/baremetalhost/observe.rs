//! Looks at one host: its objects, its BMC's Secret, its power, its agent.

use std::sync::Arc;
use std::time::Duration;

use bessemer_api::bessemer::{BootStep, BootTarget, HostRecord};
use bessemer_api::metal3::{BareMetalHost, BareMetalHostStatus, ProvisioningState};
use bessemer_api::well_known::{ENVIRONMENT_LABEL, ENVIRONMENT_VALUE};
use bessemer_bmc::{Address, Bmc, Credentials, PowerState, Trust};
use bessemer_protocol::NetworkConfig;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, ResourceExt};

use super::HostReconciler;
use super::budgets::{POWER_POLL, POWER_POLL_WAITING};
use super::observed::{CredentialsView, Observed, PowerView, Seed, host_id};
use super::seed_data::{self, SeedData};
use crate::hosts::{hosts_with_mac, hosts_with_server, is_registered, server};
use crate::kubernetes::{Asking, Key, ReconcileError, is_deleting, jitter};

/// What was seen, and what it takes to act on it.
pub(super) struct Sight {
    pub(super) observed: Observed,
    pub(super) record: Option<HostRecord>,
    pub(super) secret: Option<Secret>,
    /// The BMC, if address and credentials can be used; what is wrong with the address otherwise.
    pub(super) bmc: Result<Arc<dyn Bmc>, String>,
}

impl HostReconciler {
    /// None if the host is gone.
    pub(super) async fn observe(&self, key: &Key) -> Result<Option<Sight>, ReconcileError> {
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<HostRecord> = Api::namespaced(self.client.clone(), &key.namespace);
        let Some(host) = hosts.get_opt(&key.name).await.asking("read", format!("BareMetalHost {key}"))? else {
            self.power.forget(key);
            return Ok(None);
        };
        let record = records.get_opt(&key.name).await.asking("read", format!("HostRecord {key}"))?;
        let secret = self.secret(&host, key).await?;
        let (credentials, bmc) = self.access(&host, key, secret.as_ref());
        let power = match &bmc {
            Ok(bmc) => self.power(key, &host, record.as_ref(), bmc.as_ref()).await,
            Err(_) => PowerView::Unknown,
        };
        let agent = host_id(&host).map(|id| self.agents.view(&id)).unwrap_or_default();
        let observed = Observed {
            record: record.as_ref().map(|record| record.status.clone().unwrap_or_default()),
            seed_data: self.seed_data(&host, key).await?,
            ramdisk_network: self.ramdisk_network(&host, key).await?,
            mac_twin: self.mac_twin(&host, key),
            bmc_twin: self.bmc_twin(&host, key),
            host,
            credentials,
            power,
            agent,
            started: self.started,
            boot: self.boot.clone(),
            seed: Seed::fresh(jitter()),
        };
        Ok(Some(Sight { observed, record, secret, bmc }))
    }

    async fn seed_data(&self, host: &BareMetalHost, key: &Key) -> Result<Result<SeedData, String>, ReconcileError> {
        let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
        if state != ProvisioningState::Provisioning {
            return Ok(Ok(SeedData::default()));
        }
        SeedData::read(&Api::namespaced(self.client.clone(), &key.namespace), host, key).await
    }

    /// Read as long as the host may boot the ramdisk: what a boot was given stays with it.
    async fn ramdisk_network(
        &self,
        host: &BareMetalHost,
        key: &Key,
    ) -> Result<Result<Option<NetworkConfig>, String>, ReconcileError> {
        let state = host.status.as_ref().map(|status| status.provisioning.state).unwrap_or_default();
        if matches!(state, ProvisioningState::Provisioned | ProvisioningState::ExternallyProvisioned) {
            return Ok(Ok(None));
        }
        seed_data::ramdisk_network(&Api::namespaced(self.client.clone(), &key.namespace), host, key).await
    }

    fn mac_twin(&self, host: &BareMetalHost, key: &Key) -> Option<String> {
        let mac = host.spec.boot_mac_address.as_deref()?;
        let others = hosts_with_mac(&self.hosts, mac).into_iter().map(|other| Key::of(other.as_ref()));
        others.filter(|other| other != key).map(|other| other.to_string()).min()
    }

    /// Looked for before a host is powered for the first time; one that is in use is not stopped for another's mistake.
    fn bmc_twin(&self, host: &BareMetalHost, key: &Key) -> Option<String> {
        if is_registered(host) {
            return None;
        }
        let others = hosts_with_server(&self.hosts, &server(host)?).into_iter().map(|other| Key::of(other.as_ref()));
        others.filter(|other| other != key).map(|other| other.to_string()).min()
    }

    async fn secret(&self, host: &BareMetalHost, key: &Key) -> Result<Option<Secret>, ReconcileError> {
        let Some(bmc) = host.spec.bmc.as_ref().filter(|bmc| !bmc.credentials_name.is_empty()) else { return Ok(None) };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let what = format!("Secret {}/{}", key.namespace, bmc.credentials_name);
        secrets.get_opt(&bmc.credentials_name).await.asking("read", what)
    }

    fn access(
        &self,
        host: &BareMetalHost,
        key: &Key,
        secret: Option<&Secret>,
    ) -> (CredentialsView, Result<Arc<dyn Bmc>, String>) {
        let none = |why: &str| Err(why.to_owned());
        let Some(details) = host.spec.bmc.as_ref().filter(|bmc| !bmc.address.is_empty()) else {
            return (CredentialsView::NoBmc, none("spec.bmc is not set"));
        };
        let name = format!("{}/{}", key.namespace, details.credentials_name);
        let missing = |why: String| (CredentialsView::Missing { why: why.clone() }, Err(why));
        let Some(secret) = secret else {
            return missing(format!("secret {name} with the BMC's username and password does not exist: create it"));
        };
        let field = |key: &str| {
            let bytes = secret.data.as_ref().and_then(|data| data.get(key))?;
            // A trailing newline comes from an editor, not from a password.
            std::str::from_utf8(&bytes.0).ok().map(|text| text.trim_end_matches(['\r', '\n']).to_owned())
        };
        let (Some(user), Some(password)) = (field("username"), field("password")) else {
            return missing(format!("secret {name} lacks the key username or password: add it"));
        };
        let found = CredentialsView::Found {
            version: secret.resource_version().unwrap_or_default(),
            labelled: secret.labels().get(ENVIRONMENT_LABEL).is_some_and(|value| value == ENVIRONMENT_VALUE),
        };
        let trust = match details.disable_certificate_verification {
            Some(true) => Trust::Anyone,
            _ => Trust::System,
        };
        let bmc = details
            .address
            .parse::<Address>()
            .and_then(|address| self.bmcs.connect(&address, Credentials::new(user, password), trust))
            .map_err(|error| error.to_string());
        match bmc {
            Ok(bmc) => (found, Ok(bmc)),
            Err(why) => missing(why),
        }
    }

    /// The power state, read again only when it is too old for what waits for it.
    async fn power(&self, key: &Key, host: &BareMetalHost, record: Option<&HostRecord>, bmc: &dyn Bmc) -> PowerView {
        let status = host.status.clone().unwrap_or_default();
        if !is_admitted(&status, is_deleting(host)) {
            return PowerView::Unknown;
        }
        let now = Timestamp::now();
        let known = self.power.known(key);
        if let Some((view, at)) = known
            && !stale(at, patience(host, record), now)
        {
            return view;
        }
        let result = bmc.power_state().await;
        let at = Timestamp::now();
        let view = match result {
            Ok(state) => PowerView::Known { on: state == PowerState::On, at },
            Err(error) => PowerView::Failed((&error).into()),
        };
        self.power.remember(key, view.clone(), at);
        view
    }
}

/// Whether the BMC is asked. Credentials that were not tried yet, or did not do, are left alone; but a deletion does not
/// wait for better ones: that the BMC refuses them counts as a failure there.
fn is_admitted(status: &BareMetalHostStatus, is_deleting: bool) -> bool {
    status.good_credentials.credentials.is_some()
        && (is_deleting || status.good_credentials == status.tried_credentials)
}

/// How old a reading may be.
fn patience(host: &BareMetalHost, record: Option<&HostRecord>) -> Duration {
    let status = record.and_then(|record| record.status.as_ref());
    match status.and_then(|status| status.boot.as_ref()) {
        _ if is_deleting(host) => Duration::ZERO,
        _ if status.is_some_and(|status| status.soft_off.is_some()) => POWER_POLL_WAITING,
        Some(boot) if matches!(boot.step, BootStep::Insert | BootStep::Power | BootStep::Reset) => Duration::ZERO,
        Some(boot) if boot.target == BootTarget::Ramdisk && boot.step == BootStep::Waiting => POWER_POLL_WAITING,
        Some(boot) if boot.target == BootTarget::PowerOff || boot.step == BootStep::Eject => POWER_POLL_WAITING,
        _ => POWER_POLL,
    }
}

fn stale(at: Timestamp, patience: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(at)).unwrap_or_default() >= patience
}

#[cfg(test)]
mod tests {
    use bessemer_api::metal3::CredentialsStatus;
    use k8s_openapi::api::core::v1::SecretReference;

    use super::*;

    #[test]
    fn a_deletion_asks_the_bmc_with_credentials_that_are_not_good_yet() {
        let credentials = |version: &str| CredentialsStatus {
            credentials: Some(SecretReference::default()),
            credentials_version: Some(version.to_owned()),
        };
        let mut status = BareMetalHostStatus { tried_credentials: credentials("8"), ..BareMetalHostStatus::default() };
        assert!(!is_admitted(&status, true), "it never let us in");
        status.good_credentials = credentials("7");
        assert!(!is_admitted(&status, false) && is_admitted(&status, true));
        status.good_credentials = credentials("8");
        assert!(is_admitted(&status, false));
    }
}
