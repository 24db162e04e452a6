//! Hearing the neighbours. Switches speak every 30 s by default, so listening begins as soon as there is a NIC, long before anybody asks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use bessemer_protocol::LldpNeighbour;
use rtnetlink::{Handle, LinkUnspec};
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};

use super::{LLDP, read};
use crate::identity::PhysicalNic;
use crate::ioctl::packet_socket;

/// A little longer than the default pause between two frames.
const LISTEN: Duration = Duration::from_secs(32);

/// Longer than any frame.
const FRAME: usize = 10_000;

/// What was heard, by the kernel's index of the interface.
type Heard = BTreeMap<u32, LldpNeighbour>;

/// Listens for as long as it lives.
#[derive(Debug)]
pub(in crate::ramdisk) struct Listener {
    heard: watch::Receiver<Heard>,
    until: Instant,
    /// NICs that could not be listened on, and why.
    deaf: BTreeMap<u32, String>,
}

impl Listener {
    /// Begins on all of `nics`, which must be up. One that cannot be listened on costs no other.
    pub(in crate::ramdisk) async fn start(handle: &Handle, nics: &[PhysicalNic]) -> Self {
        let (tell, heard) = watch::channel(Heard::new());
        let tell = Arc::new(tell);
        let mut deaf = BTreeMap::new();
        for nic in nics {
            // Frames for the bridge's group address reach us only if the NIC lets multicasts in.
            let open = LinkUnspec::new_with_index(nic.index).allmulticast(true).build();
            if let Err(error) = handle.link().set(open).execute().await {
                debug!("{}: cannot let all multicasts in: {error}", nic.name);
            }
            match packet_socket(nic.index, LLDP) {
                Ok(socket) => drop(tokio::spawn(hear(socket, nic.clone(), Arc::clone(&tell)))),
                Err(error) => drop(deaf.insert(nic.index, error.to_string())),
            }
        }
        Self { heard, until: Instant::now() + LISTEN, deaf }
    }

    /// What was heard on `awaited`, once all of them have been heard or time is up; and why nothing was on which others.
    pub(in crate::ramdisk) async fn neighbours(&self, awaited: &BTreeSet<u32>) -> (Heard, BTreeMap<u32, String>) {
        let mut heard = self.heard.clone();
        let missing =
            |heard: &Heard| awaited.iter().any(|index| !heard.contains_key(index) && !self.deaf.contains_key(index));
        let all = heard.wait_for(|heard| !missing(heard));
        // Whether time is up or all spoke: what is there is there.
        let _ = timeout_at(self.until, all).await;
        let mut silent = self.deaf.clone();
        let heard = self.heard.borrow().clone();
        for index in awaited {
            if !heard.contains_key(index) {
                silent.entry(*index).or_insert_with(|| format!("nothing was heard within {} s", LISTEN.as_secs()));
            }
        }
        (heard, silent)
    }
}

async fn hear(socket: AsyncFd<OwnedFd>, nic: PhysicalNic, tell: Arc<watch::Sender<Heard>>) {
    let mut buffer = vec![0; FRAME];
    loop {
        let received = socket.async_io(tokio::io::Interest::READABLE, |socket| {
            rustix::net::recv(socket, buffer.as_mut_slice(), rustix::net::RecvFlags::empty()).map_err(io::Error::from)
        });
        match received.await {
            Ok((length, _)) => {
                if let Some(neighbour) = read(buffer.get(..length).unwrap_or_default()) {
                    tell.send_if_modified(|heard| heard.insert(nic.index, neighbour.clone()) != Some(neighbour));
                }
            }
            // The link went down; it may come up again.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NETDOWN.raw_os_error()) => {}
            Err(error) => {
                warn!("{}: no longer listening to the switch: {error}", nic.name);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listener(heard: watch::Receiver<Heard>, deaf: BTreeMap<u32, String>) -> Listener {
        Listener { heard, until: Instant::now() + LISTEN, deaf }
    }

    fn neighbour(name: &str) -> LldpNeighbour {
        LldpNeighbour { system_name: name.into(), ..LldpNeighbour::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn c187_a_nic_that_hears_nothing_keeps_no_other_from_being_told() {
        let (tell, heard) = watch::channel(Heard::from([(2, neighbour("leaf1"))]));
        let listener = listener(heard, BTreeMap::from([(4, "operation not permitted".to_owned())]));
        let started = Instant::now();
        let (found, silent) = listener.neighbours(&BTreeSet::from([2, 4])).await;
        assert_eq!((started.elapsed(), found.len()), (Duration::ZERO, 1), "all that can be heard was heard");
        assert_eq!(silent.get(&4).map(String::as_str), Some("operation not permitted"));

        let (found, silent) = listener.neighbours(&BTreeSet::from([2, 3])).await;
        assert_eq!((found.len(), silent.get(&3).map(String::as_str)), (1, Some("nothing was heard within 32 s")));
        assert!(started.elapsed() >= LISTEN && started.elapsed() < LISTEN * 2);

        tell.send_modify(|heard| drop(heard.insert(3, neighbour("leaf2"))));
        let (found, _) = listener.neighbours(&BTreeSet::from([2, 3])).await;
        assert_eq!(found[&3].system_name, "leaf2");
    }
}
