//! Reading many resources for one question, bounded in number and time. What is not there is left out; what cannot be
//! read is a gap that is told, and the rest goes on; only a BMC that does not answer any more ends it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// One question that needs many resources. Each is read once, however often it is asked for.
pub(super) struct Survey<'a> {
    bmc: &'a RedfishBmc,
    limit: Duration,
    until: Instant,
    state: Mutex<State>,
}

struct State {
    calls: usize,
    known: HashMap<Reference, Option<Resource>>,
    gaps: Vec<String>,
    ended: Option<RedfishError>,
}

impl<'a> Survey<'a> {
    pub(super) fn new(bmc: &'a RedfishBmc) -> Self {
        Self::within(bmc, WITHIN)
    }

    /// As [`Survey::new`], with less time.
    pub(super) fn within(bmc: &'a RedfishBmc, limit: Duration) -> Self {
        let state = State { calls: CALLS, known: HashMap::new(), gaps: Vec::new(), ended: None };
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
                state.gap(format!("{at} and what follows: more than {CALLS} resources"));
                return None;
            };
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
                self.lock().gap(format!("{at}: not reached within {:?}", self.limit));
                None
            }
        };
        self.lock().known.insert(at.clone(), found.clone());
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
            None => Ok(state.gaps),
        }
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
            RedfishError::Refused { .. } | RedfishError::Body { .. } | RedfishError::Redirect { .. } => {
                self.gap(format!("{at}: {error}"));
            }
            error => self.ended = Some(error),
        }
    }

    fn gap(&mut self, gap: String) {
        if self.gaps.len() < GAPS && !self.gaps.contains(&gap) {
            self.gaps.push(gap);
        }
    }
}
