//! Events over Redfish (`EventService`): subscriptions that post to us, and a stream that we listen to.

mod request;

use async_trait::async_trait;
use redfish_client::{Listener, RedfishError, Reference, Resource};
use request::{requests, test_requests};

use super::RedfishBmc;
use super::errors::scrubbed;
use super::settle::ReadAgain;
use crate::events::events_of;
use crate::media::{shown, shown_within};
use crate::{BmcError, EventRecord, EventStream, KnownSubscription, Subscription, SubscriptionId};

const SUBSCRIBE: &str = "subscribing to events";
const UNSUBSCRIBE: &str = "ending a subscription";
const LIST: &str = "listing subscriptions";
const TEST: &str = "sending a test event";
const LISTEN: &str = "listening to events";

/// Keys by which services say that they hold as many subscriptions as they can.
const FULL: &[&str] = &[
    "CreateLimitReachedForResource",
    "EventSubscriptionLimitExceeded",
    "SubscriptionLimitExceeded",
    "MaxSubscriptions",
];

fn known(resource: &Resource) -> KnownSubscription {
    KnownSubscription {
        id: SubscriptionId(resource.uri().to_string()),
        destination: resource.text("Destination").map(str::to_owned),
        context: resource.text("Context").map(str::to_owned),
        sends: resource.text("Status/State").map(|state| state == "Enabled"),
    }
}

impl RedfishBmc {
    pub(super) async fn create_subscription(&self, wanted: &Subscription) -> Result<SubscriptionId, BmcError> {
        let service = self.event_service(SUBSCRIBE).await?;
        let held = self.held_subscriptions(SUBSCRIBE, &service).await?;
        let same =
            held.iter().filter(|held| may_be(held, wanted) && (held.destination.is_some() || held.context.is_some()));
        // One that hides where it sends may send to where we were before.
        let (alive, dead): (Vec<_>, Vec<_>) =
            same.partition(|held| held.sends != Some(false) && held.destination.is_some());
        for dead in dead {
            self.end_subscription(&dead.id).await?;
        }
        if let Some(alive) = alive.first() {
            return Ok(alive.id.clone());
        }
        let collection = self.subscriptions_of(SUBSCRIBE, &service)?;
        let mut refusal = None;
        for body in requests(&service, wanted) {
            match self.client.post(&collection, &body).await {
                Ok(reply) => return self.created(&service, wanted, reply.location).await,
                Err(error) if is_full(&error) => return Err(self.full(&error, &held)),
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 400) => refusal = Some(error),
                Err(error) => return Err(scrubbed(self.explain_write(SUBSCRIBE, error), None)),
            }
        }
        match refusal {
            Some(error) => Err(scrubbed(self.explain_write(SUBSCRIBE, error), None)),
            None => Err(self.unsupported(SUBSCRIBE, format!("{collection} takes no subscription"))),
        }
    }

    /// The subscription that was made, read back: where it is told to be, or wherever it is.
    async fn created(
        &self,
        service: &Resource,
        wanted: &Subscription,
        location: Option<Reference>,
    ) -> Result<SubscriptionId, BmcError> {
        let wrote = format!("a subscription for {}", wanted.shown_destination());
        let read = self.read_back(&wrote, || async {
            if let Some(at) = &location {
                let found = self.client.find(at).await.map_err(|error| self.explain(SUBSCRIBE, error))?;
                // It says itself that this is the one: what it hides is no contradiction.
                if let Some(found) = found.filter(|found| may_be(&known(found), wanted)) {
                    return Ok(ReadAgain::Like(known(&found).id));
                }
            }
            let held = self.held_subscriptions(SUBSCRIBE, service).await?;
            Ok(match held.into_iter().find(|held| is_same(held, wanted)) {
                Some(found) => ReadAgain::Like(found.id),
                None => ReadAgain::Unlike("no such subscription".to_owned()),
            })
        });
        let failure = match read.await {
            Ok(id) => return Ok(id),
            Err(error) => error,
        };
        // One that is not what was wanted is not left behind: each repeat would leave one more, until no more fit.
        let own = location.filter(is_subscription);
        if let (BmcError::Contradicted { .. }, Some(at)) = (&failure, &own)
            && let Err(error) = self.client.delete(at).await
        {
            tracing::debug!(%error, "a subscription that reads back otherwise cannot be ended");
        }
        Err(failure)
    }

    fn full(&self, error: &RedfishError, held: &[KnownSubscription]) -> BmcError {
        let shown: Vec<String> = held
            .iter()
            .map(|held| format!("{} to {}", held.id, held.destination.as_deref().map_or("nowhere".to_owned(), shown)))
            .collect();
        let error = shown_within(&error.to_string());
        let why = format!("{error}; it holds {} already, end one of them: {}", held.len(), shown.join(", "));
        self.wrong(SUBSCRIBE, why)
    }

    pub(super) async fn end_subscription(&self, id: &SubscriptionId) -> Result<(), BmcError> {
        // Only a subscription may be deleted by this name, whatever text is given.
        let at = Reference::parse(&id.0).filter(is_subscription);
        let Some(at) = at else {
            return Err(self.wrong(UNSUBSCRIBE, format!("{id} is no subscription of an event service")));
        };
        self.client.delete(&at).await.map_err(|error| self.explain_write(UNSUBSCRIBE, error))?;
        self.read_back(&format!("the end of subscription {at}"), || async {
            let found = self.client.find(&at).await.map_err(|error| self.explain(UNSUBSCRIBE, error))?;
            Ok(found.map_or(ReadAgain::Like(()), |_| ReadAgain::Unlike("that it is there".to_owned())))
        })
        .await
    }

    pub(super) async fn list_subscriptions(&self) -> Result<Vec<KnownSubscription>, BmcError> {
        let service = self.event_service(LIST).await?;
        self.held_subscriptions(LIST, &service).await
    }

    pub(super) async fn submit_test_event(&self) -> Result<(), BmcError> {
        let service = self.event_service(TEST).await?;
        let Some(action) = service.action("EventService.SubmitTestEvent") else {
            return Err(self.unsupported(TEST, format!("{} has no action SubmitTestEvent", service.uri())));
        };
        let mut refusal = None;
        for body in test_requests(&service, action.values("EventType")) {
            match self.client.act(&action, &body).await {
                Ok(_) => return Ok(()),
                Err(error) if error.status().is_some_and(|status| status.as_u16() == 400) => refusal = Some(error),
                Err(error) => return Err(self.explain_write(TEST, error)),
            }
        }
        match refusal {
            Some(error) => Err(self.explain_write(TEST, error)),
            None => Ok(()),
        }
    }

    pub(super) async fn open_events(&self) -> Result<Box<dyn EventStream>, BmcError> {
        let service = self.event_service(LISTEN).await?;
        let Some(at) = service.text("ServerSentEventUri").and_then(Reference::parse) else {
            return Err(self.unsupported(LISTEN, format!("{} has no stream of events", service.uri())));
        };
        let listener = self.client.listen(&at).await.map_err(|error| self.explain(LISTEN, error))?;
        Ok(Box::new(Stream { address: self.address.to_string(), listener }))
    }

    async fn held_subscriptions(&self, act: &str, service: &Resource) -> Result<Vec<KnownSubscription>, BmcError> {
        let collection = self.subscriptions_of(act, service)?;
        let held = self.client.members(collection.as_str()).await.map_err(|error| self.explain(act, error))?;
        Ok(held.iter().map(known).collect())
    }

    fn subscriptions_of(&self, act: &str, service: &Resource) -> Result<Reference, BmcError> {
        let missing = || self.unsupported(act, format!("{} keeps no subscriptions", service.uri()));
        service.link("Subscriptions").ok_or_else(missing)
    }

    async fn event_service(&self, act: &str) -> Result<Resource, BmcError> {
        let root = self.client.root().await.map_err(|error| self.explain(act, error))?;
        let Some(at) = root.link("EventService") else {
            return Err(self.unsupported(act, "its service root names no event service".to_owned()));
        };
        let found = self.client.find(&at).await.map_err(|error| self.explain(act, error))?;
        let service = found.ok_or_else(|| self.unsupported(act, format!("{at} is named and not there")))?;
        if service.value("ServiceEnabled").and_then(serde_json::Value::as_bool) == Some(false) {
            let why = format!("{at} is switched off; switch it on (ServiceEnabled) in the bmc's own settings");
            return Err(self.unsupported(act, why));
        }
        Ok(service)
    }
}

