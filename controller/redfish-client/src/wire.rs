//! One HTTP exchange with one service, within its limits: requests at once, silence, size of a body, redirects. Knows
//! nothing of sessions or retries.

mod explain;
#[cfg(feature = "legacy-tls")]
mod legacy;
mod long;

use std::sync::OnceLock;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, header};
use reqwest::Url;
use reqwest::redirect::Policy;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use crate::answer::Answer;
use crate::compressed::plain;
use crate::{Options, RedfishError, Reference};

/// Redirects followed for one request.
const REDIRECTS: u32 = 3;

/// A request, apart from who makes it.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a Method,
    pub(crate) to: &'a Reference,
    pub(crate) body: Option<&'a Value>,
    pub(crate) if_match: Option<&'a str>,
}

pub(crate) struct Wire {
    http: reqwest::Client,
    /// As `http`, for posts, each on a connection of its own: of a post on a kept connection that breaks nobody knows
    /// whether it was carried out. Made when the first one is.
    fresh: OnceLock<reqwest::Client>,
    /// As `http`, for exchanges that are long by nature; made when the first one is.
    patient: OnceLock<reqwest::Client>,
    tls: rustls::ClientConfig,
    #[cfg(feature = "legacy-tls")]
    legacy: Option<legacy::Legacy>,
    options: Options,
    base: Url,
    slots: Semaphore,
    read_timeout: Duration,
    body_limit: usize,
}

impl Wire {
    pub(crate) fn new(service: &str, options: &Options) -> Result<Self, RedfishError> {
        let base = explain::base(service)?;
        let trust = |problem: String| RedfishError::Trust { url: base.to_string(), problem };
        let tls = options.trust.client_config().map_err(trust)?;
        let http = http_client(options, &tls, Some(options.read_timeout), options.keep_alive).map_err(trust)?;
        if options.legacy_tls && cfg!(not(feature = "legacy-tls")) {
            return Err(trust("this program was built without legacy tls; build it with the feature".to_owned()));
        }
        #[cfg(feature = "legacy-tls")]
        let legacy = options.legacy_tls.then(|| legacy::Legacy::new(&base, options)).transpose().map_err(trust)?;
        let slots = Semaphore::new(options.concurrency.max(1));
        Ok(Self {
            http,
            fresh: OnceLock::new(),
            patient: OnceLock::new(),
            tls,
            #[cfg(feature = "legacy-tls")]
            legacy,
            options: options.clone(),
            base,
            slots,
            read_timeout: options.read_timeout,
            body_limit: options.body_limit,
        })
    }

    /// Where `reference` is, for people.
    pub(crate) fn url(&self, reference: &Reference) -> String {
        format!("{}{reference}", self.base.as_str().trim_end_matches('/'))
    }

    /// Sends `request` with what `authenticate` adds and reads the whole answer, whatever its status.
    pub(crate) async fn exchange(
        &self,
        request: Request<'_>,
        authenticate: &HeaderMap,
        until: Instant,
    ) -> Result<Answer, RedfishError> {
        let mut path = request.to.as_str().to_owned();
        for _ in 0..=REDIRECTS {
            let answer = self.once(request, &path, authenticate, until).await?;
            if !answer.status.is_redirection() || answer.status == http::StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            path = self.redirected(request, &path, &answer)?;
        }
        Err(RedfishError::Redirect {
            method: request.method.clone(),
            url: self.url(request.to),
            location: path,
            problem: format!("more than {REDIRECTS} redirects"),
        })
    }

