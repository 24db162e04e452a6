//! The request that creates a subscription, in the words of one service. Pure.

use redfish_client::Resource;
use serde_json::{Map, Value, json};

use crate::Subscription;

/// Types of events that are no events to us.
const OTHER_KINDS: &[&str] = &["MetricReport"];

/// The requests to try, best first: a service may refuse what it lists itself, and what the schema has made optional.
pub(super) fn requests(service: &Resource, wanted: &Subscription) -> Vec<Value> {
    let least = Map::from_iter([
        ("Destination".to_owned(), Value::from(wanted.destination.as_str())),
        ("Protocol".to_owned(), "Redfish".into()),
        ("Context".to_owned(), wanted.context.as_str().into()),
    ]);
    let types: Vec<String> = service.texts("EventTypesForSubscription");
    let types: Vec<&String> = types.iter().filter(|kind| !OTHER_KINDS.contains(&kind.as_str())).collect();
    let formats = service.texts("EventFormatTypes");
    let mut full = least.clone();
    if formats.iter().any(|format| format == "Event") {
        full.insert("EventFormatType".to_owned(), "Event".into());
        full.insert("SubscriptionType".to_owned(), "RedfishEvent".into());
    }
    let mut typed = least.clone();
    if !types.is_empty() {
        full.insert("EventTypes".to_owned(), json!(types));
        typed.insert("EventTypes".to_owned(), json!(types));
    }
    let mut requests = vec![Value::Object(full), Value::Object(typed), Value::Object(least)];
    requests.dedup();
    requests
}

/// The requests for a test event to try: older services want a type, newer ones a message.
pub(super) fn test_requests(service: &Resource, listed: Option<&[String]>) -> Vec<Value> {
    let kinds = listed.map_or_else(|| service.texts("EventTypesForSubscription"), <[String]>::to_vec);
    let kind = kinds.iter().find(|kind| *kind == "Alert").or(kinds.first());
    let message = json!({
        "EventId": "bessemer-test",
        "EventTimestamp": "2000-01-01T00:00:00Z",
        "Message": "A test of event delivery",
        "MessageArgs": [],
        "MessageId": "ResourceEvent.1.0.TestMessage",
        "OriginOfCondition": "/redfish/v1/EventService",
        "Severity": "OK",
    });
    let mut requests = Vec::new();
    if let Some(kind) = kind {
        let mut full = message.clone();
        if let Some(fields) = full.as_object_mut() {
            fields.insert("EventType".to_owned(), kind.as_str().into());
        }
        requests.extend([full, json!({"EventType": kind})]);
    }
    requests.extend([message, json!({"MessageId": "ResourceEvent.1.0.TestMessage"}), json!({})]);
    requests
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;

    use super::*;

    fn tried(service: Value) -> Vec<String> {
        let wanted = Subscription { destination: "https://us/e".to_owned(), context: "c".to_owned() };
        let service = Resource::new(Reference::root(), None, service);
        let fields = |request: &Value| request.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
        requests(&service, &wanted).iter().map(fields).collect()
    }

    #[test]
    fn in_the_words_of_the_service() {
        let dell = json!({"EventFormatTypes": ["Event", "MetricReport"], "EventTypesForSubscription": ["Alert", "MetricReport"]});
        assert_eq!(
            tried(dell),
            [
                "Context Destination EventFormatType EventTypes Protocol SubscriptionType",
                "Context Destination EventTypes Protocol",
                "Context Destination Protocol",
            ]
        );
        assert_eq!(tried(json!({"EventTypesForSubscription": ["MetricReport"]})), ["Context Destination Protocol"]);
        let hpe = json!({"EventTypesForSubscription": ["StatusChange", "Alert"]});
        assert_eq!(tried(hpe), ["Context Destination EventTypes Protocol", "Context Destination Protocol"]);
    }

    #[test]
    fn a_test_event_is_an_alert_where_that_is_a_type() {
        let service = Resource::new(Reference::root(), None, json!({}));
        let listed = ["StatusChange".to_owned(), "Alert".to_owned()];
        let requests = test_requests(&service, Some(&listed));
        assert_eq!((requests.len(), &requests[0]["EventType"]), (5, &json!("Alert")));
        assert_eq!(test_requests(&service, None).len(), 3);
    }
}