fn is_subscription(at: &Reference) -> bool {
    at.parent().is_some_and(|within| within.id() == "Subscriptions")
}

/// Whether a subscription is the one that is wanted. Some write the destination with another end.
fn is_same(held: &KnownSubscription, wanted: &Subscription) -> bool {
    let bare = |address: &str| address.trim_end_matches('/').to_owned();
    held.context.as_deref() == Some(&wanted.context)
        && held.destination.as_deref().map(bare) == Some(bare(&wanted.destination))
}

/// Whether nothing that a subscription shows speaks against its being the one that is wanted: some hide a field.
fn may_be(held: &KnownSubscription, wanted: &Subscription) -> bool {
    let whole = KnownSubscription {
        destination: Some(held.destination.clone().unwrap_or_else(|| wanted.destination.clone())),
        context: Some(held.context.clone().unwrap_or_else(|| wanted.context.clone())),
        ..held.clone()
    };
    is_same(&whole, wanted)
}

fn is_full(error: &RedfishError) -> bool {
    error.fault().is_some_and(|fault| FULL.iter().any(|key| fault.has(key)))
}

/// Events from an open connection.
struct Stream {
    address: String,
    listener: Listener,
}

#[async_trait]
impl EventStream for Stream {
    async fn next(&mut self) -> Result<Option<Vec<EventRecord>>, BmcError> {
        loop {
            let event = self.listener.next().await.map_err(|error| BmcError::Protocol {
                address: self.address.clone(),
                act: LISTEN.to_owned(),
                why: error.to_string(),
            })?;
            let Some(event) = event else { return Ok(None) };
            // What is no event, as a metric report or a greeting, is passed over.
            let records = event.json().map(|body| events_of(&body)).unwrap_or_default();
            if !records.is_empty() {
                return Ok(Some(records));
            }
        }
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let wanted = Subscription { destination: String::new(), context: String::new() };
    let asked = (requests(resource, &wanted), test_requests(resource, None));
    format!("{:?} {:?} {asked:?}", known(resource), events_of(resource.body()))
}
