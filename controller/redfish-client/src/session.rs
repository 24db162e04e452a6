//! How requests prove who makes them: one session per service, or the password with each request where there can be
//! none.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::header::{self, HeaderName};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, OwnedMutexGuard};
use tokio::time::Instant;

use crate::resource::{link, look};
use crate::wire::{Request, Wire};
use crate::{Fault, Login, Options, RedfishError, Reference};

/// DSP0266 13.3.4.
const TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// After this long without a session, because the service had none left, another is asked for.
const BASIC_FOR: Duration = Duration::from_secs(600);

/// How long the end of a session may take; nothing depends on it.
const GOODBYE: Duration = Duration::from_secs(5);

/// What goes with each request, and which login it came from.
#[derive(Clone)]
pub(crate) struct Pass {
    pub(crate) headers: HeaderMap,
    /// Counts logins, so that of many requests refused at once only the first logs in anew.
    pub(crate) age: u64,
    session: Option<Reference>,
    /// When something better may be had.
    until: Option<Instant>,
}

impl Pass {
    /// Whether it may have run out, as a session does and a password does not.
    pub(crate) fn can_expire(&self) -> bool {
        self.session.is_some()
    }

    /// Whether another login may get what this one does not: a session has run out, or the password goes along only
    /// because there was no session to be had, at a service that may take it in no other way.
    pub(crate) fn is_second_best(&self) -> bool {
        self.can_expire() || self.until.is_some()
    }
}

pub(crate) struct Door {
    login: Option<Login>,
    sessions: bool,
    pause: Duration,
    /// Shared with the login that is under way, which outlives whoever asked for it.
    held: Arc<Mutex<Held>>,
    /// Held by the first request that carries the password, until it is known to be good.
    trial: Mutex<()>,
    proven: AtomicBool,
}

#[derive(Default)]
pub(crate) struct Held {
    pass: Option<Pass>,
    refused: Option<Refused>,
}

/// A login that was refused, and when.
struct Refused {
    at: Instant,
    url: String,
    fault: Fault,
}

impl Door {
    pub(crate) fn new(login: Option<Login>, options: &Options) -> Self {
        Self {
            login,
            sessions: options.sessions,
            pause: options.login_pause,
            held: Arc::default(),
            trial: Mutex::default(),
            proven: AtomicBool::new(false),
        }
    }

    pub(crate) fn user(&self) -> &str {
        self.login.as_ref().map_or("", Login::user)
    }

    /// What to send along. Logs in if that was not done yet, or if the pass of `refused` (an age) is still the current
    /// one; that one's session is ended, so that there is never more than one. Who asks may stop waiting at any time:
    /// a login that was begun is carried to its end, so that no session is made that nobody knows of.
    ///
    /// # Errors
    /// [`RedfishError::Unauthorized`] also without asking, soon after the service said so: of many calls at once only
    /// one tries a wrong password.
    pub(crate) async fn pass(
        &self,
        wire: &Arc<Wire>,
        refused: Option<u64>,
        until: Instant,
    ) -> Result<Pass, RedfishError> {
        let mut held = Arc::clone(&self.held).lock_owned().await;
        self.still_refused(&held)?;
        let now = Instant::now();
        let age = match held.pass.as_ref() {
            Some(pass) if refused != Some(pass.age) && pass.until.is_none_or(|until| now < until) => {
                return Ok(pass.clone());
            }
            Some(stale) => stale.age + 1,
            None => 0,
        };
        let Some(login) = self.login.clone() else {
            return Ok(held.pass.insert(Pass { headers: HeaderMap::new(), age, session: None, until: None }).clone());
        };
        if !self.sessions {
            return Ok(held.pass.insert(Pass { headers: basic(&login), age, session: None, until: None }).clone());
        }
        let entering = tokio::spawn(enter(Arc::clone(wire), login, age, until, held));
        entering.await.unwrap_or_else(|error| {
            let (method, url) = (Method::POST, wire.url(&Reference::root()));
            Err(RedfishError::Connection { method, url, why: format!("the login was cut short: {error}"), sent: true })
        })
    }

