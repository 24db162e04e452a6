//! Addresses of machines, as BootLeases. Several boot servers over one API never give one address to two machines, in
//! four steps: propose (write the lease), look who else has the address, confirm (write again, on the version that was
//! looked at), answer. Of two leases with one address the later one's look finds the earlier one, unless that was taken back; and what
//! was taken back cannot be confirmed, since both change the version.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bessemer_api::addresses::IpText;
use bessemer_api::bessemer::{BootLease, BootLeaseSpec, DeclinedAddress};
use jiff::{SignedDuration, Timestamp};
use kube::api::{DeleteParams, ListParams, ObjectMeta, Preconditions};
use kube::{Api, ResourceExt};

use super::{api_trouble, write_trouble};
use crate::hosts::Hosts;
use crate::kubernetes::{Asking, Key, ReconcileError, create_or_get, own, time, write};
use crate::outside::{AddressPool, DirectoryError};

/// How long a declined address is given to nobody.
const DECLINED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// Addresses tried before a machine has to ask again.
const ATTEMPTS: usize = 8;

/// Whose lease it is.
pub(super) struct Holder {
    /// Lower case with colons.
    pub(super) mac: String,
    /// Where the lease lies.
    pub(super) namespace: String,
    /// The BareMetalHost, which owns it; none for a stranger.
    pub(super) host: Option<Key>,
}

impl Hosts {
    /// The holder's address, allocated when it has none.
    pub(super) async fn address(&self, holder: &Holder, pool: &dyn AddressPool) -> Result<IpAddr, DirectoryError> {
        let key = Key::new(&holder.namespace, lease_name(&holder.mac, &pool.subnet()));
        if let Some(lease) = self.cached_lease(&key).filter(|lease| lease.spec.confirmed)
            && let Some(address) = address_of(&lease, pool)
        {
            return Ok(address);
        }
        // One at a time here: what two tasks of this process would pick at once, one would have to take back.
        let _turn = self.leasing().lock().await;
        self.allocate(holder, pool, &key).await
    }

    async fn allocate(&self, holder: &Holder, pool: &dyn AddressPool, key: &Key) -> Result<IpAddr, DirectoryError> {
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &key.namespace);
        let mut refused = BTreeSet::new();
        for _ in 0..ATTEMPTS {
            let known = leases.get_opt(&key.name).await.map_err(|error| api_trouble(format!("lease {key}"), error))?;
            let lease = match known {
                Some(lease) if address_of(&lease, pool).is_some() => lease,
                known => {
                    let mut taken = self.taken(&holder.mac, known.as_ref());
                    taken.append(&mut refused.clone());
                    let picked = pool.pick(&holder.mac, &taken)?;
                    match self.propose(holder, &leases, &pool.subnet(), picked, known).await {
                        Ok(lease) => lease,
                        Err(ReconcileError::Conflict { .. }) => continue,
                        Err(error) => return Err(write_trouble(error)),
                    }
                }
            };
            // Another boot server's proposal for the same machine is as good as ours, once it is confirmed.
            let Some(address) = address_of(&lease, pool) else { continue };
            let outcome = if lease.spec.confirmed {
                return Ok(address);
            } else if self.is_alone(&lease, address).await? {
                confirm(&leases, &lease).await.map(|()| Some(address))
            } else {
                refused.insert(address);
                take_back(&leases, &lease).await.map(|()| None)
            };
            match outcome {
                Ok(Some(address)) => return Ok(address),
                Ok(None) | Err(ReconcileError::Conflict { .. }) => {}
                Err(error) => return Err(write_trouble(error)),
            }
        }
        Err(DirectoryError::Busy(format!(
            "other boot servers are giving out addresses at the same moment: {} has to ask again",
            holder.mac
        )))
    }

    /// Every address that is not for `mac`: others', and what anybody declined lately. From the cache: what it does not
    /// know yet is found before the address is confirmed.
    fn taken(&self, mac: &str, known: Option<&BootLease>) -> BTreeSet<IpAddr> {
        let now = Timestamp::now();
        let all = self.leases_where(|_| true);
        let mut taken = BTreeSet::new();
        for lease in all.iter().map(AsRef::as_ref).chain(known) {
            taken.extend(lease.spec.declined.iter().filter(|old| is_fresh(old, now)).filter_map(address_of_declined));
            if lease.spec.mac != mac {
                taken.extend(parse(&lease.spec.address));
            }
        }
        taken
    }

    async fn propose(
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
            return write(leases, &known, &after).await;
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

    /// Whether nobody else holds the address, asked after our own lease was written.
    async fn is_alone(&self, lease: &BootLease, address: IpAddr) -> Result<bool, DirectoryError> {
        let label = format!("{}={}", BootLeaseSpec::ADDRESS_LABEL, BootLeaseSpec::label_of(address));
        let all: Api<BootLease> = Api::all(self.client().clone());
        let holders = all.list(&ListParams::default().labels(&label)).await;
        let holders = holders.map_err(|error| api_trouble(format!("leases of {address}"), error))?;
        // Another lease of the same machine is of the time before it was a host.
        Ok(holders.iter().all(|other| other.uid() == lease.uid() || other.spec.mac == lease.spec.mac))
    }

    /// Withdraws the holder's address, if it is that one.
    pub(super) async fn withdraw(&self, holder: &Holder, address: IpAddr) -> Result<(), DirectoryError> {
        let leases: Api<BootLease> = Api::namespaced(self.client().clone(), &holder.namespace);
        let ours = self.leases_of(&holder.mac);
        let Some(lease) = ours.iter().find(|lease| parse(&lease.spec.address) == Some(address)) else { return Ok(()) };
        let mut after = BootLease::clone(lease);
        let said = DeclinedAddress { address: IpText(address.to_string()), at: time(Timestamp::now()) };
        after.spec.declined.retain(|old| old.address != said.address);
        after.spec.declined.push(said);
        let surplus = after.spec.declined.len().saturating_sub(BootLeaseSpec::DECLINED);
        after.spec.declined.drain(..surplus);
        write(&leases, lease, &after).await.map_err(write_trouble).map(drop)
    }
}

async fn confirm(leases: &Api<BootLease>, lease: &BootLease) -> Result<(), ReconcileError> {
    let mut after = lease.clone();
    after.spec.confirmed = true;
    write(leases, lease, &after).await.map(drop)
}

/// Removes this version of the lease: one that somebody confirmed meanwhile stays.
async fn take_back(leases: &Api<BootLease>, lease: &BootLease) -> Result<(), ReconcileError> {
    let preconditions = Preconditions { uid: lease.uid(), resource_version: lease.resource_version() };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match leases.delete(&lease.name_any(), &parameters).await {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        result => result.map(drop).asking("take back", format!("lease {}", Key::of(lease))),
    }
}

/// The lease's address, if it is one of the pool and was not declined lately.
fn address_of(lease: &BootLease, pool: &dyn AddressPool) -> Option<IpAddr> {
    usable(&lease.spec, Timestamp::now()).filter(|address| pool.contains(*address))
}

/// The lease's address, unless its machine declined it lately.
fn usable(spec: &BootLeaseSpec, now: Timestamp) -> Option<IpAddr> {
    let declined = spec.declined.iter().any(|old| old.address == spec.address && is_fresh(old, now));
    parse(&spec.address).filter(|_| !declined)
}

fn is_fresh(declined: &DeclinedAddress, now: Timestamp) -> bool {
    now.duration_since(declined.at.0) < DECLINED_FOR
}

fn address_of_declined(declined: &DeclinedAddress) -> Option<IpAddr> {
    parse(&declined.address)
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
    use super::*;

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
