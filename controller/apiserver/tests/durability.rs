//! A killed process loses nothing that it acknowledged. The test runs itself as a child that writes, kills it with
//! SIGKILL in full flight, opens the store and looks for every write the child said was stored.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, PostParams};
use serde_json::json;

const CHILD_DIR: &str = "BESSEMER_TEST_WRITER_DIR";
const ROUNDS: usize = 5;
const WRITES_PER_ROUND: usize = 200;

/// Not a test of its own: the child's main, when the variable is set.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_writer() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let api = bessemer_apiserver::ApiServer::open(dir.as_ref()).await.unwrap();
    let client = kube::Client::new(api.router(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let writers = (0..8).map(|_| {
        let maps = maps.clone();
        tokio::spawn(async move {
            loop {
                let map: ConfigMap = serde_json::from_value(
                    json!({"metadata": {"generateName": "w-"}, "data": {"k": "v".repeat(2000)}}),
                )
                .unwrap();
                let made = maps.create(&PostParams::default(), &map).await.unwrap();
                let mut out = std::io::stdout().lock();
                writeln!(out, "stored {}", made.name_any()).unwrap();
                out.flush().unwrap();
            }
        })
    });
    futures::future::join_all(writers.collect::<Vec<_>>()).await;
}

#[tokio::test]
async fn sigkill_loses_nothing_acknowledged() {
    let dir = tempfile::TempDir::new().unwrap();
    let mut acknowledged = HashSet::new();
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_writer", "--nocapture"])
            .env(CHILD_DIR, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < WRITES_PER_ROUND + round * 7 {
            let line = lines.next().expect("the writer ended early").unwrap();
            if let Some((_, name)) = line.split_once("stored ") {
                acknowledged.insert(name.to_owned());
                seen += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Acknowledged before the kill, read after it.
        let rest = lines.map_while(Result::ok);
        acknowledged
            .extend(rest.filter_map(|line| Some(line.split_once("stored ")?.1.to_owned())).filter(|n| n.len() == 7));
    }
    let api = bessemer_apiserver::ApiServer::open(dir.path()).await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(kube::Client::new(api.router(), "default"));
    let found = maps.list(&ListParams::default()).await.unwrap();
    let found: HashSet<String> = found.items.iter().map(kube::ResourceExt::name_any).collect();
    let lost: Vec<_> = acknowledged.difference(&found).collect();
    println!("{} acknowledged writes, {} stored, {} lost", acknowledged.len(), found.len(), lost.len());
    assert!(acknowledged.len() >= ROUNDS * WRITES_PER_ROUND && lost.is_empty(), "{lost:?}");
}
