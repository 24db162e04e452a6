//! ETags: a hash of the body as it is served, in the form that the host's behaviour asks for, and what `If-Match` does.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use http::HeaderMap;
use http::header::IF_MATCH;
use serde_json::Value;

use super::answer::Answer;
use super::behaviour::{Etags, IfMatch};
use super::json::{set, text};
use super::service::Service;

impl Service {
    fn etag_style(&self) -> Etags {
        let seeded = || {
            let system = self.tree.system().and_then(|path| self.tree.get(path));
            match system.and_then(|system| text(system, "@odata.etag")) {
                None => Etags::Off,
                Some(etag) if etag.starts_with("W/") => Etags::Weak,
                Some(_) => Etags::Strong,
            }
        };
        match self.behaviour().etags {
            Etags::AsSeed => seeded(),
            style => style,
        }
    }

    /// Puts the ETag into the body and gives it.
    pub(super) fn stamp(&self, body: &mut Value) -> Option<String> {
        if let Some(object) = body.as_object_mut() {
            object.remove("@odata.etag");
        }
        let mut hasher = DefaultHasher::new();
        body.to_string().hash(&mut hasher);
        let hash = hasher.finish();
        let etag = match self.etag_style() {
            Etags::Weak => format!("W/\"{hash:016x}\""),
            Etags::Strong => format!("\"{hash:016x}\""),
            Etags::Off | Etags::AsSeed => return None,
        };
        set(body, "@odata.etag", etag.as_str());
        Some(etag)
    }

    /// Whether a write to this body may go on.
    pub(super) fn check_if_match(&self, body: Value, headers: &HeaderMap) -> Result<(), Answer> {
        let mut body = body;
        let Some(etag) = self.stamp(&mut body) else { return Ok(()) };
        let sent = headers.get(IF_MATCH).map(|value| String::from_utf8_lossy(value.as_bytes()));
        let wanted = match self.behaviour().if_match {
            IfMatch::Ignored => return Ok(()),
            IfMatch::Required if sent.is_none() => {
                let sentence = "If-Match is needed";
                return Err(Answer::error(428, "PreconditionRequired", sentence, &[]));
            }
            IfMatch::StrongOnly => etag.trim_start_matches("W/"),
            IfMatch::Checked | IfMatch::Required => etag.as_str(),
        };
        match sent.as_deref() {
            None | Some("*") => Ok(()),
            Some(sent) if sent == wanted => Ok(()),
            Some(_) => Err(precondition_failed()),
        }
    }
}

/// 412.
pub(super) fn precondition_failed() -> Answer {
    Answer::error(412, "PreconditionFailed", "the ETag does not match", &[])
}
