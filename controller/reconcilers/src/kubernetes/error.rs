//! Why a reconcile could not be finished.

/// The Kubernetes API did not do as asked. Everything else that can go wrong ends in a status, not in an error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReconcileError {
    /// Somebody else wrote first; decide again on what is there now.
    #[error("{what} was changed meanwhile")]
    Conflict {
        /// The object.
        what: String,
    },
    /// Anything else.
    #[error("cannot {act} {what}")]
    Api {
        /// `read`, `patch`, …
        act: &'static str,
        /// The object.
        what: String,
        /// What the client says.
        #[source]
        source: Box<kube::Error>,
    },
    /// An object of ours does not have the shape it was given.
    #[error("cannot handle {what}: {why}")]
    Shape {
        /// The object.
        what: String,
        /// What is wrong with it.
        why: String,
    },
}

/// Names what was asked, on the way from a client's error to ours.
pub(crate) trait Asking<T> {
    /// `act` is a verb, `what` the object.
    fn asking(self, act: &'static str, what: impl std::fmt::Display) -> Result<T, ReconcileError>;
}

impl<T> Asking<T> for Result<T, kube::Error> {
    fn asking(self, act: &'static str, what: impl std::fmt::Display) -> Result<T, ReconcileError> {
        self.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 409 => ReconcileError::Conflict { what: what.to_string() },
            error => ReconcileError::Api { act, what: what.to_string(), source: Box::new(error) },
        })
    }
}