    /// Before a request that carries the password itself: of many at once the first goes alone, until it is known that
    /// the password is good. Nothing to wait for with a session.
    ///
    /// # Errors
    /// [`RedfishError::Unauthorized`] when the first was refused meanwhile.
    pub(crate) async fn trial(&self, pass: &Pass) -> Result<Option<MutexGuard<'_, ()>>, RedfishError> {
        if self.login.is_none() || pass.can_expire() || self.proven.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let alone = self.trial.lock().await;
        self.still_refused(&*self.held.lock().await)?;
        Ok(Some(alone))
    }

    /// Notes what became of a request for `at` that carried the password itself. A password that was good a moment ago
    /// is not called wrong for one refusal, which may be the resource's own; for a second in a row it is.
    pub(crate) async fn tried(&self, pass: &Pass, at: &Reference, refusal: Option<&RedfishError>) {
        if self.login.is_none() || pass.can_expire() {
            return;
        }
        match refusal {
            Some(RedfishError::Unauthorized { .. }) if self.proven.swap(false, Ordering::Relaxed) => {}
            Some(RedfishError::Unauthorized { url, fault, .. }) => {
                let (url, fault) = (url.clone(), fault.clone());
                self.held.lock().await.refused = Some(Refused { at: Instant::now(), url, fault });
            }
            // The root is shown to anyone, and a service that is starting has looked at no password.
            None if *at != Reference::root() => self.proven.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn still_refused(&self, held: &Held) -> Result<(), RedfishError> {
        let Some(last) = held.refused.as_ref().filter(|last| last.at.elapsed() < self.pause) else { return Ok(()) };
        let (url, user, fault) = (last.url.clone(), self.user().to_owned(), last.fault.clone());
        Err(RedfishError::Unauthorized { url, user, fault })
    }

    /// Ends the session, if there is one, also when nobody waits for that any more.
    pub(crate) async fn leave(&self, wire: &Arc<Wire>) {
        let (held, wire) = (Arc::clone(&self.held), Arc::clone(wire));
        // Fails only with the runtime itself.
        let _ = tokio::spawn(async move { leave(&held, &wire).await }).await;
    }

    /// Where the session is that is left behind when nobody has ended it, or is just being made.
    pub(crate) fn abandoned(&self) -> Option<Arc<Mutex<Held>>> {
        let none = self.held.try_lock().is_ok_and(|held| !held.pass.as_ref().is_some_and(Pass::can_expire));
        (!none).then(|| Arc::clone(&self.held))
    }
}

/// Ends the session that is held, if there is one.
pub(crate) async fn leave(held: &Mutex<Held>, wire: &Wire) {
    let pass = held.lock().await.pass.take();
    if let Some(pass) = pass {
        end(wire, &pass).await;
    }
}

/// Logs in, keeps what came of it in `held`, and ends the session before.
async fn enter(
    wire: Arc<Wire>,
    login: Login,
    age: u64,
    until: Instant,
    mut held: OwnedMutexGuard<Held>,
) -> Result<Pass, RedfishError> {
    let pass = match create(&wire, &login, age, until).await {
        Ok(Some(pass)) => pass,
        Ok(None) => Pass { headers: basic(&login), age, session: None, until: Some(Instant::now() + BASIC_FOR) },
        // The old session stays where it is: it is still to be ended.
        Err(error) => {
            if let RedfishError::Unauthorized { url, fault, .. } = &error {
                let (url, fault) = (url.clone(), fault.clone());
                held.refused = Some(Refused { at: Instant::now(), url, fault });
            }
            return Err(error);
        }
    };
    // Ended before the door opens again: there is never more than one.
    let stale = held.pass.replace(pass.clone());
    if let Some(session) = stale.and_then(|stale| stale.session) {
        end(&wire, &Pass { session: Some(session), ..pass.clone() }).await;
    }
    Ok(pass)
}

/// Tells the service that the session is over; its table of sessions is short, and a full one locks people out.
async fn end(wire: &Wire, pass: &Pass) {
    let Some(session) = &pass.session else { return };
    let request = Request { method: &Method::DELETE, to: session, body: None, if_match: None };
    if let Err(error) = wire.exchange(request, &pass.headers, Instant::now() + GOODBYE).await {
        tracing::debug!(%error, "session not ended");
    }
}

/// Whether a service that answers so is starting or busy: a moment later it makes sessions.
fn is_passing(status: StatusCode) -> bool {
    matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
}

/// A new session; none where the service does not make one and the password must go with each request: it has no
/// session service, or its table of sessions is full.
async fn create(wire: &Wire, login: &Login, age: u64, until: Instant) -> Result<Option<Pass>, RedfishError> {
    let (root, Some(place)) = find(wire, until).await? else { return Ok(None) };
    let body = login.session_request(&root);
    let request = Request { method: &Method::POST, to: &place, body: Some(&body), if_match: None };
    let answer = wire.exchange(request, &HeaderMap::new(), until).await?;
    if let Some(refusal) = answer.refusal(&Method::POST, &wire.url(&place), login.user()) {
        return match refusal {
            RedfishError::Refused { status, ref fault, .. }
                if status != StatusCode::FORBIDDEN && (!is_passing(status) || fault.is_about_session_limit()) =>
            {
                tracing::info!(service = wire.url(&place), %status, %fault, "no session to be had, using basic authentication");
                Ok(None)
            }
            refusal => Err(refusal),
        };
    }
    let Some(mut token) = answer.headers.get(&TOKEN).cloned() else { return Ok(None) };
    token.set_sensitive(true);
    let created = answer.json(&Method::POST, &wire.url(&place)).ok().flatten();
    let session = answer.location().or_else(|| created.as_ref().and_then(link));
    // Without its place a session cannot be ended, and the table would fill up.
    let Some(session) = session else { return Ok(None) };
    let headers = HeaderMap::from_iter([(TOKEN, token)]);
    Ok(Some(Pass { headers, age, session: Some(session), until: None }))
}

/// The root, as far as it is shown to anyone, and the place where sessions are made. The root's `Links` come first: the
/// session service itself may want a login.
async fn find(wire: &Wire, until: Instant) -> Result<(Value, Option<Reference>), RedfishError> {
    let at = Reference::root();
    let fallback = at.child("SessionService").child("Sessions");
    let request = Request { method: &Method::GET, to: &at, body: None, if_match: None };
    let answer = wire.exchange(request, &HeaderMap::new(), until).await?;
    if answer.status.is_server_error() || answer.status == StatusCode::TOO_MANY_REQUESTS {
        return answer.refusal(&Method::GET, &wire.url(&at), "").map_or(Ok((Value::Null, None)), Err);
    }
    let root: Value = match answer.json(&Method::GET, &wire.url(&at)) {
        Ok(Some(root)) if answer.status.is_success() => root,
        // A root behind a login tells nothing; the usual place may still be there.
        _ => return Ok((Value::Null, Some(fallback))),
    };
    let sessions = look(&root, "Links/Sessions").and_then(link);
    let place = sessions.or_else(|| look(&root, "SessionService").map(|_| fallback));
    Ok((root, place))
}

fn basic(login: &Login) -> HeaderMap {
    use base64::Engine as _;
    let pair = zeroize::Zeroizing::new(format!("{}:{}", login.user(), login.password()));
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.as_bytes());
    let mut headers = HeaderMap::new();
    if let Ok(mut value) = HeaderValue::try_from(format!("Basic {encoded}")) {
        value.set_sensitive(true);
        headers.insert(header::AUTHORIZATION, value);
    }
    headers
}