    async fn once(
        &self,
        request: Request<'_>,
        path: &str,
        authenticate: &HeaderMap,
        until: Instant,
    ) -> Result<Answer, RedfishError> {
        let url = self.url(request.to);
        let late =
            || RedfishError::Timeout { method: request.method.clone(), url: url.clone(), after: self.read_timeout };
        let _slot = match timeout_at(until, self.slots.acquire()).await {
            Ok(slot) => slot.ok(),
            Err(_) => return Err(late()),
        };
        // Headers are built for each request: one that is left over from the last has broken clients before. Nothing is
        // said of encodings: some change the ETag with them, others refuse any word of them.
        let mut headers = authenticate.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert("OData-Version", HeaderValue::from_static("4.0"));
        if let Some(etag) = request.if_match.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.insert(header::IF_MATCH, etag);
        }
        #[cfg(feature = "legacy-tls")]
        if let Some(legacy) = self.legacy.as_ref().filter(|legacy| legacy.is_needed()) {
            let exchange = legacy.exchange(self, request, path, &headers);
            return timeout_at(until, exchange).await.unwrap_or_else(|_| Err(late()));
        }
        let http = if request.method == Method::POST { self.fresh()? } else { &self.http };
        let at = format!("{}{path}", self.base.as_str().trim_end_matches('/'));
        let mut outgoing = http.request(request.method.clone(), at).headers(headers.clone());
        if let Some(body) = request.body {
            outgoing = outgoing.json(body);
        }
        let exchange = async {
            let answer = outgoing.send().await.map_err(|error| self.explain(request, &error, false))?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = self.read(request, answer).await?;
            tracing::debug!(method = %request.method, %url, status = status.as_u16(), bytes = body.len(), "redfish");
            Ok(Answer { status, headers, body })
        };
        let answer = timeout_at(until, exchange).await.unwrap_or_else(|_| Err(late()));
        #[cfg(feature = "legacy-tls")]
        if let (Err(RedfishError::Handshake { .. }), Some(legacy)) = (&answer, &self.legacy) {
            let exchange = legacy.exchange(self, request, path, &headers);
            return timeout_at(until, exchange).await.unwrap_or_else(|_| Err(late()));
        }
        answer
    }

    async fn read(&self, request: Request<'_>, mut answer: reqwest::Response) -> Result<Bytes, RedfishError> {
        let too_large = || RedfishError::Body {
            method: request.method.clone(),
            url: self.url(request.to),
            problem: format!("the answer is larger than {} bytes", self.body_limit),
        };
        if answer.content_length().is_some_and(|length| length > self.body_limit as u64) {
            return Err(too_large());
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.explain(request, &error, true))? {
            if body.len() + chunk.len() > self.body_limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        plain(body.freeze(), self.body_limit).map_err(|problem| RedfishError::Body {
            method: request.method.clone(),
            url: self.url(request.to),
            problem,
        })
    }

    /// Only reads are sent again elsewhere, and only within this service: a write and a password go nowhere else. The
    /// path is followed as it is spelt: some services know a resource only with the slash that its normal form lacks.
    fn redirected(&self, request: Request<'_>, from: &str, answer: &Answer) -> Result<String, RedfishError> {
        let location = answer.text_header(&header::LOCATION).unwrap_or_default().to_owned();
        let refuse = |problem: &str| RedfishError::Redirect {
            method: request.method.clone(),
            url: self.url(request.to),
            location: location.clone(),
            problem: problem.to_owned(),
        };
        if request.method != Method::GET {
            return Err(refuse("a write is not sent to another place; use that address for the service"));
        }
        let joined = self.base.join(from).and_then(|from| from.join(&location));
        let target = joined.map_err(|error| refuse(&error.to_string()))?;
        if target.host_str() != self.base.host_str()
            || target.port_or_known_default() != self.base.port_or_known_default()
            || target.scheme() != self.base.scheme()
        {
            return Err(refuse("credentials are not sent to another service; use that address for it"));
        }
        let path = match target.query() {
            Some(query) => format!("{}?{query}", target.path()),
            None => target.path().to_owned(),
        };
        if path == from { Err(refuse("leads nowhere new")) } else { Ok(path) }
    }

    fn fresh(&self) -> Result<&reqwest::Client, RedfishError> {
        if let Some(client) = self.fresh.get() {
            return Ok(client);
        }
        let made = self.another(Some(self.read_timeout))?;
        Ok(self.fresh.get_or_init(|| made))
    }

    /// Another client that keeps no connections.
    fn another(&self, silence: Option<Duration>) -> Result<reqwest::Client, RedfishError> {
        http_client(&self.options, &self.tls, silence, false)
            .map_err(|problem| RedfishError::Trust { url: self.base.to_string(), problem })
    }
}

fn http_client(
    options: &Options,
    tls: &rustls::ClientConfig,
    silence: Option<Duration>,
    keep_alive: bool,
) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls.clone())
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(if keep_alive { options.concurrency } else { 0 })
        .redirect(Policy::none())
        .http1_only()
        // A proxy meant for the internet does not lead to a BMC.
        .no_proxy();
    if let Some(silence) = silence {
        builder = builder.read_timeout(silence);
    }
    builder.build().map_err(|error| explain::root_cause(&error))
}
