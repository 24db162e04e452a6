//! A killed server loses nothing that it acknowledged, and shows nothing half. Each round starts the server as a
//! process of its own (this program, run once more), writes to it over HTTPS from several clients, kills it with
//! SIGKILL at a random moment, and looks at what the next one has. 30 rounds; 1,000 with `BESSEMER_LONG`, or as many
//! as `BESSEMER_ROUNDS` says. `BESSEMER_SEED` repeats a run's moments.
//!
//! What a power cut leaves is shown where the disk can be replaced: in `src/store/crash_tests.rs`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bessemer_apiserver::ApiServer;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt as _};
use serde_json::json;

const CHILD_DIR: &str = "BESSEMER_TEST_SERVER_DIR";
const WRITERS: usize = 8;
const KEYS: u64 = 12;

/// Not a test of its own: the server, when the variable is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_server() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let api = ApiServer::open(dir.as_ref()).await.unwrap();
    let serving = api.serve_https(([127, 0, 0, 1], 0).into(), &[], std::future::pending()).await.unwrap();
    println!("ready {}", serving.local_addr);
    serving.finished().await;
}

struct Server(Child);

impl Server {
    fn start(dir: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child_server", "--nocapture"]).env(CHILD_DIR, dir);
        Self(command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap())
    }

    /// Waits until it serves; false when it was killed before.
    fn is_ready(&mut self) -> bool {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        lines.map_while(Result::ok).any(|line| line.contains("ready "))
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What one writer knows of one object: the last write it tried, and the last that was acknowledged.
#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    tried: u64,
    acknowledged: u64,
    exists: bool,
}

type Ledger = BTreeMap<String, Entry>;

/// Every tenth write of an object deletes it.
fn deletes(count: u64) -> bool {
    count % 10 == 9
}

fn map(name: &str, count: u64) -> ConfigMap {
    // Some small, some compressed, some that fill a journal soon.
    let filler = format!("{count} ").repeat([4, 600, 9000][(count % 3) as usize]);
    serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"count": count.to_string()}},
        "data": {"count": count.to_string(), "filler": filler, "again": count.to_string()},
    }))
    .unwrap()
}

async fn client(dir: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(dir.join("admin.kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Writes until the server is gone.
async fn write(maps: Api<ConfigMap>, ledger: Arc<Mutex<Ledger>>, writer: usize) -> u64 {
    let mut acknowledged = 0;
    for turn in 0.. {
        let name = format!("w{writer}-{}", turn % KEYS);
        let entry = {
            let mut ledger = ledger.lock().unwrap();
            let entry = ledger.entry(name.clone()).or_default();
            entry.tried += 1;
            // What is not there is not deleted.
            if deletes(entry.tried) && !entry.exists {
                entry.tried += 1;
            }
            *entry
        };
        let count = entry.tried;
        let done = if deletes(count) {
            maps.delete(&name, &DeleteParams::default()).await.map(drop)
        } else if entry.exists {
            maps.replace(&name, &PostParams::default(), &map(&name, count)).await.map(drop)
        } else {
            maps.create(&PostParams::default(), &map(&name, count)).await.map(drop)
        };
        match done {
            Ok(()) => {}
            Err(kube::Error::Api(status)) => panic!("{name}, write {count}: {status}"),
            Err(_) => return acknowledged,
        }
        let mut ledger = ledger.lock().unwrap();
        let entry = ledger.get_mut(&name).unwrap();
        (entry.acknowledged, entry.exists) = (count, !deletes(count));
        acknowledged += 1;
    }
    acknowledged
}

/// Compares what is stored with what was acknowledged.
async fn check(maps: &Api<ConfigMap>, ledger: &mut Ledger, told: &str) {
    let mut found = BTreeMap::new();
    // The server's own map in the namespace counts nothing.
    let mut params = ListParams::default().limit(7).labels("count");
    loop {
        let page = maps.list(&params).await.unwrap();
        for item in page.items {
            let count: u64 = item.labels()["count"].parse().unwrap();
            assert_eq!(item.data, map("", count).data, "{told}: {} is half written", item.name_any());
            assert!(found.insert(item.name_any(), count).is_none(), "{told}: {} is listed twice", item.name_any());
        }
        match page.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => params.continue_token = Some(next),
            None => break,
        }
    }
    for name in found.keys() {
        assert!(ledger.contains_key(name), "{told}: nobody wrote {name}");
    }
    for (name, entry) in ledger {
        let found = found.get(name).copied();
        let fits = |count: u64| match found {
            Some(found) => found == count,
            None => count == 0 || deletes(count),
        };
        let state = (entry.acknowledged..=entry.tried).find(|count| fits(*count));
        let state = state.unwrap_or_else(|| panic!("{told}: {name} is {found:?}, but {entry:?}"));
        // What was in flight has happened or has not; from here on it is known.
        *entry = Entry { tried: state, acknowledged: state, exists: found.is_some() };
    }
}

/// Good enough to pick moments by.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigkill_loses_nothing_acknowledged() {
    let long = std::env::var_os("BESSEMER_LONG").is_some_and(|value| !value.is_empty() && value != "0");
    let rounds = number("BESSEMER_ROUNDS").unwrap_or(if long { 1000 } else { 30 });
    let seed = number("BESSEMER_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        u64::from(now.subsec_nanos()) ^ now.as_secs()
    });
    println!("seed {seed}");
    let mut random = Random(seed);
    let dir = tempfile::TempDir::new().unwrap();
    let ledger = Arc::new(Mutex::new(Ledger::new()));
    let (mut acknowledged, mut early) = (0, 0);
    for round in 0..rounds {
        let told = format!("seed {seed}, round {round}");
        let mut server = Server::start(dir.path());
        // Some are killed while they start, which reads and repairs what the one before left.
        if random.below(8) == 0 {
            tokio::time::sleep(Duration::from_millis(random.below(60))).await;
            server.kill();
            early += 1;
            continue;
        }
        assert!(server.is_ready(), "{told}: the server does not start");
        let maps: Api<ConfigMap> = Api::default_namespaced(client(dir.path()).await);
        let mut known = ledger.lock().unwrap().clone();
        check(&maps, &mut known, &told).await;
        *ledger.lock().unwrap() = known;
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| tokio::spawn(write(maps.clone(), Arc::clone(&ledger), writer))).collect();
        tokio::time::sleep(Duration::from_millis(random.below(250))).await;
        server.kill();
        for writer in writers {
            acknowledged += writer.await.unwrap();
        }
        if round % 100 == 99 {
            println!("{} rounds, {acknowledged} acknowledged writes, 0 lost", round + 1);
        }
    }
    let mut server = Server::start(dir.path());
    assert!(server.is_ready(), "the server does not start after the last kill");
    let maps: Api<ConfigMap> = Api::default_namespaced(client(dir.path()).await);
    let mut known = ledger.lock().unwrap().clone();
    check(&maps, &mut known, "at the end").await;
    println!("{rounds} x SIGKILL ({early} while starting), {acknowledged} acknowledged writes, 0 lost (seed {seed})");
    assert!(acknowledged >= rounds, "too few writes to say anything");
}
