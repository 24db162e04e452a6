//! Writes of leases, each on the version that was decided on.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, BootLeaseSpec};
use jiff::Timestamp;
use kube::api::{DeleteParams, ObjectMeta, Preconditions};
use kube::{Api, ResourceExt};

use super::{Holder, lease_name};
use crate::hosts::Hosts;
use crate::kubernetes::{Asking, Key, ReconcileError, create_or_get, delete, own, time, write};

impl Hosts {
    /// Writes the lease over `known`, or a new one; another server's that is there already is as good.
    pub(super) async fn propose(
        &self,
        holder: &Holder,
        leases: &Api<BootLease>,
        subnet: &str,
        address: IpAddr,
        known: Option<BootLease>,
    ) -> Result<BootLease, ReconcileError> {
        let spec = BootLeaseSpec {
            mac: holder.mac.clone(),
            address: IpText(address.to_string()),
            subnet: subnet.to_owned(),
            host: holder.host.as_ref().map(|host| host.name.clone()),
            first_seen: Some(time(Timestamp::now())),
            confirmed: false,
            declined: known.as_ref().map(|known| known.spec.declined.clone()).unwrap_or_default(),
        };
        let label = (BootLeaseSpec::ADDRESS_LABEL.to_owned(), BootLeaseSpec::label_of(address));
        if let Some(known) = known {
            let mut after = BootLease { metadata: known.metadata.clone(), spec };
            after.labels_mut().insert(label.0, label.1);
            return rewrite(leases, &known, &after).await;
        }
        let mut metadata = ObjectMeta {
            name: Some(lease_name(&holder.mac, subnet)),
            namespace: Some(holder.namespace.clone()),
            labels: Some(BTreeMap::from([label])),
            ..ObjectMeta::default()
        };
        if let Some(host) = holder.host.as_ref().and_then(|host| self.cached(host)) {
            own(&mut metadata, host.as_ref(), false);
        }
        create_or_get(leases, &BootLease { metadata, spec }).await
    }

    /// What this machine had before it was a host.
    pub(super) fn strangers_lease(&self, holder: &Holder, subnet: &str) -> Option<Arc<BootLease>> {
        holder.host.as_ref()?;
        let of_machine = self.leases_of(&holder.mac);
        of_machine.into_iter().find(|lease| lease.spec.host.is_none() && lease.spec.subnet == subnet)
    }

    /// Its host's lease is confirmed by now.
    pub(super) async fn forget_strangers_lease(&self, holder: &Holder, subnet: &str) {
        let Some(old) = self.strangers_lease(holder, subnet) else { return };
        // In the host's own namespace it has the same name, and became the host's.
        let Some(namespace) = old.namespace().filter(|namespace| *namespace != holder.namespace) else { return };
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &namespace);
        if let Err(error) = delete(&leases, old.as_ref()).await {
            tracing::warn!(lease = %Key::of(old.as_ref()), %error, "the lease of a machine that became a host was not removed");
        }
    }
}

pub(super) async fn confirm(leases: &Api<BootLease>, lease: &BootLease) -> Result<(), ReconcileError> {
    let mut after = lease.clone();
    after.spec.confirmed = true;
    rewrite(leases, lease, &after).await.map(drop)
}

/// One that is gone was taken back by another boot server, which decided on the same version: a lost race like any other.
async fn rewrite(leases: &Api<BootLease>, before: &BootLease, after: &BootLease) -> Result<BootLease, ReconcileError> {
    write(leases, before, after).await.map_err(|error| match error {
        ReconcileError::Api { what, source, .. } if is_not_found(&source) => ReconcileError::Conflict { what },
        error => error,
    })
}

fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found())
}

/// Takes the address off this version of the lease: one that somebody confirmed meanwhile stays. With nothing else to
/// remember, the lease goes.
pub(super) async fn take_back(leases: &Api<BootLease>, lease: &BootLease) -> Result<(), ReconcileError> {
    if !lease.spec.declined.is_empty() {
        let mut after = lease.clone();
        after.labels_mut().remove(BootLeaseSpec::ADDRESS_LABEL);
        return rewrite(leases, lease, &after).await.map(drop);
    }
    let preconditions = Preconditions { uid: lease.uid(), resource_version: lease.resource_version() };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match leases.delete(&lease.name_any(), &parameters).await {
        Err(error) if is_not_found(&error) => Ok(()),
        result => result.map(drop).asking("take back", format!("lease {}", Key::of(lease))),
    }
}
