//! Addresses that a machine found in use by another one.

use std::net::IpAddr;

use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, BootLeaseSpec, DeclinedAddress};
use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::ListParams;

use super::{Holder, parse};
use crate::boot::{api_trouble, write_trouble};
use crate::hosts::Hosts;
use crate::kubernetes::{time, write};
use crate::outside::DirectoryError;

/// How long a declined address is given to nobody.
const DECLINED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// For the next word of the same machine: anybody on the link can speak in its name, and would empty the pool.
const AGAIN: SignedDuration = SignedDuration::from_hours(1);

impl Hosts {
    /// Withdraws the holder's address, if it is that one and was picked for it: a reserved one stays.
    pub(in crate::boot) async fn withdraw(&self, holder: &Holder, address: IpAddr) -> Result<(), DirectoryError> {
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &holder.namespace);
        // The cache may not know the lease yet.
        let label = format!("{}={}", BootLeaseSpec::ADDRESS_LABEL, BootLeaseSpec::label_of(address));
        let found = leases.list(&ListParams::default().labels(&label)).await;
        let found = found.map_err(|error| api_trouble(format!("lease of {address}"), error))?;
        let Some(lease) = found.items.into_iter().find(|lease| lease.spec.mac == holder.mac) else { return Ok(()) };
        let (now, mac) = (Timestamp::now(), &holder.mac);
        let of_machine = self.leases_of(mac);
        let mut said = of_machine.iter().map(|lease| &lease.spec).chain([&lease.spec]).flat_map(|spec| &spec.declined);
        if said.any(|old| now.duration_since(old.at.0) < AGAIN) {
            tracing::warn!(mac, %address, "not withdrawn: the machine declined another address less than an hour ago");
            return Ok(());
        }
        if self.is_reserved(holder, address) {
            tracing::warn!(mac, %address, "a reserved address is in use by another machine: free it, or reserve another");
            return Ok(());
        }
        let mut after = lease.clone();
        after.spec.declined.retain(|old| parse(&old.address) != Some(address));
        after.spec.declined.push(DeclinedAddress { address: IpText(address.to_string()), at: time(now) });
        let surplus = after.spec.declined.len().saturating_sub(BootLeaseSpec::DECLINED);
        after.spec.declined.drain(..surplus);
        write(&leases, &lease, &after).await.map_err(write_trouble).map(drop)
    }
}

pub(super) fn is_fresh(declined: &DeclinedAddress, now: Timestamp) -> bool {
    now.duration_since(declined.at.0) < DECLINED_FOR
}

pub(super) fn address_of_declined(declined: &DeclinedAddress) -> Option<IpAddr> {
    parse(&declined.address)
}
