//! Addresses of machines, as BootLeases. Several boot servers over one API never give one address to two machines, in
//! four steps: propose (write the lease), look who else has the address, confirm (write again, on the version that was
//! looked at), answer. Of two leases with one address the later one's look finds the earlier one, unless that was taken back; and what
//! was taken back cannot be confirmed, since both change the version.

mod decline;
mod ledger;
mod looks;
mod reservations;
mod store;

use std::collections::BTreeSet;
use std::net::IpAddr;

use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, BootLeaseSpec};
use jiff::Timestamp;
use kube::{Api, ResourceExt};

use super::{api_trouble, write_trouble};
use crate::hosts::Hosts;
use crate::kubernetes::{Key, ReconcileError};
use crate::outside::{AddressPool, DirectoryError, NoAddress};
use decline::{address_of_declined, is_fresh};
pub(crate) use ledger::Ledger;
pub(crate) use looks::Looks;
use store::{confirm, take_back};

/// Addresses tried before a machine has to ask again.
const ATTEMPTS: usize = 8;

/// Machines whose first address is being stored at the same time. More at once would all take so long that the boot server
/// gives them up, with most of the work done in vain; waiting in line costs nothing.
pub(crate) const AT_ONCE: usize = 64;

/// Whose lease it is.
pub(super) struct Holder {
    /// Lower case with colons.
    pub(super) mac: String,
    /// Where the lease lies.
    pub(super) namespace: String,
    /// The BareMetalHost, which owns it; none for a stranger.
    pub(super) host: Option<Key>,
}

/// Where a holder's address comes from.
struct Source<'a> {
    pool: &'a dyn AddressPool,
    /// It can be only this one.
    reserved: Option<IpAddr>,
}

impl Source<'_> {
    /// The lease's address, if it can stay: a reserved one or else one of the pool that was not declined lately, and the
    /// lease was not taken back.
    fn address_of(&self, lease: &BootLease) -> Option<IpAddr> {
        let address = match self.reserved {
            Some(reserved) => parse(&lease.spec.address).filter(|address| *address == reserved),
            None => usable(&lease.spec, Timestamp::now()).filter(|address| self.pool.contains(*address)),
        };
        address.filter(|_| has_label(lease))
    }
}

impl Hosts {
    /// The holder's address, allocated when it has none.
    pub(super) async fn address(&self, holder: &Holder, pool: &dyn AddressPool) -> Result<IpAddr, DirectoryError> {
        let key = Key::new(&holder.namespace, lease_name(&holder.mac, &pool.subnet()));
        let source = Source { pool, reserved: self.reserved(holder, pool)? };
        if let Some(lease) = self.cached_lease(&key).filter(|lease| lease.spec.confirmed)
            && let Some(address) = source.address_of(&lease)
        {
            return Ok(address);
        }
        let Ok(_place) = self.line().acquire().await else {
            return Err(DirectoryError::Busy("this boot server ends".to_owned()));
        };
        let address = self.allocate(holder, &source, &key).await?;
        if holder.host.is_some() {
            self.forget_strangers_lease(holder, &pool.subnet()).await;
        }
        Ok(address)
    }

