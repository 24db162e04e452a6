//! Where a webhook may be: the rules that all kinds with webhooks share. Nothing is called from here.

use serde_json::Value;

use crate::names::NameRule;
use crate::status::Cause;

/// Adds the faults of an address.
pub(crate) fn check_url(url: &str, path: &str, causes: &mut Vec<Cause>) {
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

/// Adds the faults of a reference to a Service.
pub(crate) fn check_service(service: &Value, base: &str, causes: &mut Vec<Cause>) {
    // Upstream takes one for the other.
    for (name, looked_at) in [("name", "namespace"), ("namespace", "name")] {
        if service.get(looked_at).and_then(Value::as_str).is_none_or(str::is_empty) {
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
        for why in NameRule::Subdomain.problems(segment) {
            fault(&format!("segment[{at}]: {why}"));
        }
    }
}
