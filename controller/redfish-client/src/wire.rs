//! One HTTP exchange with one service, within its limits: requests at once, silence, size of a body, redirects. Knows
//! nothing of sessions or retries.

mod long;

use std::error::Error as _;
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
    /// As `http`, for exchanges that are long by nature; made when the first one is.
    patient: OnceLock<reqwest::Client>,
    options: Options,
    base: Url,
    slots: Semaphore,
    read_timeout: Duration,
    body_limit: usize,
}

impl Wire {
    pub(crate) fn new(service: &str, options: &Options) -> Result<Self, RedfishError> {
        let base = base(service)?;
        let http = http_client(options, Some(options.read_timeout))
            .map_err(|problem| RedfishError::Trust { url: base.to_string(), problem })?;
        let slots = Semaphore::new(options.concurrency.max(1));
        Ok(Self {
            http,
            patient: OnceLock::new(),
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
        let mut to = request.to.clone();
        for _ in 0..=REDIRECTS {
            let answer = self.once(Request { to: &to, ..request }, authenticate, until).await?;
            if !answer.status.is_redirection() || answer.status == http::StatusCode::NOT_MODIFIED {
                return Ok(answer);
            }
            to = self.redirected(request.method, &to, &answer)?;
        }
        Err(RedfishError::Redirect {
            method: request.method.clone(),
            url: self.url(request.to),
            location: to.to_string(),
            problem: format!("more than {REDIRECTS} redirects"),
        })
    }

    async fn once(
        &self,
        request: Request<'_>,
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
        // Headers are built for each request: one that is left over from the last has broken clients before.
        let mut outgoing = self.http.request(request.method.clone(), &url).headers(authenticate.clone());
        outgoing = outgoing
            .header(header::ACCEPT, HeaderValue::from_static("application/json"))
            .header("OData-Version", HeaderValue::from_static("4.0"));
        if let Some(etag) = request.if_match {
            outgoing = outgoing.header(header::IF_MATCH, etag);
        }
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
        timeout_at(until, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    async fn read(&self, request: Request<'_>, mut answer: reqwest::Response) -> Result<Bytes, RedfishError> {
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await.map_err(|error| self.explain(request, &error, true))? {
            if body.len() + chunk.len() > self.body_limit {
                return Err(RedfishError::Body {
                    method: request.method.clone(),
                    url: self.url(request.to),
                    problem: format!("the answer is larger than {} bytes", self.body_limit),
                });
            }
            body.extend_from_slice(&chunk);
        }
        plain(body.freeze(), self.body_limit).map_err(|problem| RedfishError::Body {
            method: request.method.clone(),
            url: self.url(request.to),
            problem,
        })
    }

    /// Only reads are sent again elsewhere, and only within this service: a write and a password go nowhere else.
    fn redirected(&self, method: &Method, from: &Reference, answer: &Answer) -> Result<Reference, RedfishError> {
        let location = answer.text_header(&header::LOCATION).unwrap_or_default().to_owned();
        let refuse = |problem: String| RedfishError::Redirect {
            method: method.clone(),
            url: self.url(from),
            location: location.clone(),
            problem,
        };
        if method != Method::GET {
            return Err(refuse("a write is not sent to another place; use that address for the service".to_owned()));
        }
        let joined = self.base.join(from.as_str()).and_then(|from| from.join(&location));
        let target = joined.map_err(|error| refuse(error.to_string()))?;
        if target.host_str() != self.base.host_str()
            || target.port_or_known_default() != self.base.port_or_known_default()
        {
            return Err(refuse("credentials are not sent to another service; use that address for it".to_owned()));
        }
        // The normal form has no trailing slash, so a service that redirects to the form with one would loop.
        Reference::parse(target.as_str()).filter(|to| to != from).ok_or_else(|| refuse("leads nowhere new".to_owned()))
    }

    fn explain(&self, request: Request<'_>, error: &reqwest::Error, answering: bool) -> RedfishError {
        let (method, url) = (request.method.clone(), self.url(request.to));
        let why = root_cause(error);
        if let Some(why) = certificate_problem(error) {
            return RedfishError::Certificate { url, why };
        }
        if error.is_timeout() && !error.is_connect() {
            return RedfishError::Timeout { method, url, after: self.read_timeout };
        }
        RedfishError::Connection { method, url, why, sent: answering || !error.is_connect() }
    }
}

fn http_client(options: &Options, silence: Option<Duration>) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(options.trust.client_config()?)
        .connect_timeout(options.connect_timeout)
        .pool_max_idle_per_host(if options.keep_alive { options.concurrency } else { 0 })
        .redirect(Policy::none())
        .http1_only()
        // A proxy meant for the internet does not lead to a BMC.
        .no_proxy();
    if let Some(silence) = silence {
        builder = builder.read_timeout(silence);
    }
    builder.build().map_err(|error| root_cause(&error))
}

/// The root of a service: scheme, host and port, nothing else.
fn base(service: &str) -> Result<Url, RedfishError> {
    let wrong = |url: &str, problem: &str| RedfishError::Address { url: url.to_owned(), problem: problem.to_owned() };
    let mut url = Url::parse(service).map_err(|error| wrong("(unreadable)", &format!("{error}; give https://HOST")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(url.host_str().unwrap_or_default(), "holds a user or password; give them apart"));
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong(url.as_str(), "is not http or https with a host"));
    }
    url.set_path("");
    url.set_query(None);
    url.set_fragment(None);
    Ok(url)
}

fn root_cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(below) = cause.and_then(std::error::Error::source) {
        cause = Some(below);
    }
    cause.map_or_else(|| error.to_string(), ToString::to_string)
}

/// What is wrong with the certificate, if that is the matter.
fn certificate_problem(error: &reqwest::Error) -> Option<String> {
    let mut cause = error.source();
    while let Some(here) = cause {
        if let Some(rustls::Error::InvalidCertificate(problem)) = here.downcast_ref() {
            let remedy = "give the authority that signed it, or its fingerprint";
            return Some(match problem {
                rustls::CertificateError::ApplicationVerificationFailure => {
                    format!("it has another fingerprint than expected; if the change is wanted, {remedy}")
                }
                problem => format!("{problem}; {remedy}"),
            });
        }
        // The source of an io::Error leaves out the error that it wraps.
        let wrapped = here.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => here.source(),
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_addresses() {
        for (service, wanted) in [
            ("https://10.0.0.7", "https://10.0.0.7/"),
            ("https://bmc:8443/redfish/v1/?x#y", "https://bmc:8443/"),
            ("http://[fd00::7]:8000/", "http://[fd00::7]:8000/"),
        ] {
            assert_eq!(base(service).unwrap().as_str(), wanted);
        }
        for service in ["10.0.0.7", "ftp://bmc", "https://admin:s3cr3t@bmc", "https://"] {
            let error = base(service).unwrap_err().to_string();
            assert!(error.contains("redfish service") && !error.contains("s3cr3t"), "{error}");
        }
    }
}
