//! A deadline on whole requests, so that a client that sends its body by the drop does not hold a connection for ever.
//! Not for the stream, which watches over itself.

use std::time::Duration;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::refusal::Refuse;

/// From a request's head to its answer: bodies are a few kilobytes, and answers ask the Kubernetes API a few questions.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

pub(super) async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(REQUEST_DEADLINE, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let seconds = REQUEST_DEADLINE.as_secs();
            Refuse::later(format!("the request was not complete and answered within {seconds} s")).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::{Body, Bytes};
    use axum::http::StatusCode;
    use axum::routing::post;
    use tower::Service;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_not_waited_for() {
        let handler = post(|body: Bytes| async move { format!("{} bytes", body.len()) });
        let mut router: Router = Router::new().route("/", handler).route_layer(axum::middleware::from_fn(in_time));
        let endless = futures::stream::pending::<Result<Bytes, std::convert::Infallible>>();
        for (body, wanted) in
            [(Body::from_stream(endless), StatusCode::SERVICE_UNAVAILABLE), (Body::from("whole"), StatusCode::OK)]
        {
            let request = Request::post("/").body(body).unwrap();
            assert_eq!(router.call(request).await.unwrap().status(), wanted);
        }
    }
}
