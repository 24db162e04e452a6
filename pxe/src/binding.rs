//! Which address a boot is at, where no lease of ours says so: beside another DHCP server. What belongs to a boot is served
//! to that address alone, though everybody on the link can hear the boot's name.
//!
//! Knows boot ids, addresses and time. This keeps mistakes apart, and makes an attacker fight for the boot in the open; it
//! authenticates nobody.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::{Config, Mode};
use crate::identity::BootId;
use crate::prefix::Prefix;

/// Boots remembered; the one that was heard of longest ago is forgotten first.
const MOST: usize = 4096;

/// Addresses of one boot: it has several network cards, and its firmware and iPXE may be given different ones.
const MOST_ADDRESSES: usize = 4;

/// How long after its last sign a boot stays where it was. A host that starts again with another address has to wait for
/// that in iPXE, which asks again and again.
const BOUND_FOR: Duration = Duration::from_secs(5 * 60);

/// What the boots of one server are bound to.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Subnets whose addresses another server gives out.
    foreign: Vec<Prefix>,
    boots: Mutex<HashMap<BootId, Bound>>,
}

#[derive(Debug)]
struct Bound {
    /// Oldest first.
    addresses: Vec<IpAddr>,
    heard: Instant,
}

impl Bindings {
    pub(crate) fn new(config: &Config) -> Self {
        let foreign = config.subnets.iter().filter(|subnet| subnet.mode != Mode::Full).map(|subnet| subnet.prefix);
        Self { foreign: foreign.collect(), boots: Mutex::default() }
    }

    /// Whether `peer` may have what belongs to the boot of a host with these leases. Those of subnets that another server
    /// serves by now are of old times. A boot without any of the peer's kind is bound to the first address of that kind
    /// that asks: a host with an IPv4 lease may boot over IPv6 with an address that nobody leased to it (SLAAC).
    pub(crate) fn admits(&self, boot_id: BootId, leases: &[IpAddr], peer: IpAddr, now: Instant) -> bool {
        let alike = |address: &IpAddr| address.is_ipv4() == peer.is_ipv4();
        let mut ours = leases.iter().filter(|address| alike(address) && !self.is_foreign(**address)).peekable();
        let has_lease = ours.peek().is_some();
        if ours.any(|address| *address == peer) {
            return true;
        }
        if has_lease && !self.is_foreign(peer) {
            return false;
        }
        let mut boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = bound(&mut boots, boot_id, now);
        let admitted = !bound.addresses.iter().any(alike) || bound.addresses.contains(&peer);
        if admitted {
            bound.put(peer, now);
        }
        admitted
    }

    /// A program of this boot that will fetch its files said which address it has.
    pub(crate) fn learn(&self, boot_id: BootId, address: IpAddr, now: Instant) {
        let mut boots = self.boots.lock().unwrap_or_else(PoisonError::into_inner);
        bound(&mut boots, boot_id, now).put(address, now);
    }

    fn is_foreign(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if self.foreign.iter().any(|prefix| prefix.contains(address)))
    }
}

impl Bound {
    fn put(&mut self, address: IpAddr, now: Instant) {
        self.heard = now;
        if self.addresses.contains(&address) {
            return;
        }
        if self.addresses.len() >= MOST_ADDRESSES {
            self.addresses.remove(0);
        }
        self.addresses.push(address);
    }
}

