//! How many requests are worked on at once: reads, writes and watches apart, so that none of them starves the others.
//! Requests beyond that wait for a while; more than may wait are told to come back (429).

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::status::ApiError;

/// Requests worked on at once; the numbers are upstream's.
const READS: usize = 400;
const WRITES: usize = 200;
/// Watches open at once.
const WATCHES: usize = 4096;
/// Requests that may wait for each of these, and for how long.
const WAITING: usize = 2048;
const PATIENCE: Duration = Duration::from_secs(30);

struct Gate {
    places: Arc<Semaphore>,
    waiting: Semaphore,
    patience: Duration,
}

impl Gate {
    fn new(places: usize, waiting: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), waiting: Semaphore::new(waiting), patience: PATIENCE }
    }

    async fn enter(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(place);
        }
        let refused = || ApiError::too_many_requests();
        let _waiting = self.waiting.try_acquire().map_err(|_| refused())?;
        let place = tokio::time::timeout(self.patience, Arc::clone(&self.places).acquire_owned()).await;
        place.map_err(|_| refused())?.map_err(|_| refused())
    }
}

/// The places of all requests of a server.
pub(crate) struct Limits {
    reads: Gate,
    writes: Gate,
    watches: Gate,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            reads: Gate::new(READS, WAITING),
            writes: Gate::new(WRITES, WAITING),
            // A watch ends in half an hour or so: nothing to wait for.
            watches: Gate::new(WATCHES, 0),
        }
    }
}

impl Limits {
    /// A place for a request, held while it is worked on.
    pub(crate) async fn enter(&self, method: &Method, is_watch: bool) -> Result<OwnedSemaphorePermit, ApiError> {
        let gate = match (method, is_watch) {
            (&Method::GET, true) => &self.watches,
            (&Method::GET, false) => &self.reads,
            _ => &self.writes,
        };
        gate.enter().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn some_wait_and_others_are_refused() {
        let gate = Arc::new(Gate { patience: Duration::from_millis(100), ..Gate::new(1, 1) });
        let first = gate.enter().await.unwrap();
        let waiting = tokio::spawn({
            let gate = Arc::clone(&gate);
            async move { gate.enter().await.map(drop) }
        });
        tokio::task::yield_now().await;
        let refused = gate.enter().await.unwrap_err();
        assert!(refused.to_string().contains("(429 TooManyRequests)"), "{refused}");
        drop(first);
        waiting.await.unwrap().unwrap();

        let held = gate.enter().await.unwrap();
        assert!(gate.enter().await.is_err(), "waited for ever");
        drop(held);
    }
}
