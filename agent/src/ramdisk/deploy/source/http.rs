//! Requests to an image server: whole files, and parts of them.

use std::future::Future;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderMap, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use tokio::time::{Instant, timeout, timeout_at};

use super::SourceError;
use crate::link::{client_config, innermost};

/// A source that sends nothing for this long is given up.
pub(super) const SILENCE: Duration = Duration::from_secs(60);

/// Longest that a connection may take to be made.
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// A client with a deadline.
#[derive(Debug, Clone)]
pub(in super::super) struct Http {
    client: Client,
    deadline: Instant,
}

/// A file at a server.
#[derive(Debug, Clone)]
pub(in super::super) struct Location {
    pub(in super::super) url: String,
    /// For a registry.
    pub(super) bearer: Option<String>,
    http: Http,
}

/// What a server said of a file before its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct About {
    /// Bytes in all, when announced.
    pub(in super::super) total: Option<u64>,
    /// A strong entity tag, or a date.
    pub(super) validator: Option<String>,
}

impl Http {
    /// `ca` is the only root that `https://` is verified against.
    pub(in super::super) fn new(ca: &str, deadline: Instant) -> Result<Self, SourceError> {
        let tls = client_config(ca, None).map_err(|error| SourceError::Transport(error.to_string()))?;
        let client = Client::builder().tls_backend_preconfigured(tls).no_proxy().connect_timeout(CONNECT_DEADLINE);
        Ok(Self { client: client.build().map_err(transport)?, deadline })
    }

    /// `url`, without any credentials.
    pub(in super::super) fn location(&self, url: &str) -> Location {
        Location { url: url.to_owned(), bearer: None, http: self.clone() }
    }

    /// A request that asks for the bytes as they are.
    pub(super) fn get(&self, url: &str) -> RequestBuilder {
        self.client.get(url).header(ACCEPT_ENCODING, "identity")
    }

    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, SourceError> {
        self.in_time(request.send()).await?.map_err(transport)
    }

    /// A small file as text.
    pub(super) async fn text(&self, mut response: Response, limit: usize) -> Result<String, SourceError> {
        let mut text = BytesMut::new();
        while let Some(chunk) = self.in_time(response.chunk()).await?.map_err(transport)? {
            text.extend_from_slice(&chunk);
            if text.len() > limit {
                return Err(SourceError::Answer(format!("{} is longer than {limit} bytes", response.url())));
            }
        }
        String::from_utf8(text.to_vec()).map_err(|_| SourceError::Answer(format!("{} is no text", response.url())))
    }

    pub(super) async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, SourceError> {
        match timeout_at(self.deadline, timeout(SILENCE, work)).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(_)) => Err(SourceError::Silent),
            Err(_) => Err(SourceError::Late),
        }
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}

pub(super) fn transport(error: reqwest::Error) -> SourceError {
    SourceError::Transport(innermost(&error))
}

impl Location {
    pub(super) fn http(&self) -> &Http {
        &self.http
    }

    fn request(&self) -> RequestBuilder {
        let request = self.http.get(&self.url);
        match &self.bearer {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    /// The whole file.
    pub(super) async fn open(&self) -> Result<(Response, About), SourceError> {
        let response = self.http.send(self.request()).await?;
        if response.status() != StatusCode::OK {
            return Err(SourceError::Status(response.status().as_u16()));
        }
        refuse_pages(response.headers())?;
        let about = About { total: response.content_length(), validator: validator(response.headers()) };
        Ok((response, about))
    }

    /// The file from `start` on, if it is still the one that `about` tells of.
    pub(super) async fn reopen(&self, start: u64, about: &About) -> Result<Response, SourceError> {
        let mut request = self.request().header(RANGE, format!("bytes={start}-"));
        if let Some(validator) = &about.validator {
            request = request.header(IF_RANGE, validator);
        }
        let response = self.http.send(request).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {
                let same = part(response.headers()).is_some_and(|(first, total)| {
                    first == start && (about.total.is_none() || total.is_none() || total == about.total)
                });
                let tagged = about.validator.is_none()
                    || validator(response.headers()).is_none_or(|now| Some(now) == about.validator);
                if same && tagged { Ok(response) } else { Err(SourceError::Changed) }
            }
            StatusCode::OK | StatusCode::RANGE_NOT_SATISFIABLE => Err(SourceError::Changed),
            other => Err(SourceError::Status(other.as_u16())),
        }
    }

    /// `length` bytes from `start` of the file that `about` tells of.
    pub(in super::super) async fn part(&self, start: u64, length: u64, about: &About) -> Result<Bytes, SourceError> {
        if length == 0 {
            return Ok(Bytes::new());
        }
        let range = format!("bytes={start}-{}", start + length - 1);
        let mut response = self.http.send(self.request().header(RANGE, range)).await?;
        match response.status() {
            StatusCode::PARTIAL_CONTENT => {}
            StatusCode::OK => return Err(SourceError::NoRanges),
            other => return Err(SourceError::Status(other.as_u16())),
        }
        let right = part(response.headers())
            .is_some_and(|(first, total)| first == start && total.is_none_or(|total| Some(total) == about.total));
        let same =
            about.validator.is_none() || validator(response.headers()).is_none_or(|now| Some(now) == about.validator);
        if !right || !same {
            return Err(SourceError::Changed);
        }
        let mut bytes = BytesMut::new();
        while let Some(chunk) = self.http.in_time(response.chunk()).await?.map_err(transport)? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() as u64 > length {
                break;
            }
        }
        if bytes.len() as u64 == length {
            Ok(bytes.freeze())
        } else {
            Err(SourceError::Transport(format!("{} bytes came where {length} were asked for", bytes.len())))
        }
    }
}

/// First byte and length of the whole, of `bytes 5-9/10`.
fn part(headers: &HeaderMap) -> Option<(u64, Option<u64>)> {
    let (range, total) = headers.get(CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?.split_once('/')?;
    Some((range.split_once('-')?.0.parse().ok()?, total.parse().ok()))
}

/// Only a strong tag or a date says that bytes are the same.
fn validator(headers: &HeaderMap) -> Option<String> {
    let text = |name| headers.get(name)?.to_str().ok().map(str::to_owned);
    text(ETAG).filter(|tag| !tag.starts_with("W/")).or_else(|| text(LAST_MODIFIED))
}

fn refuse_pages(headers: &HeaderMap) -> Result<(), SourceError> {
    let is = |name, start: &str| {
        headers.get(name).and_then(|value| value.to_str().ok()).is_some_and(|value| value.trim().starts_with(start))
    };
    if is(CONTENT_TYPE, "text/html") {
        return Err(SourceError::NotAnImage("a web page"));
    }
    match headers.get(CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            Err(SourceError::NotAnImage("a transfer encoding that nobody asked for"))
        }
        _ => Ok(()),
    }
}
