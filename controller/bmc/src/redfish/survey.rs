//! Reading many resources for one question, bounded in number and time. What is not there is left out; what cannot be
//! read is a gap that is told, and the rest goes on; only a BMC that does not answer any more ends it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use redfish_client::{RedfishError, Reference, Resource};
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::RedfishBmc;
use crate::BmcError;

/// Most resources read for one question. The largest server seen needs about 350.
const CALLS: usize = 600;
/// How long one question may take. A slow BMC needs a second for each resource.
const WITHIN: Duration = Duration::from_secs(300);
/// Most pages followed in one collection.
const PAGES: usize = 50;
/// Most gaps that are told.
const GAPS: usize = 20;
/// How much of what was read is kept for one question: text and structure, in bytes. All of the largest server seen is
/// 3 MB.
const KEPT: usize = 32 << 20;

/// One question that needs many resources. Each is read once, however often it is asked for.
pub(super) struct Survey<'a> {
    bmc: &'a RedfishBmc,
    limit: Duration,
    until: Instant,
    state: Mutex<State>,
}

struct State {
    calls: usize,
    /// How much more may be kept.
    room: usize,
    known: HashMap<Reference, Option<Resource>>,
    gaps: Vec<Gap>,
    ended: Option<RedfishError>,
}

/// What could not be read.
struct Gap {
    why: String,
    /// Whether the same question may find it later: the service stumbled, or time ran out; it did not refuse.
    passing: bool,
}

impl<'a> Survey<'a> {
    pub(super) fn new(bmc: &'a RedfishBmc) -> Self {
        Self::within(bmc, WITHIN)
    }

    /// As [`Survey::new`], with less time.
    pub(super) fn within(bmc: &'a RedfishBmc, limit: Duration) -> Self {
        let state = State { calls: CALLS, room: KEPT, known: HashMap::new(), gaps: Vec::new(), ended: None };
        Self { bmc, limit, until: Instant::now() + limit, state: Mutex::new(state) }
    }

    /// The resource at `at`; none if it is not there or cannot be read.
    pub(super) async fn find(&self, at: &Reference) -> Option<Resource> {
        {
            let mut state = self.lock();
            if let Some(known) = state.known.get(at) {
                return known.clone();
            }
            if state.ended.is_some() {
                return None;
            }
            let Some(left) = state.calls.checked_sub(1) else {
                state.gap(format!("{at} and what follows: more than {CALLS} resources"), true);
                return None;
            };
            if state.room == 0 {
                state.gap(format!("{at} and what follows: more than {} MiB of answers", KEPT >> 20), true);
                return None;
            }
            state.calls = left;
        }
        let found = match timeout_at(self.until, self.bmc.client.read(at)).await {
            // A refusal that calls itself a success.
            Ok(Ok(resource)) if resource.value("error").is_some() && resource.value("@odata.id").is_none() => None,
            Ok(Ok(resource)) => Some(resource),
            Ok(Err(error)) => {
                self.lock().failed(at, error);
                None
            }
            Err(_) => {
                self.lock().gap(format!("{at}: not reached within {:?}", self.limit), true);
                None
            }
        };
        let mut state = self.lock();
        state.room = state.room.saturating_sub(found.as_ref().map_or(0, |found| weight(found.body())));
        state.known.insert(at.clone(), found.clone());
        drop(state);
        found
    }

    /// The resource that `resource` links to at `path`.
    pub(super) async fn follow(&self, resource: &Resource, path: &str) -> Option<Resource> {
        self.find(&resource.link(path)?).await
    }

    /// All of `at` that are there.
    pub(super) async fn all(&self, at: Vec<Reference>) -> Vec<Resource> {
        let mut found = Vec::new();
        for at in at {
            found.extend(self.find(&at).await);
        }
        found
    }

    /// The members of the collection that `resource` links to at `path`; without the link there is none, and nothing is
    /// asked.
    pub(super) async fn members(&self, resource: &Resource, path: &str) -> Vec<Resource> {
        match resource.link(path) {
            Some(collection) => self.members_of(&collection).await,
            None => Vec::new(),
        }
    }

