//! What came of a write, for people and for programs.

use bessemer_bmc::ReadBack;
use serde::Serialize;

/// A write that the BMC accepted and that was read back.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    /// What was asked for.
    pub(super) act: String,
    /// `confirmed`, `pending` or `unverifiable`.
    read_back: &'static str,
    /// Why it is not confirmed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Which part of the BMC it happened to.
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl Outcome {
    pub(super) fn new(act: String, read_back: ReadBack) -> Self {
        let (read_back, why) = match read_back {
            ReadBack::Confirmed => ("confirmed", None),
            ReadBack::Pending(why) => ("pending", Some(why)),
            ReadBack::Unverifiable(why) => ("unverifiable", Some(why)),
        };
        Self { act, read_back, why, at: None }
    }

    pub(super) fn at(self, place: String) -> Self {
        Self { at: Some(place), ..self }
    }

    pub(super) fn line(&self) -> String {
        let place = self.at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let why = self.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{}{place}: {}{why}\n", self.act, self.read_back)
    }
}
