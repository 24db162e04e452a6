//! Conditions of foreign objects: of both contracts, and with what they lack filled in.

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::conditions::NO_REASON_REPORTED;
use crate::{Condition, Time};

/// Those of `status.v1beta2.conditions` or else of `status.conditions`. What has no type is left out; a status that
/// none can have is kept, for [`mirror`](crate::conditions::mirror) to say so.
pub(super) fn read(object: &Value) -> Vec<Condition> {
    let lists = ["/status/v1beta2/conditions", "/status/conditions"];
    let found = lists.iter().find_map(|path| object.pointer(path)?.as_array());
    found.into_iter().flatten().filter_map(one).collect()
}

fn one(value: &Value) -> Option<Condition> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let since = text("lastTransitionTime").and_then(|text| text.parse::<Timestamp>().ok());
    Some(Condition {
        type_: text("type")?.to_owned(),
        status: text("status").unwrap_or_default().to_owned(),
        reason: text("reason").unwrap_or(NO_REASON_REPORTED).to_owned(),
        message: text("message").unwrap_or_default().to_owned(),
        last_transition_time: Time(since.unwrap_or_default()),
        observed_generation: value.get("observedGeneration").and_then(Value::as_i64),
    })
}
