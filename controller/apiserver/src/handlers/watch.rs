//! Watch: a stream of changes from the resource's ring. The stream pulls a few events at a time; nothing is queued per
//! client, so a client that does not read costs nothing, and one that falls behind the ring is told to list again
//! (410). What is sent for an event is made once for all watchers that want it in the same form.
//!
//! Not served: watches over websockets, which only browsers need.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until};

use super::Call;
use super::list_options::WatchOptions;
use super::read::{as_stored, is_selected, served};
use crate::builtin::DEFINITIONS;
use crate::core::Core;
use crate::object;
use crate::registry::Resource;
use crate::represent::{self, Form};
use crate::selector::Selector;
use crate::status::ApiError;
use crate::store::{self, ChangeKind, Record};
use crate::table;

/// A watch without `timeoutSeconds` ends after this time, as upstream's shortest does, and somewhat later, so that
/// watches that began together do not all end together.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
const SPREAD: u64 = 30 * 60;
const LONGEST_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Clients that asked for bookmarks learn the current version at least this often, and this long before the end.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
const LAST_BOOKMARK: Duration = Duration::from_secs(2);

pub(super) fn watch(core: &Arc<Core>, call: Call, place: Arc<OwnedSemaphorePermit>) -> Result<Response, ApiError> {
    // A watch that ended at once would be asked for again at once.
    if core.is_closing() {
        return Err(ApiError::unavailable());
    }
    let options = WatchOptions::parse(&call)?;
    let timeout = match options.timeout {
        Some(seconds) => Duration::from_secs(seconds).min(LONGEST_TIMEOUT),
        None => DEFAULT_TIMEOUT + Duration::from_secs(uuid::Uuid::new_v4().as_u64_pair().0 % SPREAD),
    };

    // Subscribed before the first read: a change in between wakes the stream, none is missed.
    let wake = core.store().subscribe(&call.resource.stored_as);
    let mut definitions = core.store().subscribe(&DEFINITIONS.into());
    // The kind was looked up before that.
    definitions.mark_changed();
    let end = Instant::now() + timeout;
    let mut stream = Stream {
        core: Arc::clone(core),
        bookmarks: options.bookmarks,
        shape: format!("{:?} {}", call.form, call.resource.api_version()),
        resource: call.resource,
        namespace: call.namespace,
        selector: options.selector,
        form: call.form,
        position: options.from,
        waiting: VecDeque::new(),
        wake,
        definitions,
        outlived: false,
        end,
        next_bookmark: end,
        columns_sent: false,
        ended: false,
        _place: place,
    };
    stream.plan_bookmark();
    stream.begin(options.initial);
    let body = Body::from_stream(futures::stream::unfold(stream, |mut stream| async move {
        let line = stream.next_line().await?;
        Some((Ok::<_, std::convert::Infallible>(line), stream))
    }));
    Ok(represent::json(StatusCode::OK, body))
}

struct Stream {
    core: Arc<Core>,
    resource: Arc<Resource>,
    namespace: String,
    selector: Selector,
    form: Form,
    /// What watchers have in common that are sent the same.
    shape: String,
    bookmarks: bool,
    /// All changes up to this version were sent or are waiting.
    position: u64,
    waiting: VecDeque<Event>,
    wake: tokio::sync::watch::Receiver<u64>,
    definitions: tokio::sync::watch::Receiver<u64>,
    /// The kind is gone, or another by now: what is left to say is said, and the client has to begin anew.
    outlived: bool,
    end: Instant,
    next_bookmark: Instant,
    columns_sent: bool,
    ended: bool,
    _place: Arc<OwnedSemaphorePermit>,
}

enum Event {
    /// An object of the present state.
    Present(Arc<Record>),
    Change(&'static str, Arc<store::Event>),
    /// A deletion that only this watcher sees: the object left the selector with this change.
    Left(Arc<store::Event>),
    Bookmark(u64, bool),
    Error(ApiError),
}

impl Stream {
    /// Queues the present state when that was asked for, followed by the bookmark that ends it.
    fn begin(&mut self, initial: bool) {
        let (page, newest) = {
            let index = self.core.store().read();
            let wanted = initial.then(|| index.page(&self.resource.stored_as, &self.namespace, "", 0).ok());
            (wanted.flatten(), index.version())
        };
        let Some(page) = page else {
            if self.position == 0 {
                self.position = newest;
            }
            return;
        };
        if self.position > newest {
            return self.fail(ApiError::too_new(self.position, newest));
        }
        for (_, record) in page.objects {
            match self.sees(&record) {
                Ok(true) => self.waiting.push_back(Event::Present(record)),
                Ok(false) => {}
                Err(error) => return self.fail(error),
            }
        }
        self.position = page.version;
        if self.bookmarks {
            self.waiting.push_back(Event::Bookmark(page.version, true));
        }
    }

    /// The last thing this watcher hears.
    fn fail(&mut self, error: ApiError) {
        self.waiting.push_back(Event::Error(error));
        self.ended = true;
    }

    fn sees(&self, record: &Record) -> Result<bool, ApiError> {
        is_selected(&self.resource, &self.selector, record)
    }

