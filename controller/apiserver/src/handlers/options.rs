//! The options of a write: whether it is only tried, how strict unknown fields are, and in whose name it is done.

use super::Call;
use crate::request::Query;
use crate::status::{ApiError, Cause, Subject};

/// Longest name of a field manager, in bytes.
const LONGEST_MANAGER: usize = 128;

/// Which write the options are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Create,
    Update,
    Patch,
    Apply,
}

impl Verb {
    fn kind(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Patch | Self::Apply => "PatchOptions",
        }
    }
}

/// What happens to fields that the schema does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) dry_run: bool,
    pub(super) validation: FieldValidation,
    /// The name that fields are owned under.
    pub(super) manager: String,
    /// The write says what to change rather than what to be.
    pub(super) is_patch: bool,
    /// An apply takes what others own.
    pub(super) force: bool,
}

impl Options {
    /// The options of a request, checked as upstream checks them.
    pub(super) fn parse(call: &Call, verb: Verb) -> Result<Self, ApiError> {
        let query = &call.query;
        let mut causes = Vec::new();
        let manager = query.get("fieldManager");
        if verb == Verb::Apply && manager.is_empty() {
            causes.push(Cause::required_as("fieldManager", "is required for apply patch"));
        }
        if verb == Verb::Patch && !query.get("force").is_empty() {
            causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
        }
        if manager.len() > LONGEST_MANAGER {
            causes.push(Cause::too_long("fieldManager", LONGEST_MANAGER as u64));
        }
        for (at, letter) in manager.char_indices().filter(|(_, letter)| !is_printable(*letter)) {
            let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
            causes.push(Cause::invalid("fieldManager", &manager.into(), &detail));
        }
        causes.extend(unsupported_dry_run(query));
        let validation = match query.get("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "" | "Warn" => FieldValidation::Warn,
            "Strict" => FieldValidation::Strict,
            other => {
                let allowed = ["", "Ignore", "Strict", "Warn"].map(Into::into);
                causes.push(Cause::unsupported("fieldValidation", &other.into(), &allowed));
                FieldValidation::Warn
            }
        };
        if !causes.is_empty() {
            let subject = Subject { group: "meta.k8s.io".into(), kind: verb.kind().into(), name: String::new() };
            return Err(ApiError::invalid(subject, causes));
        }
        let manager = if manager.is_empty() { from_user_agent(call) } else { manager.to_owned() };
        let dry_run = query.has("dryRun");
        let is_patch = matches!(verb, Verb::Patch | Verb::Apply);
        Ok(Self { dry_run, validation, manager, is_patch, force: query.flag("force") })
    }

    /// The options of a write that the server makes by itself.
    pub(super) fn of_the_server() -> Self {
        Self {
            dry_run: false,
            validation: FieldValidation::Ignore,
            manager: "bessemer".to_owned(),
            is_patch: false,
            force: false,
        }
    }
}

fn unsupported_dry_run(query: &Query) -> Option<Cause> {
    let found = query.all("dryRun");
    let listed = found.iter().any(|what| *what != "All").then(|| serde_json::json!(found))?;
    Some(Cause::unsupported("dryRun", &listed, &["All".into()]))
}

/// The name a client is known by when it gives none: its User-Agent up to the first slash.
fn from_user_agent(call: &Call) -> String {
    let agent = call.headers.get(http::header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    let mut name = String::new();
    for letter in agent.split('/').next().unwrap_or_default().chars().filter(|letter| is_printable(*letter)) {
        if name.len() + letter.len_utf8() > LONGEST_MANAGER {
            break;
        }
        name.push(letter);
    }
    name
}

/// As Go's `unicode.IsPrint`, close enough: no controls, and no space but the plain one.
fn is_printable(letter: char) -> bool {
    letter == ' ' || !(letter.is_control() || letter.is_whitespace())
}
