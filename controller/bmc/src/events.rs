//! Having the BMC tell by itself what happens.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{BmcError, Health, media};

/// The most events that are taken out of one body.
const EVENTS: usize = 1000;

/// Where events are to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Address that the BMC posts events to; `https` where the BMC is to keep them from others.
    pub destination: String,
    /// A word that comes back with every event, by which a subscription is known to be one's own.
    pub context: String,
}

impl Subscription {
    /// The destination without what may be a secret: user, password, query.
    #[must_use]
    pub fn shown_destination(&self) -> String {
        media::shown(&self.destination)
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Subscription");
        shown.field("destination", &self.shown_destination()).field("context", &self.context).finish()
    }
}

/// A subscription as the BMC calls it. Plain text, so that it can be kept and ended later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubscriptionId(pub String);

impl fmt::Display for SubscriptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A subscription that a BMC holds.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownSubscription {
    /// What the BMC calls it.
    pub id: SubscriptionId,
    /// Where it sends to; none for those that only listen, or when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination: Option<String>,
    /// Its word, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether it still sends: some end or pause one whose destination was away for too long. None when the BMC does not
    /// say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends: Option<bool>,
}

impl fmt::Debug for KnownSubscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("KnownSubscription");
        shown.field("id", &self.id).field("destination", &self.destination.as_deref().map(media::shown));
        shown.field("context", &self.context).field("sends", &self.sends).finish()
    }
}

/// Something that a BMC tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventRecord {
    /// What the BMC calls this occurrence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The word of the subscription that it came by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Kind of event, as `Alert`, `ResourceUpdated`; newer services leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// When, as the BMC writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// How bad it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Health>,
    /// What happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The registry's name of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// What the message is about, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The resource that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// Events as they come. Dropping it ends it.
#[async_trait]
pub trait EventStream: Send {
    /// The next events; none when the BMC has ended the stream. Waits while nothing happens, which may be hours:
    /// whoever wants to know a dead connection from a quiet one sets a time limit and opens the stream anew.
    ///
    /// # Errors
    /// When the connection breaks.
    async fn next(&mut self) -> Result<Option<Vec<EventRecord>>, BmcError>;
}

/// The events in a body that a BMC posted to a subscription's destination; none of them in a body of another kind, such
/// as a metric report.
///
/// # Errors
/// In words, when the body is no JSON object. It is not shown: it comes from anyone who can reach the destination.
pub fn parse_events(body: &[u8]) -> Result<Vec<EventRecord>, String> {
    match serde_json::from_slice::<Value>(body) {
        Ok(value @ Value::Object(_)) => Ok(events_of(&value)),
        Ok(_) => Err("the event is JSON, but no object".to_owned()),
        Err(error) => Err(format!("the event is not JSON: {error}")),
    }
}

/// The events of one `Event` resource.
pub(crate) fn events_of(event: &Value) -> Vec<EventRecord> {
    let text = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let context = text(event, "Context");
    let records = match event.get("Events") {
        Some(Value::Array(list)) => list.as_slice(),
        // iDRAC 8 and others post the record itself now and then.
        None if event.get("MessageId").is_some() => std::slice::from_ref(event),
        _ => &[],
    };
    let record = |record: &Value| {
        let severity = ["Severity", "MessageSeverity"].into_iter().find_map(|name| text(record, name));
        let origin = record.get("OriginOfCondition");
        let origin = origin.and_then(|origin| origin.as_str().map(str::to_owned).or_else(|| text(origin, "@odata.id")));
        let arguments = record.get("MessageArgs").and_then(Value::as_array).into_iter().flatten();
        EventRecord {
            id: text(record, "EventId"),
            context: text(record, "Context").or_else(|| context.clone()),
            kind: text(record, "EventType"),
            time: text(record, "EventTimestamp"),
            severity: severity.as_deref().and_then(Health::of_word),
            message: text(record, "Message"),
            message_id: text(record, "MessageId"),
            arguments: arguments.filter_map(Value::as_str).map(str::to_owned).collect(),
            origin,
        }
    };
    records.iter().take(EVENTS).map(record).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn no_secret_of_a_destination_is_shown() {
        let destination = "https://u:s3cr3t@h/events?token=s3cr3t".to_owned();
        let held = KnownSubscription {
            id: SubscriptionId("1".to_owned()),
            destination: Some(destination.clone()),
            context: None,
            sends: None,
        };
        let shown = format!("{held:?} {:?}", Subscription { destination, context: "c".to_owned() });
        assert_eq!(shown.matches("https://h/events").count(), 2, "{shown}");
        assert!(!shown.contains("s3cr3t"), "{shown}");
    }

    #[test]
    fn an_event_in_full() {
        let body = json!({
            "@odata.type": "#Event.v1_7_0.Event", "Id": "1", "Context": "ContosoWebClient",
            "Events": [{
                "EventType": "Other", "EventId": "4593", "Severity": "Warning", "EventTimestamp": "2024-01-01T00:00:00Z",
                "Message": "A cable has been removed from network adapter '1' port '1'.",
                "MessageId": "NetworkDevice.1.0.CableRemoved", "MessageArgs": ["1", 2, "1"],
                "OriginOfCondition": {"@odata.id": "/redfish/v1/Systems/1/EthernetInterfaces/1"},
            }, {"MessageId": "A.1.B", "OriginOfCondition": "/redfish/v1/Chassis/1", "Context": "own"}],
        });
        let events = parse_events(body.to_string().as_bytes()).unwrap();
        assert_eq!(
            events[0],
            EventRecord {
                id: Some("4593".to_owned()),
                context: Some("ContosoWebClient".to_owned()),
                kind: Some("Other".to_owned()),
                time: Some("2024-01-01T00:00:00Z".to_owned()),
                severity: Some(Health::Warning),
                message: Some("A cable has been removed from network adapter '1' port '1'.".to_owned()),
                message_id: Some("NetworkDevice.1.0.CableRemoved".to_owned()),
                arguments: vec!["1".to_owned(), "1".to_owned()],
                origin: Some("/redfish/v1/Systems/1/EthernetInterfaces/1".to_owned()),
            }
        );
        assert_eq!(events[1].context.as_deref(), Some("own"));
        assert_eq!(events[1].origin.as_deref(), Some("/redfish/v1/Chassis/1"));
    }

    #[test]
    fn bodies_of_other_kinds() {
        for body in [r##"{"@odata.type":"#MetricReport.v1_0_0.MetricReport"}"##, r#"{"Events":null}"#, "{}"] {
            assert_eq!(parse_events(body.as_bytes()), Ok(Vec::new()), "{body}");
        }
        assert!(parse_events(b"<html>").unwrap_err().contains("not JSON"));
        assert!(parse_events(b"[]").unwrap_err().contains("no object"));
        let many = json!({"Events": vec![json!({}); EVENTS + 1]});
        assert_eq!(parse_events(many.to_string().as_bytes()).unwrap().len(), EVENTS);
    }

    proptest! {
        #[test]
        fn any_body_is_read(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_events(&body);
        }
    }
}
