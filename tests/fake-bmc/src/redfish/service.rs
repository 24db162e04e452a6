//! What one host's Redfish service holds, and how its other rooms reach it. It has no wire: [`super::dispatch`] takes a
//! request in and gives an answer or a broken connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::Value;
use tokio::time::Instant;

use super::answer::Answer;
use super::auth::sessions::{Counts, Sessions};
use super::behaviour::Behaviour;
use super::events::Subscriptions;
use super::faults::{Faults, Twist};
use super::json::clean;
use super::overlay::Overlay;
use super::record::Recorder;
use super::staged::Stage;
use super::tasks::Tasks;
use super::tree::Tree;
use crate::host::identity::Identity;
use crate::host::media::Inserted;
use crate::host::{Host, HostOptions, locked};

/// What a write or an action does once it was accepted. May refuse still.
pub(super) type Effect = Box<dyn FnOnce(&Arc<Service>) -> Result<(), Answer> + Send>;

/// The service of one host.
pub struct Service {
    pub(super) host: Arc<Host>,
    pub(super) tree: Arc<Tree>,
    /// Hosts of the systems beside the first, when several are behind one controller.
    others: BTreeMap<String, Arc<Host>>,
    /// Scheme and authority for absolute locations.
    base: String,
    behaviour: Mutex<Behaviour>,
    overlay: Mutex<Overlay>,
    stage: Mutex<Stage>,
    sessions: Mutex<Sessions>,
    tasks: Mutex<Tasks>,
    subscriptions: Mutex<Subscriptions>,
    ejected: Mutex<BTreeMap<String, (Inserted, Instant)>>,
    away: Mutex<Option<Instant>>,
    faults: Faults,
    recorder: Recorder,
}

impl Service {
    /// The service of `host` with the answers of `tree`, reached at `address`.
    #[must_use]
    pub fn new(host: Arc<Host>, tree: Arc<Tree>, address: SocketAddr, tls: bool) -> Arc<Self> {
        let index = host.identity().index;
        let beside = tree.systems().iter().skip(1).zip(1_u32..);
        let others: BTreeMap<String, Arc<Host>> = beside
            .map(|(path, number)| {
                let mut identity = Identity::numbered(index);
                identity.serial = format!("{}-{number}", identity.serial);
                let options = HostOptions { identity, power: host.power(), ..HostOptions::numbered(index) };
                (path.clone(), Host::new(options))
            })
            .collect();
        let service = Self {
            base: format!("{}://{address}", if tls { "https" } else { "http" }),
            others,
            host,
            tree,
            behaviour: Mutex::default(),
            overlay: Mutex::default(),
            stage: Mutex::default(),
            sessions: Mutex::default(),
            tasks: Mutex::default(),
            subscriptions: Mutex::default(),
            ejected: Mutex::default(),
            away: Mutex::default(),
            faults: Faults::default(),
            recorder: Recorder::default(),
        };
        for slot in &service.tree.facts.slots {
            if let Some(host) = service.host_of(&slot.path) {
                host.media().add_slot(&slot.path, &slot.types);
            }
        }
        Arc::new(service)
    }

    /// The host, as all protocols share it.
    #[must_use]
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The faults to switch.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// What was asked.
    #[must_use]
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// How the controller behaves now.
    #[must_use]
    pub fn behaviour(&self) -> Behaviour {
        locked(&self.behaviour).clone()
    }

    /// Changes how the controller behaves.
    pub fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut locked(&self.behaviour));
    }

    /// How many sessions there were.
    #[must_use]
    pub fn session_counts(&self) -> Counts {
        let timeout = self.behaviour().session_timeout;
        self.sessions().counts(timeout)
    }

    /// A resource as a client with every right reads it now.
    #[must_use]
    pub fn resource(&self, path: &str) -> Option<Value> {
        self.crawled_page(path).or_else(|| self.read(&clean(path)))
    }

    /// Changes properties behind the back of every check, as a test that prepares a state does.
    pub fn prepare(&self, path: &str, properties: &Value) {
        self.overlay().patch(&clean(path), properties);
    }

    /// The host whose system a path is in: of the system it begins with, else the first.
    pub(super) fn host_of(&self, path: &str) -> Option<Arc<Host>> {
        let within =
            |system: &str| path.strip_prefix(system).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let other = self.others.iter().find(|(system, _)| within(system));
        Some(other.map_or_else(|| Arc::clone(&self.host), |(_, host)| Arc::clone(host)))
    }

    /// Does it, later, or not at all, as the twist says.
    pub(super) fn carry_out(self: &Arc<Self>, effect: Effect, twist: &Twist) -> Result<(), Answer> {
        if twist.ignore {
            return Ok(());
        }
        let Some(delay) = twist.late else { return effect(self) };
        let service = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            if let Some(service) = service.upgrade() {
                // it was answered long ago; a refusal now goes to the log as a controller's would
                if effect(&service).is_err() {
                    service.host.note("Warning", "a write was refused after it had been answered");
                }
            }
        });
        Ok(())
    }

    /// What `Location` says of a path.
    pub(super) fn location(&self, path: &str) -> String {
        if self.behaviour().absolute_location { format!("{}{path}", self.base) } else { path.to_owned() }
    }

    /// The image that was ejected a moment ago and still shows.
    pub(super) fn leaving(&self, slot: &str) -> Option<Inserted> {
        let lag = self.behaviour().media_eject_lag;
        let ejected = locked(&self.ejected);
        ejected.get(slot).filter(|(_, at)| at.elapsed() < lag).map(|(held, _)| held.clone())
    }

    /// The image that was last in a slot.
    pub(super) fn last_image(&self, slot: &str) -> Option<String> {
        locked(&self.ejected).get(slot).map(|(held, _)| held.image.clone())
    }

    pub(super) fn remember_ejected(&self, slot: &str, held: Inserted) {
        locked(&self.ejected).insert(slot.to_owned(), (held, Instant::now()));
    }

    pub(super) fn is_away(&self, now: Instant) -> bool {
        locked(&self.away).is_some_and(|until| now < until)
    }

    pub(super) fn set_away(&self, until: Option<Instant>) {
        *locked(&self.away) = until;
    }

    pub(super) fn overlay(&self) -> MutexGuard<'_, Overlay> {
        locked(&self.overlay)
    }

    pub(super) fn stage(&self) -> MutexGuard<'_, Stage> {
        locked(&self.stage)
    }

    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        locked(&self.sessions)
    }

    pub(super) fn tasks(&self) -> MutexGuard<'_, Tasks> {
        locked(&self.tasks)
    }

    pub(super) fn subscriptions(&self) -> MutexGuard<'_, Subscriptions> {
        locked(&self.subscriptions)
    }
}