/// The boot's entry: an empty one if there is none, or none that still counts.
fn bound(boots: &mut HashMap<BootId, Bound>, boot_id: BootId, now: Instant) -> &mut Bound {
    if boots.len() >= MOST && !boots.contains_key(&boot_id) {
        let oldest = boots.iter().min_by_key(|(_, bound)| bound.heard).map(|(boot_id, _)| *boot_id);
        oldest.and_then(|oldest| boots.remove(&oldest));
    }
    let bound = boots.entry(boot_id).or_insert_with(|| Bound { addresses: Vec::new(), heard: now });
    if now.saturating_duration_since(bound.heard) >= BOUND_FOR {
        bound.addresses.clear();
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Reach, Subnet};

    const BOOT: BootId = BootId(1);

    fn at(last: u8) -> IpAddr {
        IpAddr::from([10, 79, 0, last])
    }

    /// 10.78.0.0/24 is ours, 10.79.0.0/24 another server's.
    fn bindings() -> Bindings {
        let mut beside = Subnet::new("10.79.0.0/24".parse().unwrap(), Reach::Relayed);
        beside.mode = Mode::Proxy;
        let ours = Subnet::new("10.78.0.0/24".parse().unwrap(), Reach::Relayed);
        Bindings::new(&Config { subnets: vec![ours, beside], ..Config::default() })
    }

    #[test]
    fn a_boot_without_a_lease_is_the_first_askers_until_it_is_silent_for_long() {
        let (bindings, start) = (bindings(), Instant::now());
        let ask = |last, seconds| bindings.admits(BOOT, &[], at(last), start + Duration::from_secs(seconds));
        assert!(ask(1, 0) && !ask(2, 1) && ask(1, 200) && !ask(2, 450));
        assert!(ask(2, 500) && !ask(1, 501));
        assert!(bindings.admits(BootId(2), &[], at(1), start), "every boot by itself");
    }

    #[test]
    fn what_is_heard_of_its_address_counts_before_the_first_asker() {
        let (bindings, now) = (bindings(), Instant::now());
        bindings.learn(BOOT, at(7), now);
        assert!(!bindings.admits(BOOT, &[], at(1), now) && bindings.admits(BOOT, &[], at(7), now));
        // It asks the other server again, or by another card.
        bindings.learn(BOOT, at(8), now);
        assert!(bindings.admits(BOOT, &[], at(7), now) && bindings.admits(BOOT, &[], at(8), now));
        for last in 9..12 {
            bindings.learn(BOOT, at(last), now);
        }
        assert!(!bindings.admits(BOOT, &[], at(7), now));
    }

    #[test]
    fn a_lease_of_the_other_kind_says_nothing() {
        let (bindings, now) = (bindings(), Instant::now());
        let (lease, v6) = (IpAddr::from([10, 78, 0, 4]), |last| IpAddr::from([0xfd77, 0, 0, 0, 0, 0, 0, last]));
        assert!(bindings.admits(BOOT, &[lease], v6(1), now) && !bindings.admits(BOOT, &[lease], v6(2), now));
        assert!(!bindings.admits(BOOT, &[lease, v6(2)], v6(1), now), "its own lease counts once it is known");
        assert!(bindings.admits(BOOT, &[], at(1), now), "an address of each kind");
    }

    #[test]
    fn leases_count_in_subnets_of_ours_alone() {
        let now = Instant::now();
        let (ours, old) = (IpAddr::from([10, 78, 0, 5]), at(5));
        for (leases, peer, admitted) in [
            (&[ours][..], ours, true),
            (&[ours], IpAddr::from([10, 78, 0, 6]), false),
            // The site went over to another server: its old lease binds nothing.
            (&[old], at(9), true),
            // Another card of it is in a subnet of ours, this one is not.
            (&[ours, old], at(9), true),
            (&[ours], "fd77::1".parse().unwrap(), true),
            (&["fd77::1".parse().unwrap()], "fd77::1".parse().unwrap(), true),
            (&["fd77::1".parse().unwrap()], "fd77::2".parse().unwrap(), false),
        ] {
            assert_eq!(bindings().admits(BOOT, leases, peer, now), admitted, "{leases:?} {peer}");
        }
        let bindings = bindings();
        assert!(bindings.admits(BOOT, &[ours], at(9), now) && !bindings.admits(BOOT, &[ours], at(10), now));
        assert!(bindings.admits(BOOT, &[ours], ours, now));
    }

    #[test]
    fn memory_is_bounded() {
        let (bindings, start) = (bindings(), Instant::now());
        for boot in 0..MOST as u64 + 3 {
            bindings.learn(BootId(boot.into()), at(1), start + Duration::from_millis(boot));
        }
        let boots = bindings.boots.lock().unwrap();
        assert!(boots.len() == MOST && !boots.contains_key(&BootId(2)) && boots.contains_key(&BootId(3)));
    }
}
