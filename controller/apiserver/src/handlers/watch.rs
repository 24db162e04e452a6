//! Watch: a stream of changes from the resource's ring. The stream pulls; nothing is queued per client, so a client
//! that does not read costs nothing, and one that falls behind the ring is told to list again (410).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::Call;
use super::read::parse_version;
use crate::core::Core;
use crate::flavour;
use crate::object;
use crate::registry::Resource;
use crate::represent::Form;
use crate::selector::Selector;
use crate::status::{ApiError, Cause};
use crate::store::{Change, ChangeKind};
use crate::table;

/// A watch without `timeoutSeconds` ends after this time, as upstream's shortest does.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Clients that asked for bookmarks learn the current version at least this often.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

pub(super) fn watch(core: &Arc<Core>, call: Call) -> Result<Response, ApiError> {
    // A watch that ended at once would be asked for again at once.
    if core.is_closing() {
        return Err(ApiError::unavailable());
    }
    let query = &call.query;
    let selector = Selector::parse(&call.resource, query.get("labelSelector"), query.get("fieldSelector"))?;
    let from = parse_version(query.get("resourceVersion"))?.unwrap_or_default();
    let initial_asked = query.flag("sendInitialEvents");
    check_initial(&call)?;
    let timeout = match query.get("timeoutSeconds") {
        "" => DEFAULT_TIMEOUT,
        text => {
            let bad = |_| ApiError::bad_request(format!("invalid timeoutSeconds {text:?}: must be whole seconds"));
            Duration::from_secs(text.parse().map_err(bad)?).min(LONGEST_TIMEOUT)
        }
    };

    // Subscribed before the first read: a change in between wakes the stream, none is missed.
    let wake = core.store().subscribe(&call.resource.stored_as);
    let now = Instant::now();
    let mut stream = Stream {
        core: Arc::clone(core),
        bookmarks: query.flag("allowWatchBookmarks"),
        resource: call.resource,
        namespace: call.namespace,
        selector,
        form: call.form,
        position: from,
        waiting: VecDeque::new(),
        wake,
        end: now + timeout,
        next_bookmark: now + BOOKMARK_EVERY,
        columns_sent: false,
        ended: false,
    };
    if initial_asked || from == 0 {
        stream.send_state(initial_asked);
    }
    let body = Body::from_stream(futures::stream::unfold(stream, |mut stream| async move {
        let line = stream.next_line().await?;
        Some((Ok::<_, std::convert::Infallible>(line), stream))
    }));
    let mut response = body.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(response)
}

/// The combinations upstream allows around `sendInitialEvents`.
fn check_initial(call: &Call) -> Result<(), ApiError> {
    let matching = call.query.get("resourceVersionMatch");
    let asked = !call.query.get("sendInitialEvents").is_empty();
    let mut causes = Vec::new();
    if asked && matching != "NotOlderThan" {
        causes.push(Cause::forbidden("resourceVersionMatch", "sendInitialEvents requires setting it to NotOlderThan"));
    }
    if call.query.flag("sendInitialEvents") && !call.query.flag("allowWatchBookmarks") {
        causes.push(Cause::forbidden("allowWatchBookmarks", "sendInitialEvents requires it to be true"));
    }
    if !asked && !matching.is_empty() {
        causes.push(Cause::forbidden(
            "resourceVersionMatch",
            "is forbidden for watch unless sendInitialEvents is provided",
        ));
    }
    let subject =
        crate::status::Subject { group: "meta.k8s.io".into(), kind: "ListOptions".into(), name: String::new() };
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(subject, causes)) }
}

struct Stream {
    core: Arc<Core>,
    resource: Arc<Resource>,
    namespace: String,
    selector: Selector,
    form: Form,
    bookmarks: bool,
    /// All changes up to this version were sent or are waiting.
    position: u64,
    waiting: VecDeque<Event>,
    wake: tokio::sync::watch::Receiver<u64>,
    end: Instant,
    next_bookmark: Instant,
    columns_sent: bool,
    ended: bool,
}

enum Event {
    Object(&'static str, Arc<Value>),
    /// A deletion that only this watcher sees: the object left the selector at this version.
    Left(Arc<Value>, u64),
    Bookmark(u64, bool),
    Error(ApiError),
}

impl Stream {
    /// Queues the present state as additions, followed by the bookmark that ends it when asked for.
    fn send_state(&mut self, bookmark: bool) {
        let snapshot = self.core.store().read().snapshot(&self.resource.stored_as, &self.namespace);
        for object in snapshot.objects {
            match self.sees(&object) {
                Ok(true) => self.waiting.push_back(Event::Object("ADDED", object)),
                Ok(false) => {}
                Err(error) => return self.fail(error),
            }
        }
        self.position = snapshot.version;
        if bookmark {
            self.waiting.push_back(Event::Bookmark(snapshot.version, true));
        }
    }

