//! Whether a request is made again, and after which pause. Pure: the clock and the dice are the caller's.

use std::time::Duration;

use http::{Method, StatusCode};

use crate::RedfishError;

/// The first pause; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// What is known of a failed attempt.
pub(crate) struct Failure<'a> {
    pub(crate) method: &'a Method,
    pub(crate) error: &'a RedfishError,
    /// Seconds the service asked to be left alone for.
    pub(crate) retry_after: Option<Duration>,
}

/// Whether making the request again can do no harm and may help.
pub(crate) fn is_worth_another(failure: &Failure<'_>) -> bool {
    let harmless = failure.method == Method::GET || failure.method == Method::HEAD;
    match failure.error {
        // A kept connection that the service has closed is found out by using it. Setting the same values again, and
        // deleting again, does no harm; a post never uses a kept connection.
        RedfishError::Connection { sent, .. } => failure.method != Method::POST || !sent,
        // A body that is no JSON comes from a proxy or a service that is still starting.
        RedfishError::Timeout { .. } | RedfishError::Body { .. } => harmless,
        RedfishError::Refused { status, fault, .. } => match *status {
            // Refused before anything was done: the service says so itself.
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => true,
            status if status.is_server_error() => {
                harmless && status != StatusCode::NOT_IMPLEMENTED || fault.has("SYS518")
            }
            _ => fault.has("SYS518"),
        },
        _ => false,
    }
}

/// Whether the request surely never reached the service.
pub(crate) fn is_unsent(failure: &Failure<'_>) -> bool {
    matches!(failure.error, RedfishError::Connection { sent: false, .. })
}

/// The pause before attempt `next` (the second is 1): what the service asked for, else twice the one before, up to
/// `longest`, spread by `dice` (0 to 1) so that many clients do not come back at once.
pub(crate) fn pause(next: u32, retry_after: Option<Duration>, longest: Duration, dice: f64) -> Duration {
    let doubled = FIRST_PAUSE.saturating_mul(1 << next.saturating_sub(1).min(16)).min(longest);
    let spread = doubled.mul_f64(0.5 + dice.clamp(0.0, 1.0) / 2.0);
    match retry_after {
        // Never earlier than asked, unless it asks for longer than we are ready to wait.
        Some(asked) => asked.min(longest).max(spread),
        None => spread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Fault;

    fn refused(status: u16, body: &str) -> RedfishError {
        RedfishError::Refused {
            method: Method::GET,
            url: String::new(),
            status: StatusCode::from_u16(status).unwrap(),
            fault: Fault::read(body.as_bytes()),
        }
    }

    fn broken(sent: bool) -> RedfishError {
        RedfishError::Connection { method: Method::GET, url: String::new(), why: String::new(), sent }
    }

    #[test]
    fn what_is_tried_again() {
        const SYS518: &str = r#"{"error":{"@Message.ExtendedInfo":[{"MessageId":"IDRAC.2.8.SYS518"}]}}"#;
        let cases = [
            (Method::GET, broken(true), true),
            (Method::POST, broken(true), false),
            (Method::PATCH, broken(true), true),
            (Method::DELETE, broken(true), true),
            (Method::POST, broken(false), true),
            (Method::GET, refused(500, ""), true),
            (Method::PATCH, refused(500, ""), false),
            (Method::PATCH, refused(500, SYS518), true),
            (Method::POST, refused(503, ""), true),
            (Method::POST, refused(429, ""), true),
            (Method::GET, refused(501, ""), false),
            (Method::GET, refused(404, ""), false),
            (Method::POST, refused(400, SYS518), true),
        ];
        for (method, error, wanted) in cases {
            let failure = Failure { method: &method, error: &error, retry_after: None };
            assert_eq!(is_worth_another(&failure), wanted, "{method} {error}");
        }
    }

    #[test]
    fn what_is_done_once_is_tried_again_only_where_it_was_not_sent() {
        let worth = |error: &RedfishError| {
            is_unsent(&Failure { method: &Method::POST, error, retry_after: Some(Duration::from_secs(1)) })
        };
        assert!(worth(&broken(false)));
        for error in [broken(true), refused(503, ""), refused(429, ""), refused(400, "")] {
            assert!(!worth(&error), "{error}");
        }
    }

    #[test]
    fn pauses_grow_to_a_ceiling_and_keep_what_was_asked() {
        let longest = Duration::from_secs(30);
        assert_eq!(pause(1, None, longest, 1.0), Duration::from_millis(500));
        assert_eq!(pause(1, None, longest, 0.0), Duration::from_millis(250));
        assert_eq!(pause(4, None, longest, 1.0), Duration::from_secs(4));
        assert_eq!(pause(u32::MAX, None, longest, 1.0), longest);
        assert_eq!(pause(1, Some(Duration::from_secs(9)), longest, 0.0), Duration::from_secs(9));
        assert_eq!(pause(1, Some(Duration::from_secs(900)), longest, 0.0), longest);
    }
}
