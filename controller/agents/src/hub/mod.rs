//! What the connected agents say, by host, and the way to say something to them. Fed by streams, rebuilt by reconnects:
//! losing all of it costs a moment, never a fact.
//!
//! Knows nothing of HTTP: a [`Session`] is a queue towards the agent and a token that ends it.

mod changes;
mod session;
mod view;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bessemer_protocol::{BootId, Down, HostId, WorkId, WorkItem};
use bessemer_reconcilers::outside::{AgentHub, AgentHubError, AgentView};
use futures::stream::BoxStream;
use jiff::Timestamp;

pub(crate) use session::{Attached, Hello, Outgoing};

use crate::identity::{AgentIdentity, KeyDigest, RoleIdentity};
use changes::Changes;
use session::Session;

/// All agents of this controller.
pub struct Hub {
    hosts: Mutex<HashMap<HostId, Host>>,
    changes: Changes,
    leading: AtomicBool,
}

#[derive(Default)]
struct Host {
    view: AgentView,
    session: Option<Session>,
    /// The key whose stream was ended on purpose; it may not come back.
    ended: Option<KeyDigest>,
    /// How often its agent was told to go.
    farewells: u64,
}

/// Why a stream is not taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// The key was disconnected on purpose.
    Ended,
    /// The host's agent was told to go while this stream had not yet said who it is.
    ToldToGo,
    /// This controller is not, or no longer, the one that acts.
    NotLeading,
}

impl Hub {
    /// No agents yet, and leading.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { hosts: Mutex::default(), changes: Changes::default(), leading: AtomicBool::new(true) })
    }

    /// Whether this controller is the one that acts. One that is not refuses streams for now and ends those it has, so
    /// that all agents are where the work comes from. A hub leads until told otherwise.
    pub fn lead(&self, leading: bool) {
        // Under the lock that lets streams in, so that none slips in between.
        let hosts = self.hosts();
        self.leading.store(leading, Ordering::SeqCst);
        if !leading {
            hosts.values().filter_map(|host| host.session.as_ref()).for_each(|session| session.end.cancel());
        }
    }

    pub(crate) fn is_leading(&self) -> bool {
        self.leading.load(Ordering::SeqCst)
    }

    /// To be asked before a stream's agent is authorised, and handed to [`Self::attach`].
    pub(crate) fn farewells(&self, host: HostId) -> u64 {
        self.hosts().get(&host).map_or(0, |entry| entry.farewells)
    }

    /// Takes a new stream in; an older one of the same host ends. `farewells` is how often the host's agent had been told
    /// to go when this one was authorised.
    pub(crate) fn attach(
        self: &Arc<Self>,
        who: &AgentIdentity,
        key: KeyDigest,
        hello: Hello,
        farewells: u64,
    ) -> Result<(Attached, Outgoing), NotTaken> {
        let (session, outgoing) = session::open(key, who.role.clone());
        let id = session.id;
        {
            let mut hosts = self.hosts();
            if !self.is_leading() {
                return Err(NotTaken::NotLeading);
            }
            let host = hosts.entry(who.host).or_default();
            if host.ended == Some(key) {
                return Err(NotTaken::Ended);
            }
            if host.farewells != farewells {
                return Err(NotTaken::ToldToGo);
            }
            if let Some(older) = host.session.replace(session) {
                tracing::info!(host = %who.host, "a newer stream replaces the agent's older one");
                older.end.cancel();
            }
            view::attach(&mut host.view, who, hello);
        }
        self.changes.note(who.host);
        Ok((Attached::new(self.clone(), who.host, id), outgoing))
    }

    /// The key that streams for this boot just now.
    pub(crate) fn streaming(&self, host: HostId, boot: BootId) -> Option<KeyDigest> {
        let hosts = self.hosts();
        let session = hosts.get(&host)?.session.as_ref()?;
        (session.role == RoleIdentity::Ramdisk { boot }).then_some(session.key)
    }

    fn hosts(&self) -> MutexGuard<'_, HashMap<HostId, Host>> {
        // Every change of an entry is complete before anything that could panic.
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Applies a change to a host's view, provided that the session is still the host's current one.
    fn update(&self, host: HostId, session: u64, change: impl FnOnce(&mut Host)) {
        {
            let mut hosts = self.hosts();
            let Some(entry) = hosts.get_mut(&host) else { return };
            if entry.session.as_ref().is_none_or(|current| current.id != session) {
                return;
            }
            change(entry);
        }
        self.changes.note(host);
    }
}

#[async_trait]
impl AgentHub for Hub {
    fn view(&self, host: &HostId) -> AgentView {
        self.hosts().get(host).map(|entry| entry.view.clone()).unwrap_or_default()
    }

    async fn send(&self, item: WorkItem) -> Result<(), AgentHubError> {
        let (host, work) = (item.host_id, item.id);
        // All under one lock: the item goes to the stream whose view shows it, and is shown before it can be answered. An
        // agent that leaves a full queue unread is as good as gone.
        let mut hosts = self.hosts();
        let entry = hosts.get_mut(&host).ok_or(AgentHubError::NotConnected(host))?;
        let session = entry.session.as_ref().ok_or(AgentHubError::NotConnected(host))?;
        session.queue.try_send(Down::Work(item)).map_err(|_| AgentHubError::Closed(host))?;
        entry.view.items.entry(work).or_default();
        Ok(())
    }

    async fn stored(&self, host: &HostId, work: WorkId) {
        let mut hosts = self.hosts();
        let Some(entry) = hosts.get_mut(host) else { return };
        entry.view.items.remove(&work);
        // An agent that is not there repeats the result when it comes back, and is told again.
        if let Some(session) = &entry.session {
            let _ = session.queue.try_send(Down::Stored { work_id: work });
        }
    }

    async fn disconnect(&self, host: &HostId, reason: &str) {
        let mut hosts = self.hosts();
        // A stream that has been authorised and has not said hello yet is not known here, and is meant as well.
        let entry = hosts.entry(*host).or_default();
        entry.farewells += 1;
        if let Some(session) = entry.session.as_ref() {
            tracing::info!(%host, key = %session.key, reason, "the agent's stream and certificate end");
            entry.ended = Some(session.key);
            session.end.cancel();
        }
    }

    fn changes(&self) -> BoxStream<'static, HostId> {
        let known: Vec<HostId> = self.hosts().keys().copied().collect();
        self.changes.listen(known)
    }
}

impl Host {
    fn lose(&mut self, now: Timestamp) {
        self.session = None;
        self.view.connected = false;
        self.view.lost_since = Some(now);
    }
}
