//! Who may come in: holders of a certificate of our authority (checked by TLS), or of the administrator's token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::header;
use subtle::ConstantTimeEq as _;

use crate::status::ApiError;

/// The administrator's bearer token. Does not print.
#[derive(Clone)]
pub(super) struct Token(Arc<str>);

impl Token {
    pub(super) fn new(token: String) -> Self {
        Self(token.into())
    }

    fn is(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

/// What is known of a connection.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) token: Token,
    /// The client proved a certificate of our authority.
    pub(super) certified: bool,
}

/// Paths that anyone may read, as upstream.
const OPEN_PATHS: &[&str] = &["/healthz", "/readyz", "/livez", "/version"];

pub(super) async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    if gate.certified || OPEN_PATHS.contains(&request.uri().path()) {
        return next.run(request).await;
    }
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
    match token {
        Some((_, token)) if gate.token.is(token.trim()) => next.run(request).await,
        _ => ApiError::unauthorized().into_response(),
    }
}
