//! The corpus against an embedded and a real server. Set `BESSEMER_KUBE_BIN` to the folder that
//! `cargo xtask kubernetes` prints, and `BESSEMER_TEST_DATA` to have people's manifests tried as well.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::Instant;

use bessemer_conformance::corpus::{self, File};
use bessemer_conformance::embedded::Embedded;
use bessemer_conformance::kubeconfig::Access;
use bessemer_conformance::outcome::Outcome;
use bessemer_conformance::{accepted, compare, run, seed};
use bessemer_kube_peer::RealApi;
use serde_json::Value;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A real server, or none when there are no programs to run.
async fn real(test: &str) -> Option<RealApi> {
    let programs = match bessemer_kube_peer::programs() {
        Ok(programs) => programs,
        Err(reason) => {
            println!("SKIP {test}: {reason}");
            return None;
        }
    };
    let start = move || RealApi::start_with_collectors(&programs).unwrap();
    Some(tokio::task::spawn_blocking(start).await.unwrap())
}

async fn answers(access: &Access, files: &[File], crds: &[Value]) -> Vec<Outcome> {
    let begun = Instant::now();
    let outcomes = run::run(access, files, crds, "").await.unwrap();
    println!("{} requests to {} in {:.1} s", outcomes.len(), access.address, begun.elapsed().as_secs_f32());
    outcomes
}

/// Both must give the same answers but for what `list` accepts, and all of that must still be there.
fn same(wanted: &[Outcome], found: &[Outcome], list: &[accepted::Accepted]) {
    let differences = compare::compare(wanted, found);
    let judgement = accepted::judge(&differences, list);
    let report = compare::report(wanted, &judgement);
    println!("{report}");
    assert!(judgement.unlisted.is_empty() && judgement.vanished.is_empty(), "see the report above");
}

async fn compared(real: &RealApi, files: &[File], crds: &[Value], list: &str) {
    let access = Access::load(&real.kubeconfig).unwrap();
    let embedded = Embedded::start().await.unwrap();
    let (wanted, found) = tokio::join!(answers(&access, files, crds), answers(&embedded.access, files, crds));
    same(&wanted, &found, &accepted::load(&here().join(list)).unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_give_the_same_answers() {
    let Some(real) = real("both_servers_give_the_same_answers").await else { return };
    let files = corpus::load(&here().join("corpus")).unwrap();
    let crds = run::definitions(&here().join("../../manifests/crds")).unwrap();
    compared(&real, &files, &crds, "accepted.yaml").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_treat_peoples_manifests_alike() {
    let Some(data) = std::env::var_os("BESSEMER_TEST_DATA") else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return;
    };
    let Some(real) = real("both_servers_treat_peoples_manifests_alike").await else { return };
    let crds = run::definitions(&Path::new(&data).join("crds")).unwrap();
    let files = seed::all(Path::new(&data), &crds).unwrap();
    compared(&real, &files, &crds, "accepted-manifests.yaml").await;
}

/// What differs between two runs of the same server is a fault of the harness.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a minute, and proves the harness only"]
async fn a_real_server_agrees_with_itself() {
    let Some(one) = real("a_real_server_agrees_with_itself").await else { return };
    let Some(other) = real("a_real_server_agrees_with_itself").await else { return };
    let files = corpus::load(&here().join("corpus")).unwrap();
    let crds = run::definitions(&here().join("../../manifests/crds")).unwrap();
    let (one, other) = (Access::load(&one.kubeconfig).unwrap(), Access::load(&other.kubeconfig).unwrap());
    let (wanted, found) = tokio::join!(answers(&one, &files, &crds), answers(&other, &files, &crds));
    same(&wanted, &found, &[]);
}