    /// The members of a collection, through all its pages, each once. Some services put the members themselves into the
    /// collection; those are taken as they are.
    pub(super) async fn members_of(&self, collection: &Reference) -> Vec<Resource> {
        let mut members = Vec::new();
        let mut seen: Vec<Reference> = Vec::new();
        let mut pages = vec![collection.clone()];
        while let Some(page) = pages.last().cloned() {
            let Some(page) = self.find(&page).await else { break };
            for entry in page.value("Members").and_then(Value::as_array).into_iter().flatten() {
                let Some(at) = entry.get("@odata.id").and_then(Value::as_str).and_then(Reference::parse) else {
                    continue;
                };
                if seen.contains(&at) {
                    continue;
                }
                seen.push(at.clone());
                if entry.get("Id").is_some() {
                    members.push(Resource::new(at, None, entry.clone()));
                } else {
                    members.extend(self.find(&at).await);
                }
            }
            let next = page.text("Members@odata.nextLink").and_then(Reference::parse);
            match next.filter(|next| !pages.contains(next) && pages.len() < PAGES) {
                Some(next) => pages.push(next),
                None => break,
            }
        }
        members
    }

    /// What could not be read; an error if the BMC stopped answering.
    pub(super) fn finish(self, act: &str) -> Result<Vec<String>, BmcError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.ended {
            Some(error) => Err(self.bmc.explain(act, error)),
            None => Ok(state.gaps.into_iter().map(|gap| gap.why).collect()),
        }
    }

    /// As [`Survey::finish`], where something must not be decided on a part of what there is: what stumbled is an error
    /// that may pass. What the BMC refuses to show is told.
    pub(super) fn finish_whole(self, act: &str) -> Result<Vec<String>, BmcError> {
        let stumbled: Vec<String> =
            self.lock().gaps.iter().filter(|gap| gap.passing).map(|gap| gap.why.clone()).collect();
        let address = self.bmc.address.to_string();
        let refused = self.finish(act)?;
        if stumbled.is_empty() {
            return Ok(refused);
        }
        Err(BmcError::Protocol {
            address,
            act: act.to_owned(),
            why: format!("not all could be read: {}", stumbled.join("; ")),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn failed(&mut self, at: &Reference, error: RedfishError) {
        match error {
            // Listed and not there: DGX and others do that.
            error if error.is_not_found() => {}
            RedfishError::Refused { status, .. } => {
                let passing = status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED;
                self.gap(format!("{at}: {error}"), passing);
            }
            RedfishError::Body { .. } => self.gap(format!("{at}: {error}"), true),
            RedfishError::Redirect { .. } => self.gap(format!("{at}: {error}"), false),
            error => self.ended = Some(error),
        }
    }

    fn gap(&mut self, why: String, passing: bool) {
        if self.gaps.len() < GAPS && !self.gaps.iter().any(|gap| gap.why == why) {
            self.gaps.push(Gap { why, passing });
        }
    }
}

/// About how many bytes a body takes.
fn weight(body: &Value) -> usize {
    let node = size_of::<Value>();
    match body {
        Value::String(text) => node + text.len(),
        Value::Array(all) => all.iter().fold(node, |sum, one| sum.saturating_add(weight(one))),
        Value::Object(all) => {
            all.iter().fold(node, |sum, (name, one)| sum.saturating_add(node + name.len()).saturating_add(weight(one)))
        }
        _ => node,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::scripted::{Scripted, ok, status};
    use super::*;

    #[tokio::test]
    async fn no_more_is_kept_than_there_is_room_for() {
        let bmc = Scripted::start(|seen, _| ok(&json!({"@odata.id": seen.path, "Text": "x".repeat(3000)}))).await;
        let client = bmc.bmc();
        let survey = Survey::new(&client);
        survey.lock().room = 10_000;
        let at: Vec<Reference> = (0..9).map(|n| Reference::root().child(&n.to_string())).collect();
        assert_eq!(survey.all(at).await.len(), 4);
        assert_eq!(bmc.seen().len(), 4);
        let error = survey.finish_whole("a test").unwrap_err();
        assert!(error.to_string().contains("more than 32 MiB of answers"), "{error}");
    }

    #[tokio::test]
    async fn what_stumbles_is_told_from_what_is_refused() {
        let bmc = Scripted::start(|seen, _| status(seen.path.rsplit('/').next().unwrap().parse().unwrap())).await;
        let client = bmc.bmc();
        for (code, wanted) in [(404, Ok(0)), (403, Ok(1)), (501, Ok(1)), (500, Err(()))] {
            let survey = Survey::new(&client);
            assert!(survey.find(&Reference::root().child(&code.to_string())).await.is_none());
            let whole = survey.finish_whole("a test");
            assert!(whole.as_ref().err().is_none_or(BmcError::is_transient));
            assert_eq!(whole.map(|refused| refused.len()).map_err(|_| ()), wanted, "{code}");
        }
    }
}
