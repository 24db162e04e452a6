//! Exchanges that are long by nature: a body that is sent for minutes, an answer that never ends. They have no limit on
//! silence, and the second takes no slot: it would hold it for ever.

use bytes::BytesMut;
use http::{HeaderMap, Method, header};
use tokio::time::{Instant, timeout_at};

use super::{Request, Wire};
use crate::answer::Answer;
use crate::compressed::plain;
use crate::push::Upload;
use crate::{RedfishError, Reference};

impl Wire {
    /// Sends `file` to `to` and reads the answer.
    pub(crate) async fn upload(
        &self,
        to: &Reference,
        kind: &str,
        file: Upload,
        authenticate: &HeaderMap,
        until: Instant,
    ) -> Result<Answer, RedfishError> {
        let request = Request { method: &Method::POST, to, body: None, if_match: None };
        let start = Instant::now();
        let late = || RedfishError::Timeout { method: Method::POST, url: self.url(to), after: start.elapsed() };
        let exchange = async {
            let _slot = self.slots.acquire().await;
            let outgoing = self
                .patient()?
                .post(self.url(to))
                .headers(authenticate.clone())
                .header(header::ACCEPT, "application/json")
                .header("OData-Version", "4.0")
                .header(header::CONTENT_TYPE, kind)
                .header(header::CONTENT_LENGTH, file.length)
                .body(reqwest::Body::wrap_stream(file.bytes));
            let answer = outgoing.send().await.map_err(|error| self.explain(request, &error, true))?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = self.read(request, answer).await?;
            tracing::debug!(url = self.url(to), status = status.as_u16(), bytes = file.length, "redfish upload");
            Ok(Answer { status, headers, body })
        };
        timeout_at(until, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    /// Opens the answer of `at` without reading it; by `until` its head must have come.
    pub(crate) async fn open(
        &self,
        at: &Reference,
        authenticate: &HeaderMap,
        user: &str,
        until: Instant,
    ) -> Result<reqwest::Response, RedfishError> {
        let request = Request { method: &Method::GET, to: at, body: None, if_match: None };
        let outgoing = self
            .patient()?
            .get(self.url(at))
            .headers(authenticate.clone())
            .header(header::ACCEPT, "text/event-stream")
            .header("OData-Version", "4.0");
        let late = |_| RedfishError::Timeout { method: Method::GET, url: self.url(at), after: self.options.deadline };
        let answer = timeout_at(until, outgoing.send()).await.map_err(late)?;
        let mut answer = answer.map_err(|error| self.explain(request, &error, false))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut body = BytesMut::new();
        while let Ok(Ok(Some(chunk))) = timeout_at(until, answer.chunk()).await {
            if body.len() + chunk.len() > self.body_limit {
                break;
            }
            body.extend_from_slice(&chunk);
        }
        let body = plain(body.freeze(), self.body_limit).unwrap_or_default();
        let refusal = Answer { status, headers, body }.refusal(&Method::GET, &self.url(at), user);
        Err(refusal.unwrap_or_else(|| RedfishError::Body {
            method: Method::GET,
            url: self.url(at),
            problem: "no stream of events".to_owned(),
        }))
    }

    /// The client of long exchanges, which speaks by rustls alone.
    fn patient(&self) -> Result<&reqwest::Client, RedfishError> {
        #[cfg(feature = "legacy-tls")]
        if self.legacy.as_ref().is_some_and(super::legacy::Legacy::is_needed) {
            return Err(RedfishError::Handshake {
                url: self.url(&Reference::root()),
                why: "it speaks only old tls, by which neither files nor streams of events are carried; let it fetch \
                      the file from a server, and read its log instead of its events"
                    .to_owned(),
                old: false,
            });
        }
        if let Some(client) = self.patient.get() {
            return Ok(client);
        }
        let made = self.another(None)?;
        Ok(self.patient.get_or_init(|| made))
    }
}
