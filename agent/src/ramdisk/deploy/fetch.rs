//! An image's bytes from an HTTP source, as they come.

use std::future::Future;
use std::time::Duration;

use reqwest::Client;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::Chunk;
use crate::link::client_config;

/// A source that sends nothing for this long is given up.
const SILENCE: Duration = Duration::from_secs(60);

/// Longest that a connection may take to be made.
const CONNECT_DEADLINE: Duration = Duration::from_secs(15);

/// Why a source did not give the image.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// No connection, a reset, a body shorter than announced.
    #[error("{0}")]
    Transport(String),
    /// Not 200.
    #[error("status {0}")]
    Status(u16),
    /// See [`SILENCE`].
    #[error("nothing came for {} s", SILENCE.as_secs())]
    Silent,
    /// The item's deadline.
    #[error("deadline passed")]
    Late,
    /// The other end of the pipe ended first; it knows why.
    #[error("the writer stopped")]
    NobodyReads,
}

/// Sent in place of a chunk when the source failed, so that the writer never takes a cut for the end.
#[derive(Debug)]
pub(super) struct Cut;

/// Streams `source` into `chunks` and returns how many bytes came. `report` is told bytes so far and the announced length.
pub(super) async fn fetch(
    source: &str,
    ca: &str,
    deadline: Instant,
    chunks: mpsc::Sender<Chunk>,
    report: impl Fn(u64, Option<u64>),
) -> Result<u64, FetchError> {
    let result = stream(source, ca, deadline, &chunks, report).await;
    if result.is_err() {
        let _ = chunks.send(Err(Cut)).await;
    }
    result
}

async fn stream(
    source: &str,
    ca: &str,
    deadline: Instant,
    chunks: &mpsc::Sender<Chunk>,
    report: impl Fn(u64, Option<u64>),
) -> Result<u64, FetchError> {
    let transport = |error: reqwest::Error| FetchError::Transport(crate::link::innermost(&error));
    let tls = client_config(ca, None).map_err(|error| FetchError::Transport(error.to_string()))?;
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .no_proxy()
        .connect_timeout(CONNECT_DEADLINE)
        .build()
        .map_err(transport)?;
    let mut response = in_time(deadline, client.get(source).send()).await?.map_err(transport)?;
    if response.status() != reqwest::StatusCode::OK {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    let announced = response.content_length();
    let mut fetched = 0;
    report(fetched, announced);
    while let Some(chunk) = in_time(deadline, response.chunk()).await?.map_err(transport)? {
        fetched += chunk.len() as u64;
        timeout_at(deadline, chunks.send(Ok(chunk)))
            .await
            .map_err(|_| FetchError::Late)?
            .map_err(|_| FetchError::NobodyReads)?;
        report(fetched, announced);
    }
    match announced {
        Some(announced) if announced != fetched => {
            Err(FetchError::Transport(format!("{fetched} of {announced} bytes came")))
        }
        _ => Ok(fetched),
    }
}

async fn in_time<T>(deadline: Instant, work: impl Future<Output = T>) -> Result<T, FetchError> {
    match timeout_at(deadline, timeout(SILENCE, work)).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(_)) => Err(FetchError::Silent),
        Err(_) => Err(FetchError::Late),
    }
}
