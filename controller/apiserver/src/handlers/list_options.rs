//! The parameters of list and watch: which combinations are allowed, and what they mean. Texts of errors are
//! upstream's.

use serde_json::Value;

use super::Call;
use super::page::Token;
use crate::selector::Selector;
use crate::status::{ApiError, Cause, Subject};

/// Which state a list shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The present one, which must not be older than this version.
    Newest(u64),
    /// The one at this version.
    Exact(u64),
    /// What follows a page.
    After(Token),
}

/// The options of a list.
#[derive(Debug)]
pub(super) struct ListOptions {
    pub(super) selector: Selector,
    pub(super) wanted: Wanted,
    /// Most objects answered; zero is no limit.
    pub(super) limit: usize,
}

/// The options of a watch.
#[derive(Debug)]
pub(super) struct WatchOptions {
    pub(super) selector: Selector,
    /// Changes after this version are sent; zero is now.
    pub(super) from: u64,
    /// Whether the present state is sent first.
    pub(super) initial: bool,
    pub(super) bookmarks: bool,
    /// Seconds until the watch ends.
    pub(super) timeout: Option<u64>,
}

fn selector(call: &Call) -> Result<Selector, ApiError> {
    Selector::parse(&call.resource, call.query.get("labelSelector"), call.query.get("fieldSelector"))
}

impl ListOptions {
    pub(super) fn parse(call: &Call) -> Result<Self, ApiError> {
        let query = &call.query;
        let limit = integer(query.get("limit"))?;
        integer(query.get("timeoutSeconds"))?;
        let (version, matching, after) =
            (query.get("resourceVersion"), query.get("resourceVersionMatch"), query.get("continue"));
        check(list_causes(version, matching, after, query.has("sendInitialEvents")))?;
        let selector = selector(call)?;
        // From any version, upstream answers out of its cache, whole.
        let limit = if version == "0" { 0 } else { usize::try_from(limit).unwrap_or_default() };
        if !after.is_empty() {
            if !matches!(version, "" | "0") {
                return Err(ApiError::bad_request("specifying resource version is not allowed when using continue"));
            }
            return Ok(Self { selector, wanted: Wanted::After(Token::decode(after)?), limit });
        }
        let number =
            parse_version(version).map_err(|why| ApiError::bad_request(format!("invalid resource version: {why}")))?;
        let exact = matching == "Exact" || (matching.is_empty() && limit > 0 && number > 0);
        Ok(Self { selector, wanted: if exact { Wanted::Exact(number) } else { Wanted::Newest(number) }, limit })
    }
}

impl WatchOptions {
    pub(super) fn parse(call: &Call) -> Result<Self, ApiError> {
        let query = &call.query;
        integer(query.get("limit"))?;
        let timeout = integer(query.get("timeoutSeconds"))?;
        let (version, mut matching) = (query.get("resourceVersion"), query.get("resourceVersionMatch"));
        let mut initial = query.has("sendInitialEvents").then(|| query.flag("sendInitialEvents"));
        if initial.is_none() && matching.is_empty() && matches!(version, "" | "0") {
            (initial, matching) = (Some(true), "NotOlderThan");
        }
        check(watch_causes(matching, query.get("continue"), initial.is_some()))?;
        let selector = selector(call)?;
        let from = parse_version(version).map_err(ApiError::unexplained)?;
        Ok(Self {
            selector,
            from,
            initial: initial.unwrap_or_default(),
            bookmarks: query.flag("allowWatchBookmarks"),
            timeout: u64::try_from(timeout).ok().filter(|seconds| *seconds > 0),
        })
    }
}

fn check(causes: Vec<Cause>) -> Result<(), ApiError> {
    let subject = Subject { group: "meta.k8s.io".into(), kind: "ListOptions".into(), name: String::new() };
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(subject, causes)) }
}

const MATCH: &str = "resourceVersionMatch";

fn list_causes(version: &str, matching: &str, after: &str, initial: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut forbid = |field: &str, detail: &str| causes.push(Cause::forbidden(field, detail));
    if !matching.is_empty() {
        if version.is_empty() {
            forbid(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !after.is_empty() {
            forbid(MATCH, "resourceVersionMatch is forbidden when continue is provided");
        }
    }
    if matching == "Exact" && version == "0" {
        forbid(MATCH, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    }
    if initial {
        forbid("sendInitialEvents", "sendInitialEvents is forbidden for list");
    }
    if !matches!(matching, "" | "Exact" | "NotOlderThan") {
        let known = ["Exact", "NotOlderThan", ""].map(Value::from);
        causes.push(Cause::unsupported(MATCH, &matching.into(), &known));
    }
    causes
}

fn watch_causes(matching: &str, after: &str, initial: bool) -> Vec<Cause> {
    let mut causes = Vec::new();
    if initial && matching != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        causes.push(Cause::forbidden(MATCH, detail));
    }
    if !matching.is_empty() {
        if !initial {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            causes.push(Cause::forbidden(MATCH, detail));
        }
        if matching != "NotOlderThan" {
            causes.push(Cause::unsupported(MATCH, &matching.into(), &["NotOlderThan".into()]));
        }
        if !after.is_empty() {
            causes.push(Cause::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    causes
}

/// A whole number in a query; zero when absent.
pub(super) fn integer(text: &str) -> Result<i64, ApiError> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|error: std::num::ParseIntError| {
        ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {}", number_problem(&error)))
    })
}

/// A resource version in a query; zero when absent.
pub(super) fn parse_version(text: &str) -> Result<u64, String> {
    let text = if text.is_empty() { "0" } else { text };
    // A plus sign is no part of a version, though Rust takes it.
    let parsed = if text.starts_with('+') { "+".parse::<u64>() } else { text.parse() };
    parsed.map_err(|error| {
        let why = number_problem(&error);
        format!("resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {why}")
    })
}

fn number_problem(error: &std::num::ParseIntError) -> &'static str {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    if matches!(error.kind(), PosOverflow | NegOverflow) { "value out of range" } else { "invalid syntax" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(causes: Vec<Cause>) -> Vec<String> {
        causes.iter().map(Cause::line).collect()
    }

    #[test]
    fn list_combinations() {
        let cases: [(&str, &str, &str, bool, &[&str]); 6] = [
            ("1", "Exact", "", false, &[]),
            ("", "", "t", false, &[]),
            (
                "",
                "Exact",
                "",
                false,
                &[
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
                ],
            ),
            (
                "0",
                "Exact",
                "",
                false,
                &[
                    "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ],
            ),
            (
                "1",
                "Bogus",
                "",
                false,
                &[
                    "resourceVersionMatch: Unsupported value: \"Bogus\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
                ],
            ),
            (
                "1",
                "Exact",
                "t",
                true,
                &[
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
                    "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
                ],
            ),
        ];
        for (version, matching, after, initial, wanted) in cases {
            assert_eq!(texts(list_causes(version, matching, after, initial)), wanted, "{version} {matching} {after}");
        }
    }

    #[test]
    fn versions_are_numbers() {
        assert_eq!(parse_version(""), Ok(0));
        assert_eq!(parse_version("18446744073709551615"), Ok(u64::MAX));
        for (text, why) in [("abc", "invalid syntax"), ("-1", "invalid syntax"), ("+1", "invalid syntax")] {
            let wanted =
                format!("resourceVersion: Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": {why}");
            assert_eq!(parse_version(text), Err(wanted));
        }
        assert!(parse_version("99999999999999999999").unwrap_err().ends_with("value out of range"));
    }
}