    /// The last thing this watcher hears.
    fn fail(&mut self, error: ApiError) {
        self.waiting.push_back(Event::Error(error));
        self.ended = true;
    }

    fn sees(&self, object: &Value) -> Result<bool, ApiError> {
        if flavour::is_stored_form(&self.resource, object) {
            return Ok(self.selector.matches(object));
        }
        Ok(self.selector.matches(&flavour::to_served(&self.resource, object.clone())?))
    }

    /// The next line of the stream; `None` once it is over.
    async fn next_line(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(self.line(&event));
            }
            if self.ended {
                return None;
            }
            self.wake.borrow_and_update();
            self.pull();
            if !self.waiting.is_empty() {
                continue;
            }
            let bookmark_at = if self.bookmarks { self.next_bookmark } else { self.end };
            tokio::select! {
                changed = self.wake.changed() => self.ended = changed.is_err(),
                () = sleep_until(self.end.min(bookmark_at)) => {
                    self.ended = Instant::now() >= self.end;
                    if self.bookmarks {
                        self.next_bookmark = Instant::now() + BOOKMARK_EVERY;
                        self.waiting.push_back(Event::Bookmark(self.position, false));
                    }
                }
                () = self.core.closing() => self.ended = true,
            }
        }
    }

    /// Queues what happened since `position`.
    fn pull(&mut self) {
        let found = self.core.store().read().changes_since(&self.resource.stored_as, self.position);
        let current = self.core.store().read().version();
        match found {
            // A version from the future can only come from a store that was lost or replaced: list again.
            Ok(_) if self.position > current => {
                self.fail(ApiError::expired(self.position, current));
            }
            Ok((changes, position)) => {
                for change in changes {
                    match self.event(&change) {
                        Ok(event) => self.waiting.extend(event),
                        Err(error) => return self.fail(error),
                    }
                }
                self.position = position;
            }
            Err(expired) => {
                self.fail(ApiError::expired(self.position, expired.oldest));
            }
        }
    }

    /// What a change means to this watcher: objects that enter or leave the selector are added or deleted to it.
    fn event(&self, change: &Change) -> Result<Option<Event>, ApiError> {
        if !self.namespace.is_empty() && change.key.namespace != self.namespace {
            return Ok(None);
        }
        let before = match &change.previous {
            Some(previous) => self.sees(previous)?.then_some(previous),
            None => None,
        };
        let after = change.kind != ChangeKind::Deleted && self.sees(&change.object)?;
        Ok(match (before, after) {
            (None, false) => None,
            (None, true) => Some(Event::Object("ADDED", Arc::clone(&change.object))),
            (Some(_), true) => Some(Event::Object("MODIFIED", Arc::clone(&change.object))),
            (Some(_), false) if change.kind == ChangeKind::Deleted => {
                Some(Event::Object("DELETED", Arc::clone(&change.object)))
            }
            (Some(previous), false) => Some(Event::Left(Arc::clone(previous), change.version)),
        })
    }

    fn line(&mut self, event: &Event) -> Bytes {
        let (kind, object) = match event {
            Event::Error(error) => ("ERROR", Ok(error.to_value())),
            Event::Bookmark(version, initial_end) => ("BOOKMARK", Ok(self.bookmark(*version, *initial_end))),
            Event::Object(kind, object) => (*kind, self.shaped(Value::clone(object))),
            Event::Left(object, version) => {
                let mut object = Value::clone(object);
                object::set_meta(&mut object, "resourceVersion", version.to_string());
                ("DELETED", self.shaped(object))
            }
        };
        let (kind, object) = match object {
            Ok(object) => (kind, object),
            Err(error) => {
                self.waiting.clear();
                self.ended = true;
                ("ERROR", error.to_value())
            }
        };
        let mut line = json!({"type": kind, "object": object}).to_string();
        line.push('\n');
        line.into()
    }

    fn shaped(&mut self, object: Value) -> Result<Value, ApiError> {
        let object = flavour::to_served(&self.resource, object)?;
        let Form::Table(include) = self.form else { return Ok(self.form.object(&self.resource, &object)) };
        let metadata = json!({"resourceVersion": object::resource_version(&object)});
        let first = !std::mem::replace(&mut self.columns_sent, true);
        Ok(table::table(&self.resource, std::iter::once(&object), metadata, include, first))
    }

    fn bookmark(&mut self, version: u64, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string(), "creationTimestamp": null});
        if initial_end {
            object::set_field(&mut metadata, "annotations", json!({"k8s.io/initial-events-end": "true"}));
        }
        match self.form {
            Form::Whole => {
                json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata})
            }
            Form::Partial => table::partial(&json!({"metadata": metadata})),
            Form::Table(include) => table::table(&self.resource, std::iter::empty(), metadata, include, false),
        }
    }
}
