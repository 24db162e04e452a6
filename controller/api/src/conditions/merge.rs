//! What [`Summary`](super::Summary) and [`Aggregate`](super::Aggregate) have in common: issues count more than the
//! unknown, and the unknown more than what is well.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::Status;

/// How much a condition counts when it is merged with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Something is wrong.
    Issue,
    /// Nobody can tell.
    Unknown,
    /// All is well.
    Info,
}

impl Priority {
    /// Of a condition that is well when `True`, or when `False` if its polarity is `negative`.
    #[must_use]
    pub fn of(condition: &Condition, negative: bool) -> Self {
        match (Status::from_text(&condition.status), negative) {
            (Status::True, false) | (Status::False, true) => Self::Info,
            (Status::True, true) | (Status::False, false) => Self::Issue,
            (Status::Unknown, _) => Self::Unknown,
        }
    }

    /// The status of a condition that is well when `True`, or when `False` if its polarity is `negative`.
    pub(super) fn status(self, negative: bool) -> Status {
        match self {
            Self::Issue => Status::from(negative),
            Self::Unknown => Status::Unknown,
            Self::Info => Status::from(!negative),
        }
    }
}

/// The reason of a merged condition, by the worst of what it was merged from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reasons {
    /// If there is an issue.
    pub issue: &'static str,
    /// If there is none, but something unknown.
    pub unknown: &'static str,
    /// If all is well.
    pub info: &'static str,
}

impl Default for Reasons {
    fn default() -> Self {
        Self { issue: "IssuesReported", unknown: "UnknownReported", info: "InfoReported" }
    }
}

impl Reasons {
    pub(super) fn of(self, priority: Priority) -> &'static str {
        match priority {
            Priority::Issue => self.issue,
            Priority::Unknown => self.unknown,
            Priority::Info => self.info,
        }
    }
}
