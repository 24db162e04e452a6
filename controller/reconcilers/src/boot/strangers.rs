//! Conversations with unknown machines: at most so many, and none older than a day. Anybody on the boot network can make
//! up hardware addresses.

use std::collections::BTreeMap;
use std::time::Duration;

use bessemer_api::bessemer::BootTrace;
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};

use crate::kubernetes::delete;

/// Traces of strangers that are kept.
const KEPT: usize = 200;

/// New ones in one window; the others are not noted.
const NEW: usize = 50;

/// How long they are kept.
const AGE: Duration = Duration::from_secs(24 * 3600);

/// The strangers in the controller's namespace, as far as this process knows.
pub(super) struct Strangers {
    traces: Api<BootTrace>,
    /// When each was last heard.
    last: BTreeMap<String, Timestamp>,
    /// How many of them were met in this window.
    new: usize,
}

impl Strangers {
    pub(super) fn new(traces: Api<BootTrace>) -> Self {
        Self { traces, last: BTreeMap::new(), new: 0 }
    }

    /// A new window of writes begins.
    pub(super) fn next_window(&mut self) {
        self.new = 0;
    }

    /// Whether `name` may be written. The one heard longest ago goes when there are too many.
    pub(super) async fn admit(&mut self, name: &str) -> bool {
        if !self.last.contains_key(name) {
            if self.new >= NEW {
                return false;
            }
            self.new += 1;
        }
        self.last.insert(name.to_owned(), Timestamp::now());
        while self.last.len() > KEPT {
            let Some(oldest) = self.last.iter().min_by_key(|(_, at)| **at).map(|(name, _)| name.clone()) else {
                break;
            };
            self.last.remove(&oldest);
            self.forget(&oldest).await;
        }
        true
    }

    /// Removes what is too old or too much, also of processes before this one.
    pub(super) async fn sweep(&mut self) {
        let all = match self.traces.list(&ListParams::default()).await {
            Ok(all) => all,
            Err(error) => {
                tracing::warn!(%error, "old boot traces of unknown machines were not looked for");
                return;
            }
        };
        let strangers = all.items.into_iter().filter(|trace| trace.owner_references().is_empty());
        let heard = |trace: &BootTrace| {
            let last = trace.status.as_ref().and_then(|status| status.last_seen.as_ref());
            last.or(trace.metadata.creation_timestamp.as_ref()).map_or_else(Timestamp::now, |at| at.0)
        };
        self.last = strangers.map(|trace| (trace.name_any(), heard(&trace))).collect();
        for name in expired(&self.last, Timestamp::now()) {
            self.last.remove(&name);
            self.forget(&name).await;
        }
    }

    async fn forget(&self, name: &str) {
        let gone = match self.traces.get_opt(name).await {
            Ok(Some(trace)) => delete(&self.traces, &trace).await.map_err(|error| error.to_string()),
            Ok(None) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = gone {
            tracing::warn!(name, error, "an old boot trace was not removed");
        }
    }
}

/// Those that are too old, and of the others the oldest that are too many.
fn expired(last: &BTreeMap<String, Timestamp>, now: Timestamp) -> Vec<String> {
    let mut by_age: Vec<(&Timestamp, &String)> = last.iter().map(|(name, at)| (at, name)).collect();
    by_age.sort_unstable();
    let surplus = by_age.len().saturating_sub(KEPT);
    let old = |at: &Timestamp| now.duration_since(*at).unsigned_abs() > AGE && *at < now;
    let gone = by_age.iter().enumerate().filter(|(index, (at, _))| *index < surplus || old(at));
    gone.map(|(_, (_, name))| (*name).clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_they_are_too_old_or_too_many() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let ago = |seconds: i64| Timestamp::from_second(1_000_000 - seconds).unwrap();
        let few =
            BTreeMap::from([("a".to_owned(), ago(90_000)), ("b".to_owned(), ago(60)), ("c".to_owned(), ago(-60))]);
        assert_eq!(expired(&few, now), ["a"]);
        let many: BTreeMap<String, Timestamp> =
            (0..203_i64).map(|number| (format!("{number:03}"), ago(number))).collect();
        assert_eq!(expired(&many, now), ["202", "201", "200"]);
    }
}
