//! The corpus against an embedded and a real server. Set `BESSEMER_KUBE_BIN` to the folder that
//! `cargo xtask kubernetes` prints, and `BESSEMER_TEST_DATA` to have people's manifests tried as well.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use bessemer_conformance::corpus::{self, File};
use bessemer_conformance::embedded::Embedded;
use bessemer_conformance::kubeconfig::Access;
use bessemer_conformance::outcome::Outcome;
use bessemer_conformance::rounds::{Rounds, Verdict};
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

/// What is wrong with two runs: differences that `list` does not accept, and what it accepts that is not there. By
/// request and place.
fn faults(wanted: &[Outcome], found: &[Outcome], list: &[accepted::Accepted]) -> BTreeSet<String> {
    let differences = compare::compare(wanted, found);
    let judgement = accepted::judge(&differences, list);
    println!("{}", compare::report(wanted, &judgement));
    let unlisted = judgement.unlisted.iter().map(|difference| format!("{} {}", difference.id, difference.at));
    let vanished = judgement.vanished.iter().map(|entry| format!("{} vanished", entry.id));
    unlisted.chain(vanished).collect()
}

/// Leaves a record for `bessemer-conformance compare` in the folder that a variable names, if it is set.
fn keep(name: &str, outcomes: &[Outcome]) {
    if let Some(folder) = std::env::var_os("BESSEMER_CONFORMANCE_RECORDS") {
        std::fs::write(Path::new(&folder).join(name), serde_json::to_vec_pretty(outcomes).unwrap()).unwrap();
    }
}

/// Runs `files` on two new servers. At least so many requests must have been answered by both, whatever they said.
async fn once(
    real: &RealApi,
    files: &[File],
    crds: &[Value],
    list: &[accepted::Accepted],
    least: usize,
) -> BTreeSet<String> {
    let access = Access::load(&real.kubeconfig).unwrap();
    let embedded = Embedded::start().await.unwrap();
    let (wanted, found) = tokio::join!(answers(&access, files, crds), answers(&embedded.access, files, crds));
    keep("wanted.json", &wanted);
    keep("found.json", &found);
    let answered = |outcomes: &[Outcome]| outcomes.iter().filter(|outcome| outcome.failure().is_none()).count();
    let both = answered(&wanted).min(answered(&found));
    println!("{} requests and {} made, {both} answered by both", wanted.len(), found.len());
    assert!(both >= least, "only {both} requests were answered by both servers; there must be {least}");
    faults(&wanted, &found, list)
}

/// Both must give the same answers but for what the list accepts, and all of that must still be there. What is wrong once
/// is tried twice more, and is wrong if it is wrong again. A corpus that shrank below `least` requests is wrong as well.
async fn compared(test: &str, files: &[File], crds: &[Value], list: &str, least: usize) {
    let list = accepted::load(&here().join(list)).unwrap();
    let mut rounds = Rounds::default();
    loop {
        let Some(real) = real(test).await else { return };
        let found = once(&real, files, crds, &list, least).await;
        if !found.is_empty() {
            println!("{test}: wrong in this run: {found:#?}");
        }
        match rounds.add(found) {
            Verdict::Right => break,
            Verdict::Again => {}
            Verdict::Wrong(twice) => panic!("wrong twice, see the reports above: {twice:#?}"),
        }
    }
    for fault in rounds.once_only() {
        println!("{test}: ONCE ONLY {fault}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_give_the_same_answers() {
    let files = corpus::load(&here().join("corpus")).unwrap();
    let crds = run::definitions(&here().join("../../manifests/crds")).unwrap();
    compared("both_servers_give_the_same_answers", &files, &crds, "accepted.yaml", 1480).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_servers_treat_peoples_manifests_alike() {
    let Some(data) = std::env::var_os("BESSEMER_TEST_DATA") else {
        println!("SKIP no test data: set BESSEMER_TEST_DATA");
        return;
    };
    let crds = run::definitions(&Path::new(&data).join("crds")).unwrap();
    let files = seed::all(Path::new(&data), &crds).unwrap();
    compared("both_servers_treat_peoples_manifests_alike", &files, &crds, "accepted-manifests.yaml", 176).await;
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
    assert_eq!(faults(&wanted, &found, &[]), BTreeSet::new());
}
