//! Which addresses are taken, as far as this process knows: by the leases in the cache, by reservations, and by what was
//! picked here a moment ago. What it does not know yet is found before an address is confirmed.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::reservations;
use super::{Holder, address_of_declined, has_label, is_fresh, parse};
use crate::hosts::Hosts;
use crate::outside::{AddressPool, NoAddress};

/// How long what was read of the cache is good enough: reading all of it for each machine of a storm takes long.
const FRESH: Duration = Duration::from_millis(100);

/// How long a pick is remembered: until its lease is in the cache for sure.
const PICK_AGE: Duration = Duration::from_secs(60);

/// The part of a pool that unknown machines never get.
const KEPT_FOR_HOSTS: u128 = 4;

/// Picks of this process, and what it last read of the cache.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Pages>);

#[derive(Default)]
struct Pages {
    seen: Seen,
    read: Option<Instant>,
    picks: HashMap<IpAddr, Pick>,
}

struct Pick {
    mac: String,
    at: Instant,
}

/// The cache, by address.
#[derive(Default)]
struct Seen {
    /// With the MAC that has it; none if several have, which a hand-made lease can bring about.
    holders: HashMap<IpAddr, Option<String>>,
    declined: HashSet<IpAddr>,
    reserved: HashMap<IpAddr, BTreeSet<String>>,
}

impl Ledger {
    /// A free address for the holder, which nobody else picks here from now on: `preferred` if it is free. `refused` are
    /// not to be tried.
    pub(super) fn pick(
        &self,
        hosts: &Hosts,
        holder: &Holder,
        pool: &dyn AddressPool,
        preferred: Option<IpAddr>,
        refused: &BTreeSet<IpAddr>,
    ) -> Result<IpAddr, NoAddress> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.refresh(hosts);
        let taken = |address: IpAddr| refused.contains(&address) || pages.is_taken(address, &holder.mac);
        if holder.host.is_none() {
            pages.keep_for_hosts(pool)?;
        }
        let picked = match preferred.filter(|address| pool.contains(*address) && !taken(*address)) {
            Some(address) => address,
            None => pool.pick(&holder.mac, &taken)?,
        };
        pages.picks.insert(picked, Pick { mac: holder.mac.clone(), at: Instant::now() });
        Ok(picked)
    }

    /// A reserved address, which nobody picks here from now on.
    pub(super) fn reserve(&self, hosts: &Hosts, holder: &Holder, address: IpAddr) -> Result<(), NoAddress> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pages.refresh(hosts);
        let others = pages.seen.reserved.get(&address).into_iter().flatten().filter(|mac| **mac != holder.mac);
        if let Some(other) = others.into_iter().next() {
            return Err(NoAddress(format!(
                "{address} is reserved for {} and for {other}: leave it to one of them",
                holder.mac
            )));
        }
        pages.picks.insert(address, Pick { mac: holder.mac.clone(), at: Instant::now() });
        Ok(())
    }

    /// The pick came to nothing.
    pub(super) fn release(&self, address: IpAddr, mac: &str) {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pages.picks.get(&address).is_some_and(|pick| pick.mac == mac) {
            pages.picks.remove(&address);
        }
    }
}

impl Pages {
    fn refresh(&mut self, hosts: &Hosts) {
        let now = Instant::now();
        if self.read.is_some_and(|read| now.duration_since(read) < FRESH) {
            return;
        }
        self.read = Some(now);
        self.picks.retain(|_, pick| now.duration_since(pick.at) < PICK_AGE);
        self.seen = Seen::read(hosts);
    }

    fn is_taken(&self, address: IpAddr, mac: &str) -> bool {
        let Seen { holders, declined, reserved } = &self.seen;
        declined.contains(&address)
            || holders.get(&address).is_some_and(|holder| holder.as_deref() != Some(mac))
            || reserved.get(&address).is_some_and(|macs| macs.iter().any(|other| other != mac))
            || self.picks.get(&address).is_some_and(|pick| pick.mac != mac)
    }

    fn keep_for_hosts(&self, pool: &dyn AddressPool) -> Result<(), NoAddress> {
        let Seen { holders, declined, reserved } = &self.seen;
        let known = holders.keys().chain(declined).chain(reserved.keys()).chain(self.picks.keys());
        let taken: HashSet<&IpAddr> = known.filter(|address| pool.contains(**address)).collect();
        let size = pool.size();
        let (free, kept) = (size.saturating_sub(taken.len() as u128), size.div_ceil(KEPT_FOR_HOSTS));
        if free > kept {
            return Ok(());
        }
        Err(NoAddress(format!(
            "the last {free} addresses of {} are kept for hosts: widen the pool to discover more machines",
            pool.subnet()
        )))
    }
}

impl Seen {
    fn read(hosts: &Hosts) -> Self {
        let (now, mut seen) = (Timestamp::now(), Self::default());
        for lease in hosts.leases_where(|_| true) {
            let spec = &lease.spec;
            seen.declined.extend(spec.declined.iter().filter(|old| is_fresh(old, now)).filter_map(address_of_declined));
            let Some(address) = parse(&spec.address).filter(|_| has_label(&lease)) else { continue };
            let holder = seen.holders.entry(address).or_insert_with(|| Some(spec.mac.clone()));
            if holder.as_ref() != Some(&spec.mac) {
                *holder = None;
            }
        }
        for host in hosts.hosts_where(reservations::has_any) {
            for reservation in reservations::of(&host).into_iter().flatten() {
                seen.reserved.entry(reservation.address).or_default().insert(reservation.mac);
            }
        }
        seen
    }
}
