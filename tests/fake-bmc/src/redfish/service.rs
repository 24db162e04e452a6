//! One host's Redfish service without a wire: a request goes in, an answer or a broken connection comes out.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::HeaderMap;
use http::header::IF_NONE_MATCH;
use serde_json::Value;
use tokio::time::Instant;

use super::answer::{Answer, Body};
use super::auth::sessions::{Counts, Sessions};
use super::behaviour::Behaviour;
use super::events::Subscriptions;
use super::faults::{Fault, Faults, Twist};
use super::json::{clean, kind};
use super::overlay::Overlay;
use super::record::Recorder;
use super::staged::Stage;
use super::tasks::Tasks;
use super::tree::Tree;
use super::{ROOT, metadata};
use crate::host::identity::Identity;
use crate::host::media::Inserted;
use crate::host::{Host, HostOptions, locked};

/// What a write or an action does once it was accepted. May refuse still.
pub(super) type Effect = Box<dyn FnOnce(&Arc<Service>) -> Result<(), Answer> + Send>;

/// A request as it came.
#[derive(Debug)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Headers.
    pub headers: HeaderMap,
    /// Body, whole.
    pub body: Bytes,
}

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

    /// A page of a collection that the seed holds under its own address, query and all.
    fn crawled_page(&self, target: &str) -> Option<Value> {
        let held = target.contains('?') && self.tree.get(target).is_some();
        held.then(|| self.read(target)).flatten()
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

    /// Answers a request. None ends the connection without an answer.
    pub async fn handle(self: &Arc<Self>, request: Request) -> Option<Answer> {
        let path = clean(&request.target);
        self.recorder.add(&request.method, &request.target, &request.headers, &request.body);
        let faults = self.faults.take(&request.method, &path);
        for fault in &faults {
            match fault {
                Fault::Delay(delay) => tokio::time::sleep(*delay).await,
                Fault::Status(status, retry_after) => {
                    let answer = Answer::error(*status, "ServiceTemporarilyUnavailable", "not now", &[]);
                    let after = retry_after.map(|after| after.as_secs().to_string());
                    return Some(after.map_or(answer.clone(), |after| answer.with("Retry-After", after)));
                }
                Fault::Redirect(status, to) => {
                    return Some(Answer::new(*status, Body::Empty).with("Location", to.as_str()));
                }
                Fault::Html(status) => {
                    let page = Bytes::from_static(b"<!DOCTYPE html>\n<html><body><h1>Please wait</h1></body></html>\n");
                    return Some(Answer::new(*status, Body::Raw("text/html", page)));
                }
                Fault::Hang => std::future::pending().await,
                Fault::Disconnect => return None,
                Fault::NotFound => return Some(Answer::not_found(&path)),
                Fault::DropSessions => self.sessions().drop_all(),
                _ => {}
            }
        }
        let answer = self.answer(&request, &path, &Twist::of(&faults));
        mangle(answer, &faults)
    }

    fn answer(self: &Arc<Self>, request: &Request, path: &str, twist: &Twist) -> Answer {
        if locked(&self.away).is_some_and(|until| Instant::now() < until) {
            let sentence = "the controller is starting";
            return Answer::error(503, "ServiceTemporarilyUnavailable", sentence, &["1"]).with("Retry-After", "1");
        }
        if self.behaviour().needs_odata_version && !request.headers.contains_key("odata-version") {
            return Answer::error(412, "HeaderMissing", "OData-Version is needed", &["OData-Version"]);
        }
        if let Some(version) = request.headers.get("odata-version").filter(|version| *version != "4.0") {
            let version = String::from_utf8_lossy(version.as_bytes()).into_owned();
            return Answer::error(412, "HeaderInvalid", "OData-Version is 4.0 here", &[&version]);
        }
        if let Err(answer) = self.authorise(&request.method, path, &request.headers) {
            return answer;
        }
        match request.method.as_str() {
            "GET" | "HEAD" => self.get(request, path),
            "PATCH" => match object(&request.body) {
                Some(body) => self.patch(path, body, &request.headers, twist),
                None => Answer::malformed(),
            },
            "POST" => self.post(request, path, twist),
            "DELETE" => self.delete(path, twist),
            "OPTIONS" => match self.read(path) {
                Some(body) => Answer::no_content().with("Allow", self.allow(path, &body)),
                None => Answer::not_found(path),
            },
            method => self.unfit(method, path),
        }
    }

    fn get(self: &Arc<Self>, request: &Request, path: &str) -> Answer {
        match path.strip_prefix(ROOT) {
            None if path == "/redfish" => return metadata::versions(),
            Some("/odata") => return metadata::service_document(&self.tree),
            Some("/$metadata") => return metadata::metadata(&self.tree),
            _ => {}
        }
        if let Some(answer) = self.monitor(path) {
            return answer;
        }
        if let Some(page) = self.crawled_page(&request.target) {
            return Answer::ok(page);
        }
        let Some(body) = self.read(path) else {
            return self.unfit("GET", path);
        };
        let allow = self.allow(path, &body);
        let described = format!("<{}/{}.json>; rel=describedby", metadata::SCHEMAS, kind(&body));
        let query = request.target.split_once('?').map_or("", |(_, query)| query);
        let mut body = match self.query(body, path, query) {
            Ok(body) => body,
            Err(answer) => return answer,
        };
        let etag = self.stamp(&mut body);
        let known = request.headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
        let answer = match etag.as_deref() {
            Some(etag) if known == Some(etag) => Answer::new(304, Body::Empty),
            _ => Answer::ok(body),
        };
        let answer = answer.with("Allow", allow).with("Link", described);
        if let Some(etag) = etag { answer.with("ETag", etag) } else { answer }
    }

    fn post(self: &Arc<Self>, request: &Request, path: &str, twist: &Twist) -> Answer {
        let facts = &self.tree.facts;
        let body = if request.body.is_empty() { Some(serde_json::json!({})) } else { object(&request.body) };
        let Some(body) = body else { return Answer::malformed() };
        if let Some(action) = facts.actions.get(path) {
            return self.act(action, body, &request.headers, twist);
        }
        let collection = path.strip_suffix("/Members").unwrap_or(path);
        if collection == facts.sessions {
            self.create_session(&body)
        } else if facts.subscriptions.as_deref() == Some(collection) {
            self.subscribe(collection, &body)
        } else if facts.accounts.as_deref() == Some(collection) {
            self.create_account(&body)
        } else {
            self.unfit("POST", path)
        }
    }

    fn delete(self: &Arc<Self>, path: &str, twist: &Twist) -> Answer {
        let facts = &self.tree.facts;
        let below = |collection: &str| path.strip_prefix(collection).is_some_and(|rest| rest.starts_with('/'));
        if twist.ignore {
            Answer::no_content()
        } else if below(&facts.sessions) {
            self.delete_session(path)
        } else if facts.subscriptions.as_deref().is_some_and(below) {
            self.unsubscribe(path)
        } else if facts.accounts.as_deref().is_some_and(below) {
            self.delete_account(path)
        } else if below(&facts.tasks) {
            self.delete_task(path)
        } else {
            self.unfit("DELETE", path)
        }
    }

    /// A method that the resource does not take, or no resource.
    fn unfit(&self, method: &str, path: &str) -> Answer {
        match self.read(path) {
            Some(body) => Answer::not_allowed(method, self.allow(path, &body)),
            None if self.tree.facts.actions.contains_key(path) => Answer::not_allowed(method, "POST"),
            None => Answer::not_found(path),
        }
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

fn object(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok().filter(Value::is_object)
}

/// What faults make of an answer.
fn mangle(answer: Answer, faults: &[Fault]) -> Option<Answer> {
    let mut answer = answer;
    for fault in faults {
        match fault {
            Fault::LoseAnswer => return None,
            Fault::Garbage => {
                answer.body = Body::Raw("application/json", Bytes::from_static(b"\x00\xff{\"Members\": [,,]} \x1f"));
            }
            Fault::EmptyBody => answer.body = Body::Empty,
            Fault::Truncate => answer.cut = true,
            Fault::Huge(bytes) => answer.padding = *bytes,
            Fault::ContentType(name) => answer.content_type = Some(name.clone()),
            Fault::NoLocation => answer.headers.retain(|(name, _)| *name != "Location"),
            Fault::NoEtag => {
                answer.headers.retain(|(name, _)| *name != "ETag");
                if let Body::Json(Value::Object(body)) = &mut answer.body {
                    body.remove("@odata.etag");
                }
            }
            _ => {}
        }
    }
    Some(answer)
}
