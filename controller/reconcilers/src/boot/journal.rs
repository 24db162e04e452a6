//! Conversations on their way into BootTraces: collected in memory, bounded, and written a moment later, so that no
//! answer to a machine waits for the Kubernetes API.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bessemer_api::bessemer::{BootExchange, BootTrace, BootTraceSpec, BootTraceStatus};
use futures::StreamExt as _;
use kube::Api;
use kube::api::ObjectMeta;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::strangers::Strangers;
use crate::hosts::Hosts;
use crate::kubernetes::{Key, ReconcileError, create_or_get, own, write};

/// Machines with something unwritten; what more of them say is not kept. Strangers decide how many there are.
const MACHINES: usize = 4096;

/// From the first unwritten exchange to the write: a boot's questions come in bursts.
const WINDOW: Duration = Duration::from_secs(2);

/// Traces being written at the same time.
const AT_ONCE: usize = 64;

/// For the writes of one window.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);

/// Writers of the same trace, one after the other, before one gives up.
const ATTEMPTS: usize = 5;

/// How often old conversations with strangers are looked for.
const SWEEP: Duration = Duration::from_secs(3600);

#[derive(Debug, Default)]
struct Heard {
    exchanges: Vec<BootExchange>,
    /// Exchanges that there was no room for.
    lost: i64,
}

/// The conversations of all machines that this process serves.
#[derive(Debug, Default)]
pub struct Journal {
    heard: Mutex<BTreeMap<String, Heard>>,
    woken: Notify,
}

impl Journal {
    /// An empty one. Nothing is written before [`Journal::run`].
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Notes one exchange. `machine` is its MAC address, lower case with colons, or another lower-case name for it.
    /// Neither blocks nor grows without bound.
    pub fn heard(&self, machine: &str, exchange: BootExchange) {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if !heard.contains_key(machine) {
            if heard.len() >= MACHINES {
                return;
            }
            heard.insert(machine.to_owned(), Heard::default());
        }
        if let Some(known) = heard.get_mut(machine) {
            if known.exchanges.len() >= BootTraceStatus::EXCHANGES {
                known.exchanges.remove(0);
                known.lost += 1;
            }
            known.exchanges.push(exchange);
        }
        drop(heard);
        self.woken.notify_one();
    }

    /// Writes what is heard until `stop`, and then the rest; removes what is kept of strangers for too long. Strangers' conversations go to `namespace`, which must
    /// exist.
    pub async fn run(self: Arc<Self>, hosts: Hosts, namespace: String, stop: CancellationToken) {
        let traces: Api<BootTrace> = Api::namespaced(hosts.client().clone(), &namespace);
        let mut strangers = Strangers::new(traces);
        let mut sweep = tokio::time::interval(SWEEP);
        while !stop.is_cancelled() {
            tokio::select! {
                () = self.woken.notified() => {}
                _ = sweep.tick() => {
                    strangers.sweep().await;
                    hosts.forget_strangers_leases(&namespace).await;
                }
                () = stop.cancelled() => {}
            }
            // The window: what comes meanwhile goes into the same write.
            tokio::select! {
                () = tokio::time::sleep(WINDOW) => {}
                () = stop.cancelled() => {}
            }
            self.flush_in_time(&hosts, &namespace, &mut strangers).await;
        }
        // What was heard during the last flush.
        self.flush_in_time(&hosts, &namespace, &mut strangers).await;
    }

    async fn flush_in_time(&self, hosts: &Hosts, namespace: &str, strangers: &mut Strangers) {
        let written = self.flush(hosts, namespace, strangers);
        if tokio::time::timeout(WRITE_DEADLINE, written).await.is_err() {
            tracing::warn!("boot traces could not be written within {WRITE_DEADLINE:?}: the Kubernetes API is slow");
        }
    }

    async fn flush(&self, hosts: &Hosts, namespace: &str, strangers: &mut Strangers) {
        let heard = std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner));
        strangers.next_window();
        let mut writes = Vec::new();
        for (machine, heard) in heard {
            let host = hosts.key_of_mac(&machine);
            let name = object_name(&machine);
            if host.is_none() && !strangers.admit(&name).await {
                continue;
            }
            let key = Key::new(host.as_ref().map_or(namespace, |host| &host.namespace), name);
            writes.push(store(hosts, key, host, machine, heard));
        }
        futures::stream::iter(writes).buffer_unordered(AT_ONCE).collect::<()>().await;
    }
}

/// Adds what was heard to the machine's trace. A failure is said and forgotten: nothing is decided on a trace.
async fn store(hosts: &Hosts, key: Key, host: Option<Key>, machine: String, heard: Heard) {
    let traces: Api<BootTrace> = Api::namespaced(hosts.client().clone(), &key.namespace);
    for _ in 0..ATTEMPTS {
        match add(hosts, &traces, &key, host.as_ref(), &machine, &heard).await {
            Ok(()) => return,
            // Another boot server was faster.
            Err(ReconcileError::Conflict { .. }) => {}
            Err(error) => {
                tracing::warn!(machine, %error, "a boot trace was not written");
                return;
            }
        }
    }
    tracing::warn!(machine, "a boot trace was not written: others kept writing it");
}

async fn add(
    hosts: &Hosts,
    traces: &Api<BootTrace>,
    key: &Key,
    host: Option<&Key>,
    machine: &str,
    heard: &Heard,
) -> Result<(), ReconcileError> {
    let mut metadata = ObjectMeta { name: Some(key.name.clone()), ..ObjectMeta::default() };
    if let Some(owner) = host.and_then(|host| hosts.cached(host)) {
        own(&mut metadata, owner.as_ref(), false);
    }
    let fresh = BootTrace { metadata, spec: BootTraceSpec::default(), status: None };
    let before = create_or_get(traces, &fresh).await?;
    let mut after = before.clone();
    let status = after.status.get_or_insert_default();
    machine.clone_into(&mut status.machine);
    status.host = host.map(|host| host.name.clone());
    status.forgotten = status.forgotten.saturating_add(heard.lost);
    status.add(heard.exchanges.iter().cloned());
    write(traces, &before, &after).await.map(drop)
}

/// MACs are no object names; with dashes they are.
fn object_name(machine: &str) -> String {
    machine.replace(':', "-")
}
