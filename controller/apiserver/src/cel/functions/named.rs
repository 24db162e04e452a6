//! Named formats (`format.dns1123Label().validate(x)`): whether a string has one, with the reasons it has not.

use super::super::eval::{Found, no_overload};
use super::super::value::Value;
use super::Args;
use crate::schema::{Format, go_pattern};

const LABEL_1123: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                          start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
                          validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_1123: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                              '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex \
                              used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an \
                          alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', \
                          regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
                           and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or \
                           '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Name, pattern, longest, and what it says of a string that does not match.
const NAMES: &[(&str, &str, usize, &str)] = &[
    ("dns1123Label", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63, LABEL_1123),
    ("dns1123Subdomain", "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", 253, SUBDOMAIN_1123),
    ("dns1035Label", "^[a-z]([-a-z0-9]*[a-z0-9])?$", 63, LABEL_1035),
    ("labelValue", "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", 63, LABEL_VALUE),
];
/// Formats that schemas have as well.
const SHARED: &[(&str, Format, &str)] = &[
    ("uri", Format::Uri, "invalid URI for request"),
    ("uuid", Format::Uuid, "does not match the UUID format"),
    ("byte", Format::Byte, "invalid base64"),
    ("date", Format::Date, "invalid date"),
    ("datetime", Format::DateTime, "invalid datetime"),
];

fn find(name: &str) -> Option<&'static str> {
    let names = NAMES.iter().map(|(name, ..)| *name).chain(SHARED.iter().map(|(name, ..)| *name));
    let others = ["qualifiedName", "dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix"];
    names.chain(others).find(|known| *known == name)
}

pub(super) fn function<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    match (name.strip_prefix("format."), args) {
        (Some("named"), [Value::Text(name)]) => {
            Ok(find(name).map_or(Value::Optional(None), |name| Value::some(Value::Format(name))))
        }
        (Some(name), []) => find(name).map_or_else(no_overload, |name| Ok(Value::Format(name))),
        _ => no_overload(),
    }
}

pub(super) fn validate<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    let [Value::Text(text)] = args else { return no_overload() };
    let faults = faults(name, text);
    if faults.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(faults.into_iter().map(Value::text).collect())))
}

fn faults(name: &str, text: &str) -> Vec<String> {
    if let Some((_, format, fault)) = SHARED.iter().find(|(known, ..)| *known == name) {
        return if format.fits(text) { Vec::new() } else { vec![(*fault).to_owned()] };
    }
    if name == "qualifiedName" {
        let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
        let mut found = prefix.map_or_else(Vec::new, |prefix| faults("dns1123Subdomain", prefix));
        if name.is_empty() {
            found.push("name part must be non-empty".to_owned());
        }
        found.extend(faults("labelValue", name));
        return found;
    }
    // A prefix may end in a dash, since more follows.
    let (name, text) = match name.strip_suffix("Prefix") {
        Some(name) => (name, text.strip_suffix('-').unwrap_or(text)),
        None => (name, text),
    };
    let Some((_, pattern, longest, fault)) = NAMES.iter().find(|(known, ..)| *known == name) else { return Vec::new() };
    let mut found = Vec::new();
    if text.len() > *longest {
        found.push(format!("must be no more than {longest} bytes"));
    }
    if !go_pattern(pattern).is_ok_and(|pattern| pattern.is_match(text)) {
        found.push((*fault).to_owned());
    }
    found
}
