//! What a definition says of conversion between its versions.

use serde_json::{Value, json};

use super::names::label_fault;
use super::{text, texts};
use crate::status::Cause;

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
            (Some(url), None) => check_url(url, causes),
            (None, Some(service)) => check_service(service, causes),
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

fn check_url(url: &str, causes: &mut Vec<Cause>) {
    let path = "spec.conversion.webhookClientConfig.url";
    let form = "; desired format: https://host[/path]";
    let Some((scheme, rest)) = url.split_once("://") else {
        causes.push(Cause::invalid(
            path,
            &url.split(':').next().unwrap_or_default().into(),
            &format!("'https' is the only allowed URL scheme{form}"),
        ));
        return;
    };
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if scheme != "https" {
        causes.push(Cause::invalid(path, &scheme.into(), &format!("'https' is the only allowed URL scheme{form}")));
    }
    if host.is_empty() {
        causes.push(Cause::invalid(path, &host.into(), &format!("host must be specified{form}")));
    }
    if !user.is_empty() {
        causes.push(Cause::invalid(path, &user.into(), "user information is not permitted in the URL"));
    }
    if !fragment.is_empty() {
        causes.push(Cause::invalid(path, &fragment.into(), "fragments are not permitted in the URL"));
    }
    if !query.is_empty() {
        causes.push(Cause::invalid(path, &query.into(), "query parameters are not permitted in the URL"));
    }
}

fn check_service(service: &Value, causes: &mut Vec<Cause>) {
    let base = "spec.conversion.webhookClientConfig.service";
    for name in ["name", "namespace"] {
        if text(service, &format!("/{name}")).is_empty() {
            causes.push(Cause::required(&format!("{base}.{name}")));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65_535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(&format!("{base}.port"), &port.into(), detail));
    }
    let Some(path) = service.get("path").and_then(Value::as_str) else { return };
    let field = format!("{base}.path");
    let mut fault = |detail: &str| causes.push(Cause::invalid(&field, &path.into(), detail));
    if !path.starts_with('/') {
        fault("must start with a '/'");
    }
    let inner = path.strip_prefix('/').unwrap_or(path.get(1..).unwrap_or_default());
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if path.is_empty() || path == "/" {
        return;
    }
    for (at, segment) in inner.split('/').enumerate() {
        if segment.is_empty() {
            fault(&format!("segment[{at}] may not be empty"));
            continue;
        }
        let why = super::names::subdomain_fault(segment);
        if !why.is_empty() {
            fault(&format!("segment[{at}]: {why}"));
        }
    }
}