    async fn allocate(&self, holder: &Holder, source: &Source<'_>, key: &Key) -> Result<IpAddr, DirectoryError> {
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &key.namespace);
        let mut refused = BTreeSet::new();
        // Where there is none yet, as for everybody in the first storm of a site, the proposal itself finds that out.
        let mut may_exist = self.cached_lease(key).is_some();
        for _ in 0..ATTEMPTS {
            let known = match may_exist {
                true => leases.get_opt(&key.name).await.map_err(|error| api_trouble(format!("lease {key}"), error))?,
                false => None,
            };
            may_exist = true;
            let lease = match known {
                Some(lease) if source.address_of(&lease).is_some() => lease,
                known => {
                    let picked = self.choose(holder, source, known.as_ref(), &refused)?;
                    match self.propose(holder, &leases, &source.pool.subnet(), picked, known).await {
                        Ok(lease) => lease,
                        Err(ReconcileError::Conflict { .. }) => continue,
                        Err(error) => return Err(write_trouble(error)),
                    }
                }
            };
            // Another boot server's proposal for the same machine is as good as ours, once it is confirmed.
            let Some(address) = source.address_of(&lease) else { continue };
            if lease.spec.confirmed {
                return Ok(address);
            }
            let holders = self.looks().holders(self.client(), address).await?;
            // Another lease of the same machine is of the time before it was a host.
            let other = holders.iter().find(|other| other.uid() != lease.uid() && other.spec.mac != holder.mac);
            let outcome = match other {
                None => confirm(&leases, &lease).await.map(|()| Some(address)),
                Some(_) => {
                    refused.insert(address);
                    self.ledger().release(address, &holder.mac);
                    take_back(&leases, &lease).await.map(|()| None)
                }
            };
            match (outcome, other) {
                (Ok(Some(address)), _) => return Ok(address),
                (Ok(None), Some(other)) if source.reserved.is_some() && other.spec.confirmed => {
                    return Err(NoAddress(format!(
                        "{address}, reserved for {}, is leased to {}: reserve another, or delete the BootLease {}",
                        holder.mac,
                        other.spec.mac,
                        Key::of(other.as_ref())
                    ))
                    .into());
                }
                (Ok(None) | Err(ReconcileError::Conflict { .. }), _) => {}
                (Err(error), _) => return Err(write_trouble(error)),
            }
        }
        Err(DirectoryError::Busy(format!(
            "other boot servers are giving out addresses at the same moment: {} has to ask again",
            holder.mac
        )))
    }

    /// An address to propose. `known` is the lease that cannot stay as it is.
    fn choose(
        &self,
        holder: &Holder,
        source: &Source<'_>,
        known: Option<&BootLease>,
        refused: &BTreeSet<IpAddr>,
    ) -> Result<IpAddr, NoAddress> {
        if let Some(reserved) = source.reserved {
            return self.ledger().reserve(self, holder, reserved).map(|()| reserved);
        }
        let now = Timestamp::now();
        // The cache may not know it yet.
        let declined = known.iter().flat_map(|lease| &lease.spec.declined).filter(|old| is_fresh(old, now));
        let refused = declined.filter_map(address_of_declined).chain(refused.iter().copied()).collect();
        let preferred = self.strangers_lease(holder, &source.pool.subnet()).and_then(|old| parse(&old.spec.address));
        self.ledger().pick(self, holder, source.pool, preferred, &refused)
    }
}

/// What is taken back keeps no label.
fn has_label(lease: &BootLease) -> bool {
    lease.labels().contains_key(BootLeaseSpec::ADDRESS_LABEL)
}

/// The lease's address, unless its machine declined it lately.
fn usable(spec: &BootLeaseSpec, now: Timestamp) -> Option<IpAddr> {
    let declined = spec.declined.iter().any(|old| old.address == spec.address && is_fresh(old, now));
    parse(&spec.address).filter(|_| !declined)
}

pub(super) fn parse(address: &IpText) -> Option<IpAddr> {
    address.as_str().parse().ok()
}

/// `52-54-00-00-00-01.10-77-0-0-24`: MACs and subnets are no object names, with dashes they are.
fn lease_name(mac: &str, subnet: &str) -> String {
    let dashed = |text: &str| text.replace([':', '/', '.'], "-");
    // A subnet such as `::/64` would begin with a dash; a label of a name must not.
    format!("{}.net-{}", dashed(mac), dashed(subnet))
}

#[cfg(test)]
mod tests {
    use bessemer_api::bessemer::DeclinedAddress;
    use jiff::SignedDuration;

    use super::*;
    use crate::kubernetes::time;

    #[test]
    fn a_lease_is_named_by_machine_and_subnet() {
        let mac = "52:54:00:00:00:01";
        assert_eq!(lease_name(mac, "10.77.0.0/24"), "52-54-00-00-00-01.net-10-77-0-0-24");
        assert_eq!(lease_name(mac, "fd77::/64"), "52-54-00-00-00-01.net-fd77---64");
    }

    #[test]
    fn a_declined_address_is_not_usable_for_a_day() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        for (address, hours, wanted) in
            [("10.0.0.9", 1, None), ("10.0.0.9", 25, Some("10.0.0.9")), ("10.0.0.8", 1, Some("10.0.0.9"))]
        {
            let at = time(now.checked_sub(SignedDuration::from_hours(hours)).unwrap());
            let spec = BootLeaseSpec {
                address: IpText("10.0.0.9".to_owned()),
                declined: vec![DeclinedAddress { address: IpText(address.to_owned()), at }],
                ..BootLeaseSpec::default()
            };
            assert_eq!(usable(&spec, now), wanted.map(|address| address.parse().unwrap()), "{address} {hours}");
        }
    }
}
