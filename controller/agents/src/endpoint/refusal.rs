//! Refusals as the protocol has them: a status and a [`Refusal`].

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bessemer_protocol::Refusal;
use bessemer_reconcilers::outside::Refused;

/// Seconds after which a request refused for now may come again: the things waited for are made by reconcilers within a
/// second or two.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("2");

/// One refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refuse {
    status: StatusCode,
    message: String,
    speaks: Option<u32>,
}

impl Refuse {
    fn new(status: StatusCode, message: impl std::fmt::Display) -> Self {
        Self { status, message: message.to_string(), speaks: None }
    }

    /// Not proven who is asking.
    pub(super) fn unauthorised(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    /// Known who is asking, and no.
    pub(super) fn forbidden(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    /// The request itself is wrong.
    pub(super) fn bad_request(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// It contradicts what is so already.
    pub(super) fn conflict(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    /// The other side speaks no version that is spoken here.
    pub(super) fn version(refusal: Refusal) -> Self {
        Self { status: StatusCode::CONFLICT, message: refusal.message, speaks: refusal.speaks }
    }

    /// More than this endpoint takes.
    pub(super) fn too_many(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, message)
    }

    /// It was good once.
    pub(super) fn gone(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::GONE, message)
    }

    /// Not now.
    pub(super) fn later(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    /// Our fault.
    pub(super) fn internal(message: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// As a message of a stream that is open already.
    pub(super) fn into_refusal(self) -> Refusal {
        Refusal { retry: self.comes_again(), message: self.message, speaks: self.speaks }
    }

    fn comes_again(&self) -> bool {
        matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
    }

    /// What the objects say.
    pub(super) fn by_authority(whom: &dyn std::fmt::Display, refused: Refused) -> Self {
        tracing::info!(%whom, reason = %refused, retry = refused.retry, "an agent is refused");
        if refused.retry { Self::later(refused) } else { Self::forbidden(refused) }
    }
}

impl IntoResponse for Refuse {
    fn into_response(self) -> Response {
        let (status, retry) = (self.status, self.comes_again());
        let mut response = (status, Json(self.into_refusal())).into_response();
        if retry {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        response
    }
}
