//! The table of sessions: bounded, timed, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use uuid::Uuid;

use super::password_change_required;
use crate::redfish::answer::{Answer, Body};
use crate::redfish::json::{clean, set, text};
use crate::redfish::service::Service;

/// How many sessions there were, and what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Made so far.
    pub created: u64,
    /// Ended by the client.
    pub deleted: u64,
    /// Ended because they were not used.
    pub expired: u64,
    /// Ended by a fault or a restart.
    pub dropped: u64,
    /// Not made, because the table was full.
    pub refused: u64,
    /// Log ins that failed.
    pub failed: u64,
    /// Open now.
    pub open: usize,
    /// The most that were open at once.
    pub peak: usize,
}

#[derive(Debug)]
struct Session {
    id: u64,
    user: String,
    used: Instant,
}

/// Sessions by token.
#[derive(Debug, Default)]
pub(in crate::redfish) struct Sessions {
    open: BTreeMap<String, Session>,
    counts: Counts,
}

impl Sessions {
    fn expire(&mut self, timeout: Duration) {
        let before = self.open.len();
        self.open.retain(|_, session| session.used.elapsed() < timeout);
        self.counts.expired += (before - self.open.len()) as u64;
    }

    /// Whose session that is; it counts as used.
    pub(super) fn user(&mut self, token: &str, timeout: Duration) -> Option<String> {
        self.expire(timeout);
        let session = self.open.get_mut(token)?;
        session.used = Instant::now();
        Some(session.user.clone())
    }

    fn create(&mut self, user: &str, limit: usize, timeout: Duration) -> Option<(u64, String)> {
        self.expire(timeout);
        if self.open.len() >= limit {
            self.counts.refused += 1;
            return None;
        }
        self.counts.created += 1;
        let (id, token) = (self.counts.created, Uuid::new_v4().simple().to_string());
        self.open.insert(token.clone(), Session { id, user: user.to_owned(), used: Instant::now() });
        self.counts.peak = self.counts.peak.max(self.open.len());
        Some((id, token))
    }

    fn delete(&mut self, id: u64) -> bool {
        let before = self.open.len();
        self.open.retain(|_, session| session.id != id);
        let deleted = self.open.len() < before;
        self.counts.deleted += u64::from(deleted);
        deleted
    }

    /// Ends all, as a controller that restarts does.
    pub(in crate::redfish) fn drop_all(&mut self) {
        self.counts.dropped += self.open.len() as u64;
        self.open.clear();
    }

    pub(in crate::redfish) fn counts(&mut self, timeout: Duration) -> Counts {
        self.expire(timeout);
        Counts { open: self.open.len(), ..self.counts }
    }

    /// Ids and users.
    fn list(&mut self, timeout: Duration) -> Vec<(u64, String)> {
        self.expire(timeout);
        let mut list: Vec<(u64, String)> =
            self.open.values().map(|session| (session.id, session.user.clone())).collect();
        list.sort_unstable();
        list
    }
}

impl Service {
    /// The paths of the open sessions.
    pub(in crate::redfish) fn session_paths(&self) -> Vec<String> {
        let timeout = self.behaviour().session_timeout;
        let list = self.sessions().list(timeout);
        list.iter().map(|(id, _)| format!("{}/{id}", self.tree.facts.sessions)).collect()
    }

    /// An open session by its path.
    pub(in crate::redfish) fn session(&self, path: &str) -> Option<Value> {
        let timeout = self.behaviour().session_timeout;
        let list = self.sessions().list(timeout);
        let (id, user) = list.into_iter().find(|(id, _)| path == format!("{}/{id}", self.tree.facts.sessions))?;
        Some(json!({
            "@odata.id": path,
            "@odata.type": "#Session.v1_7_2.Session",
            "Id": id.to_string(),
            "Name": format!("Session {id}"),
            "UserName": user,
            "SessionType": "Redfish",
        }))
    }

    pub(in crate::redfish) fn create_session(&self, body: &Value) -> Answer {
        let behaviour = self.behaviour();
        if !behaviour.sessions {
            return Answer::not_allowed("POST", "GET, HEAD");
        }
        let (Some(name), Some(password)) = (text(body, "UserName"), text(body, "Password")) else {
            let sentence = "a session needs UserName and Password";
            return Answer::error(400, "PropertyMissing", sentence, &["UserName"]);
        };
        let who = match self.log_in(name, password) {
            Ok(who) => who,
            Err(answer) => {
                self.sessions().counts.failed += 1;
                return answer;
            }
        };
        let made = self.sessions().create(&who.name, behaviour.session_limit, behaviour.session_timeout);
        let Some((id, token)) = made else {
            let sentence = "no more sessions are possible";
            return Answer::error(behaviour.session_limit_status, "SessionLimitExceeded", sentence, &[]);
        };
        let path = format!("{}/{id}", self.tree.facts.sessions);
        let mut session = self.session(&path).unwrap_or_default();
        if who.must_change_password {
            let own = self.account_path(who.id).unwrap_or_default();
            set(&mut session, "@Message.ExtendedInfo", password_change_required(&own).said());
        }
        let location = self.location(&path);
        Answer::new(201, Body::Json(session)).with("X-Auth-Token", token).with("Location", location)
    }

    pub(in crate::redfish) fn delete_session(&self, path: &str) -> Answer {
        let id = clean(path).rsplit('/').next().and_then(|id| id.parse().ok());
        match id.is_some_and(|id| self.sessions().delete(id)) {
            true => Answer::no_content(),
            false => Answer::not_found(path),
        }
    }
}
