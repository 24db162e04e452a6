//! How long a list of everything takes, whole and in pages.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::client::Access;
use crate::host::HOSTS;

const TIMES: usize = 5;
const PAGE: usize = 500;

/// The median times of both.
pub(crate) async fn measure(access: &Access, hosts: usize) -> Result<(Duration, Duration)> {
    let mut connection = access.connect().await?;
    let (mut whole, mut paged) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let begun = Instant::now();
        let answer = connection.get(HOSTS).await?;
        whole.push(begun.elapsed());
        let list = answer.json()?;
        let found = list.get("items").and_then(Value::as_array).map_or(0, Vec::len);
        ensure!(found >= hosts, "{found} of {hosts} hosts listed");

        let mut waited = Duration::ZERO;
        let (mut next, mut seen) = (String::new(), 0);
        loop {
            let path = format!("{HOSTS}?limit={PAGE}&continue={next}");
            let begun = Instant::now();
            let answer = connection.get(&path).await?;
            waited += begun.elapsed();
            let page = answer.json()?;
            seen += page.get("items").and_then(Value::as_array).map_or(0, Vec::len);
            next = page.pointer("/metadata/continue").and_then(Value::as_str).unwrap_or_default().to_owned();
            if next.is_empty() {
                break;
            }
        }
        ensure!(seen == found, "{seen} of {found} hosts in pages");
        paged.push(waited);
    }
    Ok((median(whole), median(paged)))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
