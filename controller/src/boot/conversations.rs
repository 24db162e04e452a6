//! Which machine an exchange was with. DHCP tells; of TFTP and HTTP only the address or the boot is known, which DHCP
//! gave out before.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bessemer_pxe::{Answer, BootId, Exchange, Phase, Protocol};
use bessemer_reconcilers::Journal;

use super::words;

/// Machines remembered by address and by boot.
const REMEMBERED: usize = 8192;

/// Notes every exchange of a boot in the journal.
pub(super) struct Conversations {
    journal: Arc<Journal>,
    /// This boot server's name.
    server: String,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_address: Recent<IpAddr>,
    by_boot: Recent<BootId>,
}

impl Conversations {
    pub(super) fn new(journal: Arc<Journal>, server: String) -> Self {
        Self { journal, server, known: Mutex::default() }
    }

    pub(super) fn observed(&self, exchange: &Exchange) {
        // Phones and laptops that pass by, and other people's servers: not a boot's conversation.
        if exchange.phase == Phase::System && matches!(exchange.answer, Answer::Silent | Answer::Dropped) {
            return;
        }
        if let Some(machine) = self.machine(exchange) {
            self.journal.heard(&machine, words::exchange(exchange, &self.server));
        }
    }

    fn machine(&self, exchange: &Exchange) -> Option<Arc<str>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(client) = &exchange.client else {
            let by_boot = exchange.boot_id.and_then(|boot| known.by_boot.get(&boot));
            return by_boot.or_else(|| exchange.peer.and_then(|peer| known.by_address.get(&peer)));
        };
        let machine: Arc<str> = match (client.mac(), &client.duid) {
            (Some(mac), _) => mac.to_string().into(),
            (None, Some(duid)) => format!("duid-{}", hex(duid)).into(),
            (None, None) => return None,
        };
        if let Answer::Offered { address: Some(address), .. } | Answer::Confirmed { address: Some(address), .. } =
            exchange.answer
        {
            known.by_address.put(address, machine.clone());
        }
        // Beside another DHCP server no answer of ours names it.
        if let Some(address) = exchange.peer.filter(|_| exchange.protocol == Protocol::Proxy && client.relay.is_none())
        {
            known.by_address.put(address, machine.clone());
        }
        if let Some(boot) = exchange.boot_id {
            known.by_boot.put(boot, machine.clone());
        }
        Some(machine)
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().take(64).map(|octet| format!("{octet:02x}")).collect()
}

/// The last so many.
struct Recent<K> {
    machines: HashMap<K, Arc<str>>,
    order: VecDeque<K>,
}

impl<K> Default for Recent<K> {
    fn default() -> Self {
        Self { machines: HashMap::new(), order: VecDeque::new() }
    }
}

impl<K: Copy + Eq + Hash> Recent<K> {
    fn get(&self, key: &K) -> Option<Arc<str>> {
        self.machines.get(key).cloned()
    }

    fn put(&mut self, key: K, machine: Arc<str>) {
        if self.machines.insert(key, machine).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.machines.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_machines_are_remembered() {
        let mut recent = Recent::default();
        for key in 0..REMEMBERED + 3 {
            recent.put(key, key.to_string().into());
            recent.put(key, key.to_string().into());
        }
        assert_eq!((recent.machines.len(), recent.order.len()), (REMEMBERED, REMEMBERED));
        assert_eq!((recent.get(&2), recent.get(&3).as_deref()), (None, Some("3")));
    }
}
