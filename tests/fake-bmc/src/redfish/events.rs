//! Subscriptions, and delivery of what the host's log notes to their destinations: in order, each tried three times.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Value, json};

use super::answer::{Answer, Body};
use super::json::{set, text};
use super::service::Service;
use super::{tls, views};
use crate::host::log::Entry;

/// Subscriptions at once.
const LIMIT: usize = 20;
const ATTEMPTS: u32 = 3;
const TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(200);

/// The subscriptions of one host.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    /// What was asked for, by number.
    held: BTreeMap<u64, Value>,
    last: u64,
    delivers: bool,
}

impl Service {
    pub(super) fn subscribe(self: &Arc<Self>, collection: &str, body: &Value) -> Answer {
        let destination = text(body, "Destination").unwrap_or_default();
        let protocol = text(body, "Protocol").unwrap_or_default();
        if destination.is_empty() || protocol.is_empty() {
            let sentence = "a subscription needs Destination and Protocol";
            return Answer::error(400, "PropertyMissing", sentence, &["Destination"]);
        }
        if protocol != "Redfish" {
            return Answer::not_in_list(protocol, "Protocol");
        }
        if !destination.starts_with("http") {
            return Answer::not_in_list(destination, "Destination");
        }
        let (id, first) = {
            let mut subscriptions = self.subscriptions();
            if subscriptions.held.len() >= LIMIT {
                let sentence = "no more subscriptions are possible";
                return Answer::error(503, "EventSubscriptionLimitExceeded", sentence, &[]);
            }
            subscriptions.last += 1;
            let id = subscriptions.last;
            subscriptions.held.insert(id, body.clone());
            (id, !std::mem::replace(&mut subscriptions.delivers, true))
        };
        if first {
            tokio::spawn(deliver(Arc::downgrade(self), self.host.watch_log()));
        }
        let path = format!("{collection}/{id}");
        let made = self.subscription(&path).unwrap_or_default();
        Answer::new(201, Body::Json(made)).with("Location", self.location(&path))
    }

    fn subscription_id(&self, path: &str) -> Option<u64> {
        path.strip_prefix(self.tree.facts.subscriptions.as_deref()?)?.strip_prefix('/')?.parse().ok()
    }

    /// A subscription by its path.
    pub(super) fn subscription(&self, path: &str) -> Option<Value> {
        let id = self.subscription_id(path)?;
        let asked = self.subscriptions().held.get(&id)?.clone();
        let mut body = json!({
            "@odata.id": path,
            "@odata.type": "#EventDestination.v1_15_0.EventDestination",
            "Id": id.to_string(),
            "Name": format!("Subscription {id}"),
            "SubscriptionType": "RedfishEvent",
            "EventFormatType": "Event",
            "Context": null,
            "Status": { "State": "Enabled", "Health": "OK" },
        });
        for name in ["Destination", "Protocol", "Context", "EventFormatType", "RegistryPrefixes", "ResourceTypes"] {
            if let Some(value) = asked.get(name) {
                set(&mut body, name, value.clone());
            }
        }
        Some(body)
    }

    /// The paths of all subscriptions that were made here.
    pub(super) fn subscription_paths(&self) -> Vec<String> {
        let Some(collection) = &self.tree.facts.subscriptions else { return Vec::new() };
        self.subscriptions().held.keys().map(|id| format!("{collection}/{id}")).collect()
    }

    pub(super) fn unsubscribe(&self, path: &str) -> Answer {
        match self.subscription_id(path).and_then(|id| self.subscriptions().held.remove(&id)) {
            Some(_) => Answer::no_content(),
            None => Answer::not_found(path),
        }
    }

    fn event(&self, entry: &Entry, context: &Value) -> Value {
        let system = self.tree.system().unwrap_or(super::ROOT);
        json!({
            "@odata.type": "#Event.v1_9_0.Event",
            "Id": entry.id.to_string(),
            "Name": "Events",
            "Context": context,
            "Events": [{
                "MemberId": "0",
                "EventId": entry.id.to_string(),
                "EventType": "Alert",
                "EventTimestamp": views::logs::timestamp(entry.at),
                "MessageId": "Bessemer.1.0.LogEntry",
                "Message": entry.message,
                "MessageArgs": [],
                "Severity": entry.severity,
                "MessageSeverity": entry.severity,
                "OriginOfCondition": { "@odata.id": system },
            }],
        })
    }
}

/// Follows the log as long as the service lives.
async fn deliver(service: Weak<Service>, mut log: tokio::sync::watch::Receiver<u32>) {
    let Ok(client) = tls::anyone() else { return };
    let mut sent = *log.borrow_and_update();
    while log.changed().await.is_ok() {
        let Some(service) = service.upgrade() else { return };
        let entries: Vec<Entry> = service.host.log().entries().filter(|entry| entry.id > sent).cloned().collect();
        log.mark_unchanged();
        let wanted: Vec<Value> = service.subscriptions().held.values().cloned().collect();
        for entry in entries {
            sent = entry.id;
            for asked in &wanted {
                let event = service.event(&entry, asked.get("Context").unwrap_or(&Value::Null));
                post(&client, text(asked, "Destination").unwrap_or_default(), &event).await;
            }
        }
        // an entry may have come between the reading and here
        if *log.borrow() > sent {
            log.mark_changed();
        }
    }
}

async fn post(client: &reqwest::Client, destination: &str, event: &Value) {
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        let sent = client.post(destination).timeout(TIMEOUT).json(event).send().await;
        if sent.is_ok_and(|answer| answer.status().is_success()) {
            return;
        }
    }
}
