//! The bytes of a file from its start to its end, whatever happens to connections in between.

use bessemer_image_formats::detect::ENOUGH;
use bytes::{Bytes, BytesMut};
use reqwest::Response;
use tokio::time::timeout_at;
use tracing::warn;

use super::http::{About, transport};
use super::{Location, SourceError};
use crate::backoff::Backoff;

/// Attempts to go on at the same place.
const ATTEMPTS: u32 = 6;

/// A file that is being read.
#[derive(Debug)]
pub(in super::super) struct Body {
    location: Location,
    pub(in super::super) about: About,
    response: Option<Response>,
    position: u64,
    /// Since the last byte that came.
    failures: u32,
    /// Read ahead by [`Body::peek`].
    ahead: Bytes,
    /// How often it was cut and went on.
    pub(in super::super) resumed: u32,
}

impl Body {
    /// Asks for the file.
    pub(in super::super) async fn open(location: &Location) -> Result<Self, SourceError> {
        let (response, about) = location.open().await?;
        let location = location.clone();
        Ok(Self {
            location,
            about,
            response: Some(response),
            position: 0,
            failures: 0,
            ahead: Bytes::new(),
            resumed: 0,
        })
    }

    /// Enough of the start to tell what it is; the bytes stay to be read.
    pub(in super::super) async fn peek(&mut self) -> Result<Bytes, SourceError> {
        let mut start = BytesMut::new();
        while start.len() < ENOUGH {
            match self.next().await? {
                Some(chunk) => start.extend_from_slice(&chunk),
                None => break,
            }
        }
        self.ahead = start.freeze();
        Ok(self.ahead.clone())
    }

    /// The next bytes; none at the end, which is where the server said that it would be.
    pub(in super::super) async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        if !self.ahead.is_empty() {
            return Ok(Some(std::mem::take(&mut self.ahead)));
        }
        let mut pause = Backoff::new(std::time::Duration::from_millis(200), std::time::Duration::from_secs(5));
        loop {
            let why = match self.chunk().await {
                Ok(Some(chunk)) => {
                    self.position += chunk.len() as u64;
                    self.failures = 0;
                    return match self.about.total {
                        Some(total) if self.position > total => Err(SourceError::Changed),
                        _ => Ok(Some(chunk)),
                    };
                }
                Ok(None) => match self.about.total {
                    Some(total) if self.position < total => {
                        SourceError::Transport(format!("{} of {total} bytes came", self.position))
                    }
                    _ => return Ok(None),
                },
                Err(error @ (SourceError::Late | SourceError::Changed)) => return Err(error),
                Err(error) => error,
            };
            self.response = None;
            self.failures += 1;
            if self.failures >= ATTEMPTS {
                let total = self.about.total.map_or_else(String::new, |total| format!(" of {total}"));
                let words = format!("{why}; {}{total} bytes came, and it could not go on", self.position);
                return Err(SourceError::Transport(words));
            }
            warn!("{}: cut after {} bytes ({why}); going on from there", self.location.url, self.position);
            let deadline = self.location.http().deadline();
            timeout_at(deadline, pause.pause()).await.map_err(|_| SourceError::Late)?;
        }
    }

    async fn chunk(&mut self) -> Result<Option<Bytes>, SourceError> {
        let response = match &mut self.response {
            Some(response) => response,
            empty => {
                let again = self.location.reopen(self.position, &self.about).await?;
                self.resumed += 1;
                empty.insert(again)
            }
        };
        self.location.http().in_time(response.chunk()).await?.map_err(transport)
    }
}
