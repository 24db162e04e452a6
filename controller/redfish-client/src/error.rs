//! Why a call did not give what was asked for.

use std::time::Duration;

use http::{Method, StatusCode};

use crate::Fault;

/// Why a call did not give what was asked for. No variant ever carries a password, a token or a request's body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedfishError {
    /// The service's address cannot be used; only another one heals it.
    #[error("redfish service {url:?}: {problem}")]
    Address {
        /// As given, without user and password.
        url: String,
        /// What is wrong and what is accepted.
        problem: String,
    },
    /// The trust that was asked for cannot be set up.
    #[error("trust for {url}: {problem}")]
    Trust {
        /// The service.
        url: String,
        /// What is wrong with the certificates given.
        problem: String,
    },
    /// The service's certificate is not trusted.
    #[error("{url}: its certificate is not trusted: {why}")]
    Certificate {
        /// The service.
        url: String,
        /// What the verifier said, with the remedy.
        why: String,
    },
    /// No TLS with what answers there: it speaks none, or none that is safe.
    #[error("{url}: no tls with it: {why}")]
    Handshake {
        /// The service.
        url: String,
        /// What rustls said, with the remedy.
        why: String,
        /// Whether a client that speaks old TLS might get through.
        old: bool,
    },
    /// No connection, or it broke.
    #[error("{method} {url}: {why}")]
    Connection {
        /// The request.
        method: Method,
        /// The resource.
        url: String,
        /// What the network said.
        why: String,
        /// Whether the request may have reached the service.
        sent: bool,
    },
    /// Nothing came back in time.
    #[error("{method} {url}: no answer within {after:?}")]
    Timeout {
        /// The request.
        method: Method,
        /// The resource.
        url: String,
        /// How long was waited.
        after: Duration,
    },
    /// The user or password is refused. Trying again may lock the account.
    #[error("{url}: 401 for user {user:?}: {fault}")]
    Unauthorized {
        /// Where.
        url: String,
        /// Who; empty when no login was given.
        user: String,
        /// What the service says.
        fault: Fault,
    },
    /// The account works, but nothing else does until its first password is changed.
    #[error("{url}: the password of user {user:?} must be changed before anything else ({fault})")]
    PasswordChangeRequired {
        /// Where.
        url: String,
        /// Who.
        user: String,
        /// What the service says.
        fault: Fault,
    },
    /// The service refused, for a reason of its own.
    #[error("{method} {url}: {status}: {fault}")]
    Refused {
        /// The request.
        method: Method,
        /// The resource.
        url: String,
        /// HTTP status.
        status: StatusCode,
        /// What the service says.
        fault: Fault,
    },
    /// A success whose body is not the JSON object it should be.
    #[error("{method} {url}: {problem}")]
    Body {
        /// The request.
        method: Method,
        /// The resource.
        url: String,
        /// What came instead.
        problem: String,
    },
    /// The service answers from somewhere it must not.
    #[error("{method} {url}: redirects to {location:?}: {problem}")]
    Redirect {
        /// The request.
        method: Method,
        /// The resource.
        url: String,
        /// Where it points.
        location: String,
        /// Why that is not followed.
        problem: String,
    },
    /// A resource lacks something without which the call cannot be made.
    #[error("{resource} has no {what}")]
    Missing {
        /// The resource.
        resource: String,
        /// What it lacks.
        what: String,
    },
    /// A task ended otherwise than well.
    #[error("task {task} ended {state}: {fault}")]
    Task {
        /// The task.
        task: String,
        /// Its state and status.
        state: String,
        /// Its messages.
        fault: Fault,
    },
    /// A task was still running at the deadline.
    #[error("task {task} is still {state} after {after:?}")]
    TaskUnfinished {
        /// The task.
        task: String,
        /// Its state.
        state: String,
        /// How long was waited.
        after: Duration,
    },
}

impl RedfishError {
    /// The HTTP status, where the service refused with one.
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            Self::Unauthorized { .. } => Some(StatusCode::UNAUTHORIZED),
            _ => None,
        }
    }

    /// The service's own words, where it refused.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Refused { fault, .. }
            | Self::Unauthorized { fault, .. }
            | Self::PasswordChangeRequired { fault, .. }
            | Self::Task { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// Whether the resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        matches!(self.status(), Some(StatusCode::NOT_FOUND | StatusCode::GONE))
    }

    /// Whether the same call may succeed later with nobody changing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Timeout { .. } | Self::Body { .. } | Self::TaskUnfinished { .. } => true,
            Self::Refused { status, .. } => status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS,
            _ => false,
        }
    }
}
