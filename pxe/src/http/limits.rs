//! How much one client, and all of them, may take of the boot listener.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Limits of the HTTP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpLimits {
    /// Connections at once. More wait in the listen queue. Lowered to what the process may open.
    pub connections: usize,
    /// As `connections`, for one address (one /64 of IPv6): a connection beyond it is closed at once. A relay that
    /// translates addresses is one address.
    pub connections_each: usize,
    /// For a request's head, and between two requests on one connection.
    pub head: Duration,
    /// For any progress with an answer.
    pub stall: Duration,
    /// Slowest that a client may take an answer, in octets a second on the whole.
    pub slowest: u64,
    /// Most octets on their way to one client at a time, for cards whose iPXE driver stalls when much arrives at once
    /// (ipxe/ipxe#1023); `None` leaves it to the kernel, which is faster.
    pub in_flight: Option<usize>,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            connections_each: 128,
            head: Duration::from_secs(30),
            stall: Duration::from_secs(30),
            slowest: 16 * 1024,
            in_flight: None,
        }
    }
}

impl HttpLimits {
    /// The whole time that an answer of `len` octets may take.
    pub(super) fn whole(&self, len: u64) -> Duration {
        self.stall * 2 + Duration::from_secs(len / self.slowest.max(1))
    }

    /// Connections within the process's limit of open files: each has a socket and at most one file.
    pub(super) fn connections_possible(&self) -> usize {
        let open = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let open = open.and_then(|open| usize::try_from(open).ok()).unwrap_or(usize::MAX);
        self.connections.min(open / 3).max(1)
    }
}

/// Connections of each address. Bounded by the connections there are.
#[derive(Debug, Default, Clone)]
pub(super) struct Tally(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One connection counted; dropping it counts it off.
#[derive(Debug)]
pub(super) struct Counted {
    tally: Tally,
    address: IpAddr,
}

impl Tally {
    /// Counts a connection, unless its address has `most` already.
    pub(super) fn enter(&self, address: IpAddr, most: usize) -> Option<Counted> {
        let address = owner(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Counted { tally: self.clone(), address })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.tally.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.address);
            }
        }
    }
}

/// A machine has any number of IPv6 addresses within a /64. Link-local ones are all in one, so those count alone.
fn owner(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(address) if !address.is_unicast_link_local() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_gets_them_back() {
        let tally = Tally::default();
        let enter = |address: &str| tally.enter(address.parse().unwrap(), 2);
        let held = (enter("10.0.0.1"), enter("10.0.0.1"));
        assert!(held.0.is_some() && held.1.is_some());
        assert!(enter("10.0.0.1").is_none());
        assert!(enter("10.0.0.2").is_some());
        drop(held.0);
        assert!(enter("10.0.0.1").is_some());
        drop(held.1);
        assert!(tally.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_prefix_of_ipv6_is_one_client() {
        let tally = Tally::default();
        let enter = |address: &str| tally.enter(address.parse().unwrap(), 1);
        let _held = (enter("fd77::1").unwrap(), enter("fe80::1").unwrap());
        assert!(enter("fd77::2").is_none());
        assert!(enter("fd77:0:0:1::2").is_some());
        assert!(enter("fe80::2").is_some());
    }

    #[test]
    fn a_large_answer_may_take_longer() {
        let limits = HttpLimits::default();
        assert_eq!(limits.whole(0), Duration::from_secs(60));
        assert_eq!(limits.whole(16 * 1024 * 100), Duration::from_secs(160));
    }
}
