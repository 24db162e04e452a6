//! The client: calls that survive what services do to them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use crate::answer::Answer;
use crate::etag::ladder;
use crate::retry::{Failure, is_unsent, is_worth_another, pause};
use crate::session::{Door, Pass, leave};
use crate::task;
use crate::wire::{Request, Wire};
use crate::{Action, Fault, Login, Options, RedfishError, Reference, Resource};

/// Pages followed in one collection, and members taken from it: some lists lead on for ever.
const PAGES: usize = 100;
const MEMBERS: usize = 10_000;

/// A client of one Redfish service. Cheap to clone; all clones share the session. When the last one is dropped inside
/// a tokio runtime without [`Client::close`], the session is ended in the background.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    wire: Arc<Wire>,
    door: Door,
    options: Options,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let (Some(held), Ok(runtime)) = (self.door.abandoned(), tokio::runtime::Handle::try_current()) {
            let wire = Arc::clone(&self.wire);
            runtime.spawn(async move { leave(&held, &wire).await });
        }
    }
}

/// What a service answered to a write.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status, always a success.
    pub status: StatusCode,
    /// Where the new resource is, or the task that does the work.
    pub location: Option<Reference>,
    /// The body, where there is one.
    pub body: Option<Value>,
    /// The task to follow, when the work goes on after the answer.
    pub task: Option<Reference>,
}

impl Reply {
    /// What a successful answer remarks (`@Message.ExtendedInfo`), such as that a reset is needed.
    #[must_use]
    pub fn remarks(&self) -> Fault {
        let annotated = self.body.as_ref().filter(|body| body.get("@Message.ExtendedInfo").is_some());
        annotated.map(Fault::of).unwrap_or_default()
    }
}

impl Client {
    /// A client of the service at `service`: scheme, host and port; a path is ignored. Does no I/O: a dead address or a
    /// wrong password shows at the first call.
    ///
    /// # Errors
    /// When the address is no http(s) URL, or the trust in `options` cannot be set up.
    pub fn new(service: &str, login: Option<Login>, options: Options) -> Result<Self, RedfishError> {
        let wire = Arc::new(Wire::new(service, &options)?);
        let door = Door::new(login, &options);
        Ok(Self { inner: Arc::new(Inner { wire, door, options }) })
    }

