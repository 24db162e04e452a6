//! `POST /v1/discover`: machines that nobody knows. Anybody on the boot network may ask, so it is bounded in size and
//! rate, and what is said here opens nothing.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use bessemer_protocol::{DiscoverRequest, DiscoverResponse, negotiate};
use serde_json::Value;
use tokio::time::Instant;

use super::Shared;
use super::inbound::clean;
use super::peer::Peer;
use super::refusal::Refuse;

/// Reports taken at once, as when a rack is switched on.
const BURST: u32 = 64;

/// One more report is taken each so often.
const REFILL: Duration = Duration::from_millis(500);

/// How long one address waits between two reports that are taken.
const PER_ADDRESS: Duration = Duration::from_secs(10);

/// Addresses remembered for that: what [`BURST`] and [`REFILL`] let through in [`PER_ADDRESS`], twice.
const MAX_ADDRESSES: usize = 2 * 84;

pub(super) async fn discover(
    State(shared): State<Shared>,
    Extension(peer): Extension<Arc<Peer>>,
    body: Result<Json<Value>, JsonRejection>,
) -> Result<Json<DiscoverResponse>, Refuse> {
    let from = peer.address.ip();
    if !shared.discovery.admits(from, Instant::now()) {
        return Err(Refuse::too_many("too many machines report at once; ask again later"));
    }
    let Json(mut value) = body.map_err(|error| Refuse::bad_request(error.body_text()))?;
    clean(&mut value);
    let report: DiscoverRequest = serde_json::from_value(value).map_err(Refuse::bad_request)?;
    negotiate("agent", report.protocol).map_err(Refuse::version)?;
    let answer = shared
        .hosts
        .discovered(from, &report)
        .await
        .map_err(|refused| Refuse::by_authority(&format_args!("an unknown machine at {from}"), refused))?;
    tracing::info!(%from, macs = report.identity.macs.join(" "), "an unknown machine reports its hardware");
    Ok(Json(answer))
}

/// How many reports are taken: a bucket for all and a pause for each address.
pub(super) struct Discovery(Mutex<Bucket>);

struct Bucket {
    left: u32,
    refilled: Instant,
    last: Vec<(IpAddr, Instant)>,
}

impl Default for Discovery {
    fn default() -> Self {
        Self(Mutex::new(Bucket { left: BURST, refilled: Instant::now(), last: Vec::new() }))
    }
}

impl Discovery {
    fn admits(&self, from: IpAddr, now: Instant) -> bool {
        let mut bucket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let due = now.saturating_duration_since(bucket.refilled).as_millis() / REFILL.as_millis();
        if let Some(due) = u32::try_from(due).ok().filter(|due| *due > 0) {
            bucket.left = bucket.left.saturating_add(due).min(BURST);
            bucket.refilled = now;
        }
        bucket.last.retain(|(_, at)| now.saturating_duration_since(*at) < PER_ADDRESS);
        let known = bucket.last.iter().any(|(address, _)| *address == from);
        if known || bucket.left == 0 || bucket.last.len() >= MAX_ADDRESSES {
            return false;
        }
        bucket.left -= 1;
        bucket.last.push((from, now));
        true
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_rack_gets_in_and_a_flood_does_not() {
        let discovery = Discovery::default();
        let start = Instant::now();
        let taken = |addresses: std::ops::Range<u32>, at: Instant| {
            addresses.filter(|n| discovery.admits(IpAddr::V4(Ipv4Addr::from_bits(*n)), at)).count()
        };
        assert_eq!(taken(0..1000, start), BURST as usize);
        assert_eq!(taken(1000..2000, start + REFILL * 3), 3);
        assert_eq!(taken(0..1, start + REFILL * 5), 0, "the same address has to wait");
        assert_eq!(taken(0..1, start + PER_ADDRESS), 1);
        assert!(discovery.0.lock().unwrap().last.len() <= MAX_ADDRESSES);
    }
}
