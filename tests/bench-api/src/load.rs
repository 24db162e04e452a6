//! How many writes a second: creates of new hosts, then updates of those, from some clients at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use hyper::Method;
use serde_json::Value;

use crate::client::{Access, Connection};
use crate::host::{HOSTS, host};

/// Hosts that a client creates before it updates them in turn; the others are removed again.
const KEPT: usize = 4;

/// Creates and updates a second, from `clients` clients.
pub(crate) async fn writes(access: &Access, clients: usize, lasts: Duration) -> Result<(f64, f64)> {
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(access.connect().await?);
    }
    let end = Instant::now() + lasts;
    let created = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let running = connections.into_iter().enumerate().map(|(client, connection)| {
        tokio::spawn(create(connection, format!("load-{clients}-{client}"), end, Arc::clone(&created)))
    });
    let mut ready = Vec::new();
    for client in running.collect::<Vec<_>>() {
        ready.push(client.await??);
    }
    let creates = rate(&created, begun);

    let end = Instant::now() + lasts;
    let updated = Arc::new(AtomicUsize::new(0));
    let begun = Instant::now();
    let running =
        ready.into_iter().map(|(connection, hosts)| tokio::spawn(update(connection, hosts, end, Arc::clone(&updated))));
    for client in running.collect::<Vec<_>>() {
        client.await??;
    }
    let updates = rate(&updated, begun);
    remove(access, &format!("load-{clients}-")).await?;
    Ok((creates, updates))
}

fn rate(done: &AtomicUsize, begun: Instant) -> f64 {
    done.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

async fn create(
    mut connection: Connection,
    prefix: String,
    end: Instant,
    done: Arc<AtomicUsize>,
) -> Result<(Connection, Vec<Value>)> {
    let mut kept = Vec::new();
    let mut number = 0;
    while Instant::now() < end || kept.len() < KEPT {
        let created = connection.post(HOSTS, &host(&format!("{prefix}-{number}"))).await?;
        done.fetch_add(1, Ordering::Relaxed);
        if kept.len() < KEPT {
            kept.push(created);
        }
        number += 1;
    }
    Ok((connection, kept))
}

async fn update(mut connection: Connection, mut hosts: Vec<Value>, end: Instant, done: Arc<AtomicUsize>) -> Result<()> {
    let mut number = 0_u64;
    while Instant::now() < end {
        for host in &mut hosts {
            number += 1;
            if let Some(description) = host.pointer_mut("/spec/description") {
                *description = format!("update {number}").into();
            }
            let name = host.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
            *host = connection.put(&format!("{HOSTS}/{name}"), host).await?;
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Deletes what was created, so that the next measurement begins with as much as this one.
async fn remove(access: &Access, prefix: &str) -> Result<()> {
    let mut connection = access.connect().await?;
    let list = connection.get(HOSTS).await?.json()?;
    let items = list.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
    for item in items {
        let name = item.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        if name.starts_with(prefix) {
            connection.send(Method::DELETE, &format!("{HOSTS}/{name}"), bytes::Bytes::new()).await?.json()?;
        }
    }
    Ok(())
}