    fn plan_bookmark(&mut self) {
        let now = Instant::now();
        let last = self.end.checked_sub(LAST_BOOKMARK).filter(|last| *last > now);
        let next = (now + BOOKMARK_EVERY).min(last.unwrap_or(self.end));
        self.next_bookmark = if self.bookmarks { next } else { self.end };
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
            self.look_at_definition();
            self.pull();
            if !self.waiting.is_empty() {
                continue;
            }
            if self.outlived {
                return None;
            }
            tokio::select! {
                changed = self.wake.changed() => self.ended = changed.is_err(),
                changed = self.definitions.changed() => {
                    self.ended = changed.is_err();
                    self.definitions.mark_changed();
                }
                () = sleep_until(self.end.min(self.next_bookmark)) => {
                    self.ended = Instant::now() >= self.end;
                    if self.bookmarks {
                        self.waiting.push_back(Event::Bookmark(self.position, false));
                        self.plan_bookmark();
                    }
                }
                () = self.core.closing() => self.ended = true,
            }
        }
    }

    fn look_at_definition(&mut self) {
        if self.definitions.has_changed().unwrap_or_default() {
            self.definitions.mark_unchanged();
            // Who is woken by a commit waits for its end: the registry is brought up to date as a part of it.
            let whole = self.core.store().read();
            self.outlived |= !self.core.registry().still_has(&self.resource);
            drop(whole);
        }
    }

    /// Queues the next of what happened since `position`.
    fn pull(&mut self) {
        let found = self.core.store().read().changes_since(&self.resource.stored_as, self.position);
        match found {
            Ok((changes, position)) => {
                for change in changes {
                    match self.event(&change) {
                        Ok(event) => self.waiting.extend(event),
                        Err(error) => return self.fail(error),
                    }
                }
                self.position = position;
            }
            Err(expired) => self.fail(ApiError::expired(self.position, expired.oldest)),
        }
    }

    /// What a change means to this watcher: objects that enter or leave the selector are added or deleted to it.
    fn event(&self, change: &Arc<store::Event>) -> Result<Option<Event>, ApiError> {
        if !self.namespace.is_empty() && change.key.namespace != self.namespace {
            return Ok(None);
        }
        let deleted = change.kind == ChangeKind::Deleted;
        let before = match &change.previous {
            Some(previous) => self.sees(previous)?,
            None => false,
        };
        let after = !deleted && self.sees(&change.object)?;
        Ok(match (before, after) {
            (false, false) => None,
            (false, true) => Some(Event::Change("ADDED", Arc::clone(change))),
            (true, true) => Some(Event::Change("MODIFIED", Arc::clone(change))),
            (true, false) if deleted => Some(Event::Change("DELETED", Arc::clone(change))),
            (true, false) => Some(Event::Left(Arc::clone(change))),
        })
    }

    fn line(&mut self, event: &Event) -> Bytes {
        let made = match event {
            Event::Error(error) => Ok(line("ERROR", error.to_value().to_string().as_bytes())),
            Event::Bookmark(version, initial_end) => {
                Ok(line("BOOKMARK", self.bookmark(*version, *initial_end).to_string().as_bytes()))
            }
            Event::Present(record) => self.object_line("ADDED", record),
            // The columns go along with the first row only, so that one is made for this watcher alone.
            Event::Change(kind, change) if self.form != Form::Whole && !self.columns_sent => {
                self.object_line(kind, &change.object)
            }
            Event::Change(kind, change) => {
                change.shape(&format!("{kind} {}", self.shape), || self.object_line(kind, &change.object))
            }
            Event::Left(change) => self.left_line(change),
        };
        made.unwrap_or_else(|error| {
            self.ended = true;
            self.waiting.clear();
            line("ERROR", error.to_value().to_string().as_bytes())
        })
    }

    fn object_line(&mut self, kind: &str, record: &Record) -> Result<Bytes, ApiError> {
        if self.form == Form::Whole
            && let Some(bytes) = as_stored(&self.resource, record)
        {
            return Ok(line(kind, &bytes));
        }
        let shaped = self.shaped(served(&self.resource, record)?);
        Ok(line(kind, shaped.to_string().as_bytes()))
    }

    fn left_line(&mut self, change: &store::Event) -> Result<Bytes, ApiError> {
        let previous = change.previous.as_ref().unwrap_or(&change.object);
        let mut object = served(&self.resource, previous)?;
        object::set_meta(&mut object, "resourceVersion", change.version.to_string());
        Ok(line("DELETED", self.shaped(object).to_string().as_bytes()))
    }

    /// A served object in the form asked for.
    fn shaped(&mut self, object: Value) -> Value {
        let Form::Table(style) = self.form else { return self.form.object(&self.resource, &object).into_owned() };
        let metadata = json!({"resourceVersion": object::resource_version(&object)});
        let first = !std::mem::replace(&mut self.columns_sent, true);
        table::table(&self.resource, std::iter::once(&object), metadata, style, first)
    }

    fn bookmark(&mut self, version: u64, initial_end: bool) -> Value {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial_end {
            object::set_field(&mut metadata, "annotations", json!({"k8s.io/initial-events-end": "true"}));
        }
        let (kind, api_version) = (&self.resource.kind, self.resource.api_version());
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        match self.form {
            Form::Whole => object,
            Form::Partial | Form::PartialList => table::partial(&object),
            Form::Table(_) => self.shaped(object),
        }
    }
}

/// One event of the stream.
fn line(kind: &str, object: &[u8]) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + 32);
    line.extend(b"{\"type\":\"");
    line.extend(kind.as_bytes());
    line.extend(b"\",\"object\":");
    line.extend(object);
    line.extend(b"}\n");
    line.into()
}