    /// The service root, `/redfish/v1`. Most services show it to anyone: that it can be read says nothing about the
    /// login.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn root(&self) -> Result<Resource, RedfishError> {
        self.get("/redfish/v1").await
    }

    /// Reads a resource. Tried again while the service is starting, busy or unreachable, within the deadline.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn get(&self, link: &str) -> Result<Resource, RedfishError> {
        self.read(&self.reference(link)?).await
    }

    /// As [`Client::get`], with a resource that is not there as none.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn find(&self, at: &Reference) -> Result<Option<Resource>, RedfishError> {
        match self.read(at).await {
            Ok(resource) => Ok(Some(resource)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads the resource at `at`; see [`Client::get`].
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn read(&self, at: &Reference) -> Result<Resource, RedfishError> {
        let request = Request { method: &Method::GET, to: at, body: None, if_match: None };
        let answer = self.send(request, |answer, url| {
            let body = answer.json(&Method::GET, url)?;
            body.map(|_| ()).ok_or_else(|| RedfishError::Body {
                method: Method::GET,
                url: url.to_owned(),
                problem: "the answer is empty".to_owned(),
            })
        });
        let answer = answer.await?;
        let etag = answer.text_header(&http::header::ETAG).map(str::to_owned);
        let body = answer.json(&Method::GET, &self.inner.wire.url(at))?.unwrap_or_default();
        Ok(Resource::new(at.clone(), etag, body))
    }

    /// The members of a collection, read one by one, through all its pages. Members that are listed and not there are
    /// left out; a collection without members is an empty one, and so is one that is not there.
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn members(&self, link: &str) -> Result<Vec<Resource>, RedfishError> {
        let mut members = Vec::new();
        for member in self.list(&self.reference(link)?).await? {
            members.extend(self.find(&member).await?);
        }
        Ok(members)
    }

    /// Where the members of a collection are; see [`Client::members`].
    ///
    /// # Errors
    /// As [`Client::get`].
    pub async fn list(&self, collection: &Reference) -> Result<Vec<Reference>, RedfishError> {
        let (mut links, mut known) = (Vec::new(), HashSet::new());
        let mut next = Some(collection.clone());
        let mut seen = Vec::new();
        while let Some(page) = next.take() {
            let Some(resource) = self.find(&page).await? else { break };
            for link in resource.links("Members") {
                if links.len() < MEMBERS && known.insert(link.clone()) {
                    links.push(link);
                }
            }
            seen.push(page);
            let following = resource.text("Members@odata.nextLink").and_then(Reference::parse);
            next = following.filter(|next| !seen.contains(next) && seen.len() < PAGES);
        }
        Ok(links)
    }

    /// Changes the resource as `change` says. Its ETag is sent in the spelling that the service knows again.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn patch(&self, resource: &Resource, change: &Value) -> Result<Reply, RedfishError> {
        let mut rungs = ladder(resource.etag_header(), resource.etag_property()).into_iter();
        let mut rung = rungs.next().flatten();
        let mut reread = false;
        loop {
            let if_match = rung.as_deref();
            let request = Request { method: &Method::PATCH, to: resource.uri(), body: Some(change), if_match };
            let error = match self.send(request, |_, _| Ok(())).await {
                Ok(answer) => return Ok(self.reply(&Method::PATCH, resource.uri(), &answer)),
                Err(error) => error,
            };
            if !is_precondition(&error) {
                return Err(error);
            }
            // The first time, the resource may really have changed since it was read.
            if !std::mem::replace(&mut reread, true) {
                let fresh = self.read(resource.uri()).await?;
                rungs = ladder(fresh.etag_header(), fresh.etag_property()).into_iter();
            }
            rung = match rungs.next() {
                Some(rung) => rung,
                None => return Err(error),
            };
        }
    }

    /// Asks for an action with `parameters`, an object; some services refuse an action without a body.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn act(&self, action: &Action, parameters: &Value) -> Result<Reply, RedfishError> {
        self.post(&action.target, parameters).await
    }

    /// Posts `body` to `to`, as to create a member of a collection. Never carries `If-Match`.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn post(&self, to: &Reference, body: &Value) -> Result<Reply, RedfishError> {
        let empty = json!({});
        let body = if body.is_null() { &empty } else { body };
        let request = Request { method: &Method::POST, to, body: Some(body), if_match: None };
        let answer = self.send(request, |_, _| Ok(())).await?;
        Ok(self.reply(&Method::POST, to, &answer))
    }

    /// As [`Client::act`], for an action that does something again each time: it is asked for again only where the
    /// request surely was not sent. A service that is only the front of another may answer 503 after that one has acted.
    ///
    /// # Errors
    /// As [`Client::act`].
    pub async fn act_once(&self, action: &Action, parameters: &Value) -> Result<Reply, RedfishError> {
        let request = Request { method: &Method::POST, to: &action.target, body: Some(parameters), if_match: None };
        let until = Instant::now() + self.inner.options.deadline;
        let answer = self.send_while(until, request, |_, _| Ok(()), is_unsent).await?;
        Ok(self.reply(&Method::POST, &action.target, &answer))
    }

    /// Deletes the resource; that it is not there any more is a success.
    ///
    /// # Errors
    /// Every [`RedfishError`] but those of tasks.
    pub async fn delete(&self, at: &Reference) -> Result<(), RedfishError> {
        let request = Request { method: &Method::DELETE, to: at, body: None, if_match: None };
        match self.send(request, |_, _| Ok(())).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Ends the session with the service. Any call after it opens a new one.
    pub async fn close(&self) {
        self.inner.door.leave(&self.inner.wire).await;
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    pub(crate) fn wire(&self) -> &Arc<Wire> {
        &self.inner.wire
    }

    pub(crate) fn door(&self) -> &Door {
        &self.inner.door
    }

    fn reference(&self, link: &str) -> Result<Reference, RedfishError> {
        Reference::parse(link).ok_or_else(|| RedfishError::Missing {
            resource: self.inner.wire.url(&Reference::root()),
            what: format!("resource {link:?}: a path from the root is wanted"),
        })
    }

    pub(crate) fn reply(&self, method: &Method, to: &Reference, answer: &Answer) -> Reply {
        // A success with a page for people in it is still a success.
        let body = answer.json(method, &self.inner.wire.url(to)).ok().flatten();
        let location = answer.location();
        let task = task::started(answer.status, location.as_ref(), body.as_ref());
        Reply { status: answer.status, location, body, task }
    }

    /// Sends `request` until it succeeds in a way that `accept` takes, or it is no use to go on.
    async fn send(
        &self,
        request: Request<'_>,
        accept: impl Fn(&Answer, &str) -> Result<(), RedfishError>,
    ) -> Result<Answer, RedfishError> {
        self.send_until(Instant::now() + self.inner.options.deadline, request, accept).await
    }

    /// As [`Client::send`], until a time of the caller's.
    pub(crate) async fn send_until(
        &self,
        until: Instant,
        request: Request<'_>,
        accept: impl Fn(&Answer, &str) -> Result<(), RedfishError>,
    ) -> Result<Answer, RedfishError> {
        self.send_while(until, request, accept, is_worth_another).await
    }

    /// As [`Client::send_until`], as long as a failure `is_worth` another attempt.
    async fn send_while(
        &self,
        until: Instant,
        request: Request<'_>,
        accept: impl Fn(&Answer, &str) -> Result<(), RedfishError>,
        is_worth: impl Fn(&Failure<'_>) -> bool,
    ) -> Result<Answer, RedfishError> {
        let options = &self.inner.options;
        let mut attempt = 1;
        loop {
            let (error, retry_after) = match self.authenticated(request, until).await {
                Ok(answer) => match accept(&answer, &self.inner.wire.url(request.to)) {
                    Ok(()) => return Ok(answer),
                    Err(error) => (error, None),
                },
                Err(failed) => failed,
            };
            let failure = Failure { method: request.method, error: &error, retry_after };
            let wait = pause(attempt, failure.retry_after, options.longest_pause, rand::random());
            let next = Instant::now() + wait;
            if attempt >= options.attempts || next >= until || !is_worth(&failure) {
                return Err(error);
            }
            // What a service says of a write may repeat what was written, passwords included.
            let problem = match &error {
                RedfishError::Refused { status, .. } => status.to_string(),
                error => error.to_string(),
            };
            let (method, url) = (request.method, self.inner.wire.url(request.to));
            tracing::debug!(%method, url, problem, attempt, ?wait, "redfish call is made again");
            sleep_until(next).await;
            attempt += 1;
        }
    }

    /// One attempt, with one new login if the session has run out.
    async fn authenticated(
        &self,
        request: Request<'_>,
        until: Instant,
    ) -> Result<Answer, (RedfishError, Option<Duration>)> {
        let Inner { wire, door, .. } = &*self.inner;
        let mut refused = None;
        loop {
            let pass: Pass = door.pass(wire, refused, until).await.map_err(|error| (error, None))?;
            let alone = door.trial(&pass).await.map_err(|error| (error, None))?;
            let answer = wire.exchange(request, &pass.headers, until).await.map_err(|error| (error, None))?;
            let refusal = answer.refusal(request.method, &wire.url(request.to), door.user());
            let denied = matches!(refusal, Some(RedfishError::Unauthorized { .. }));
            // A password that only stands in for a session is not wrong yet.
            if denied && refused.is_none() && pass.is_second_best() {
                refused = Some(pass.age);
                continue;
            }
            door.tried(&pass, request.to, refusal.as_ref()).await;
            drop(alone);
            return match refusal {
                None => Ok(answer),
                Some(refusal) => Err((refusal, answer.retry_after())),
            };
        }
    }
}

/// Whether the service refused the write for its `If-Match` alone.
fn is_precondition(error: &RedfishError) -> bool {
    let named = |fault: &Fault| fault.has("PreconditionHeaderMissing") || fault.has("PreconditionFailed");
    match error {
        RedfishError::Refused { status, fault, .. } => {
            matches!(*status, StatusCode::PRECONDITION_FAILED | StatusCode::PRECONDITION_REQUIRED) || named(fault)
        }
        _ => false,
    }
}
