//! What a definition says of conversion between its versions.

use serde_json::{Value, json};

use super::names::label_fault;
use super::{text, texts};
use crate::status::Cause;
use crate::webhook;

/// Versions of ConversionReview that are understood.
const REVIEWS: &[&str] = &["v1", "v1beta1"];

/// Adds the faults of `spec.conversion`. Paths are those of upstream's internal form, where `webhook` is flat.
pub(super) fn check(definition: &Value, causes: &mut Vec<Cause>) {
    let Some(conversion) = definition.pointer("/spec/conversion") else { return };
    let strategy = text(conversion, "/strategy");
    match strategy {
        "" => causes.push(Cause::required("spec.conversion.strategy")),
        "None" | "Webhook" => {}
        other => {
            let known = ["None".into(), "Webhook".into()];
            causes.push(Cause::unsupported("spec.conversion.strategy", &other.into(), &known));
        }
    }
    let config = conversion.pointer("/webhook/clientConfig");
    let reviews = texts(conversion, "/webhook/conversionReviewVersions");
    let (config_path, reviews_path) =
        ("spec.conversion.webhookClientConfig", "spec.conversion.conversionReviewVersions");
    if strategy != "Webhook" {
        let detail = "should not be set when strategy is not set to Webhook";
        if config.is_some() {
            causes.push(Cause::forbidden(config_path, detail));
        }
        if !reviews.is_empty() {
            causes.push(Cause::forbidden(reviews_path, detail));
        }
        return;
    }
    match config {
        None => causes.push(Cause::required_as(config_path, "required when strategy is set to Webhook")),
        Some(config) => match (config.get("url").and_then(Value::as_str), config.get("service")) {
            (Some(url), None) => webhook::check_url(url, &format!("{config_path}.url"), causes),
            (None, Some(service)) => webhook::check_service(service, &format!("{config_path}.service"), causes),
            _ => causes.push(Cause::required_as(config_path, "exactly one of url or service is required")),
        },
    }
    if reviews.is_empty() {
        causes.push(Cause::required(reviews_path));
        return;
    }
    for (at, review) in reviews.iter().enumerate() {
        let path = format!("{reviews_path}[{at}]");
        let fault = label_fault(review);
        if reviews.iter().take(at).any(|before| before == review) {
            causes.push(Cause::invalid(&path, &review.as_str().into(), "duplicate version"));
        } else if !fault.is_empty() {
            causes.push(Cause::invalid(&path, &review.as_str().into(), &fault));
        }
    }
    if !reviews.iter().any(|review| REVIEWS.contains(&review.as_str())) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        causes.push(Cause::invalid(reviews_path, &json!(reviews), &detail));
    }
}
