//! How an event reaches many watchers: how soon the last of them has it, and how many are delivered a second.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::Method;
use serde_json::{Value, json};

use crate::client::Access;
use crate::host::{HOSTS, host};

/// Watchers at once, each on a connection of its own.
pub(crate) const WATCHERS: usize = 100;
/// Events of which the time is taken, and the pause between two.
const TIMED: u64 = 200;
const PAUSE: Duration = Duration::from_millis(20);
/// How long deliveries are counted.
const LASTS: Duration = Duration::from_secs(5);
const ARRIVES: Duration = Duration::from_secs(10);
const MARK: &[u8] = b"\"bench.example/number\":\"";

/// What was measured.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) delivered: f64,
    pub(crate) median: Duration,
    pub(crate) slowest: Duration,
}

#[derive(Default)]
struct Seen {
    /// When the last watcher had an event, and how many had it, by the event's number.
    arrivals: Mutex<BTreeMap<u64, (Option<Instant>, usize)>>,
    timed: AtomicBool,
    all: AtomicU64,
}

impl Seen {
    fn note(&self, number: u64) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if self.timed.load(Ordering::Relaxed) {
            let now = Instant::now();
            let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
            let (last, count) = arrivals.entry(number).or_default();
            (*last, *count) = (Some(now), *count + 1);
        }
    }

    /// When all watchers had the event.
    async fn everywhere(&self, number: u64) -> Result<Instant> {
        let end = Instant::now() + ARRIVES;
        loop {
            {
                let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some((Some(last), WATCHERS)) = arrivals.get(&number) {
                    return Ok(*last);
                }
            }
            ensure!(Instant::now() < end, "event {number} did not reach all watchers");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

pub(crate) async fn measure(access: &Access) -> Result<Reached> {
    let mut connection = access.connect().await?;
    let mut object = connection.post(HOSTS, &host("watched")).await?;
    let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    let path = format!("{HOSTS}?watch=1&resourceVersion={version}&timeoutSeconds=600");
    let seen = Arc::new(Seen::default());
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let mut connection = access.connect().await?;
        let (path, seen) = (path.clone(), Arc::clone(&seen));
        let response = connection.open(Method::GET, &path, Bytes::new()).await?;
        ensure!(response.status().is_success(), "a watch is refused: {}", response.status());
        watchers.push(tokio::spawn(async move {
            // Held: the connection ends with it.
            let _connection = connection;
            let mut body = response.into_body();
            let mut rest = BytesMut::new();
            while let Some(Ok(frame)) = body.frame().await {
                rest.extend_from_slice(&frame.into_data().unwrap_or_default());
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let line = rest.split_to(end + 1);
                    if let Some(number) = number_in(&line) {
                        seen.note(number);
                    }
                }
            }
        }));
    }

    seen.timed.store(true, Ordering::Relaxed);
    let mut delays = Vec::new();
    let mut number = 0;
    while number < TIMED {
        number += 1;
        let sent = Instant::now();
        object = write(&mut connection, object, number).await?;
        delays.push(seen.everywhere(number).await?.duration_since(sent));
        tokio::time::sleep(PAUSE).await;
    }
    seen.timed.store(false, Ordering::Relaxed);

    let (before, begun) = (seen.all.load(Ordering::Relaxed), Instant::now());
    while begun.elapsed() < LASTS {
        number += 1;
        object = write(&mut connection, object, number).await?;
    }
    let delivered = (seen.all.load(Ordering::Relaxed) - before) as f64 / begun.elapsed().as_secs_f64();
    for watcher in watchers {
        watcher.abort();
    }
    delays.sort();
    let at = |share: usize| delays.get(delays.len() * share / 100).copied().unwrap_or_default();
    Ok(Reached { delivered, median: at(50), slowest: at(99) })
}

async fn write(connection: &mut crate::client::Connection, mut object: Value, number: u64) -> Result<Value> {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({"bench.example/number": number.to_string()}));
    }
    connection.put(&format!("{HOSTS}/watched"), &object).await
}

fn number_in(line: &[u8]) -> Option<u64> {
    let at = line.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    let digits = line.get(at..)?.split(|byte| *byte == b'"').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}
