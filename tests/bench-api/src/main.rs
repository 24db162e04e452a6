//! Measures the embedded API beside kube-apiserver and etcd (with fsync) in the same run: the same clients, over HTTPS,
//! with the same definition and objects. Prints a row for each measurement; see `cargo xtask bench --suite api`.
//!
//! The embedded API runs in a process of its own, which is this program started once more, so that its memory and its
//! start can be measured. This room knows only what any client of either server knows.

mod client;
mod fanout;
mod host;
mod lists;
mod load;
mod server;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use bessemer_bench::Row;

use server::Server;

const SUITE: &str = "api";
/// Objects in the measurements of lists and memory.
const HOSTS: usize = 10_000;
/// How long each rate is measured.
const LASTS: Duration = Duration::from_secs(5);

/// What one server reached.
#[derive(Debug)]
struct Reached {
    started_in: Duration,
    restarted_in: Option<Duration>,
    idle_memory: f64,
    full_memory: f64,
    creates: Vec<f64>,
    updates: Vec<f64>,
    list: Duration,
    pages: Duration,
    fanout: fanout::Reached,
}

/// Clients at once in the measurements of writes.
const CLIENTS: [usize; 2] = [1, 64];

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == "serve") {
        let dir = arguments.next().context("serve needs a directory")?;
        return runtime()?.block_on(server::serve(dir.as_ref()));
    }
    let hosts = std::env::var("BENCH_HOSTS").ok().and_then(|text| text.parse().ok()).unwrap_or(HOSTS);
    let ours = measure(Server::ours()?, hosts)?;
    println!("{ours:?}");
    let programs = bessemer_kube_peer::programs();
    let peer = match programs {
        Ok(programs) => Some(measure(Server::peer(&programs)?, hosts)?),
        Err(why) => {
            println!("no peer: {why}");
            None
        }
    };
    println!("{peer:?}");
    report(&ours, peer.as_ref(), hosts)
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().enable_all().build()?)
}

fn measure(mut server: Server, hosts: usize) -> Result<Reached> {
    println!("{}: ready in {:?}", server.name(), server.started_in);
    let runtime = runtime()?;
    let access = server.access()?;
    runtime.block_on(host::install(&access))?;
    let idle_memory = server.memory()?;
    let (mut creates, mut updates) = (Vec::new(), Vec::new());
    for clients in CLIENTS {
        let (created, updated) = runtime.block_on(load::writes(&access, clients, LASTS))?;
        println!("{}: {clients} clients: {created:.0} creates/s, {updated:.0} updates/s", server.name());
        creates.push(created);
        updates.push(updated);
    }
    let begun = Instant::now();
    runtime.block_on(host::fill(&access, hosts))?;
    println!("{}: {hosts} hosts with status in {:?}", server.name(), begun.elapsed());
    let (list, pages) = runtime.block_on(lists::measure(&access, hosts))?;
    let full_memory = server.memory()?;
    let fanout = runtime.block_on(fanout::measure(&access))?;
    let (started_in, restarted_in) = (server.started_in, server.restart()?);
    Ok(Reached { started_in, restarted_in, idle_memory, full_memory, creates, updates, list, pages, fanout })
}

fn report(ours: &Reached, peer: Option<&Reached>, hosts: usize) -> Result<()> {
    let row = |name: String, unit: &str, value: &dyn Fn(&Reached) -> f64| {
        let row = Row::new(SUITE, name, value(ours), unit);
        match peer {
            Some(peer) => row.beside("kube-apiserver v1.36 + etcd", value(peer)),
            None => row,
        }
    };
    let ms = |duration: Duration| duration.as_secs_f64() * 1000.0;
    for (place, clients) in CLIENTS.into_iter().enumerate() {
        let name = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
        let at = |rates: &[f64]| rates.get(place).copied().unwrap_or_default();
        row(format!("creates, {name}"), "/s", &|r| at(&r.creates)).at_least_times(5.0).print()?;
        row(format!("updates, {name}"), "/s", &|r| at(&r.updates)).at_least_times(5.0).print()?;
    }
    row(format!("list of {hosts} hosts"), "ms", &|r| ms(r.list)).print()?;
    row(format!("list of {hosts} hosts by 500"), "ms", &|r| ms(r.pages)).print()?;
    let watchers = fanout::WATCHERS;
    row(format!("events to {watchers} watchers"), "/s", &|r| r.fanout.delivered).print()?;
    row(format!("event at the last of {watchers} watchers, p50"), "ms", &|r| ms(r.fanout.median)).print()?;
    row(format!("event at the last of {watchers} watchers, p99"), "ms", &|r| ms(r.fanout.slowest)).print()?;
    row("start".to_owned(), "s", &|r| r.started_in.as_secs_f64()).at_most(0.3).print()?;
    if let Some(restarted) = ours.restarted_in {
        Row::new(SUITE, format!("start with {hosts} hosts and more"), restarted.as_secs_f64(), "s").print()?;
    }
    row("memory, idle".to_owned(), "MiB", &|r| r.idle_memory).at_most_times(0.1).print()?;
    row(format!("memory with {hosts} hosts and more"), "MiB", &|r| r.full_memory).at_most_times(0.1).print()?;
    Ok(())
}
