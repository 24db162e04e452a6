//! The script against the embedded API and against a real kube-apiserver, with the real `kubectl`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::time::Instant;

use bessemer_apiserver::ApiServer;
use bessemer_kube_peer::{RealApi, programs};
use bessemer_kubectl_script::{Answer, Differences, Found, Script, Session, folder};

/// Names a folder for what both servers answered.
const TRANSCRIPTS: &str = "BESSEMER_TRANSCRIPTS";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the embedded API is not complete"]
async fn kubectl_cannot_tell_the_servers_apart() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return println!("SKIP {reason}"),
    };
    let kubectl = programs.join("kubectl");
    let script = Script::read(&folder().join("script")).unwrap();
    let dir = tempfile::TempDir::new().unwrap();

    let api = ApiServer::open(&dir.path().join("state")).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listening = api.serve_https("127.0.0.1:0".parse().unwrap(), &[], async {
        let _ = stopped.await;
    });
    let serving = listening.await.unwrap();

    let embedded = {
        let (script, kubectl, home) = (script.clone(), kubectl.clone(), dir.path().join("embedded"));
        let kubeconfig = serving.kubeconfig_path.clone();
        tokio::task::spawn_blocking(move || run_all(&script, &home, &kubectl, &kubeconfig, "embedded"))
    };
    let real = {
        let (script, home) = (script.clone(), dir.path().join("real"));
        tokio::task::spawn_blocking(move || {
            let real = RealApi::start_with_controllers(&programs).unwrap();
            run_all(&script, &home, &kubectl, &real.kubeconfig, "real")
        })
    };
    let (real, embedded) = (real.await.unwrap(), embedded.await.unwrap());
    stop.send(()).unwrap();
    serving.finished().await;

    let answers = script.0.iter().zip(real.iter().zip(&embedded));
    let found: Vec<Found> =
        answers.filter_map(|(step, (real, ours))| Found::between(&step.name, &real.lines, &ours.lines)).collect();
    let list = folder().join("differences.txt");
    let known = Differences::read(&list).unwrap();
    println!("{} steps, {} of them answered differently", script.0.len(), found.len());
    if std::env::var_os("BESSEMER_UPDATE_DIFFERENCES").is_some() {
        std::fs::write(&list, known.renewed(&found)).unwrap();
    }
    for (step, answer) in script.0.iter().zip(&real) {
        assert!(!answer.overdue, "[{}] is not done in time on a real server: {:?}", step.name, answer.lines);
    }
    let complaints = known.complaints(&found);
    assert!(complaints.is_empty(), "{} complaints:\n\n{}", complaints.len(), complaints.join("\n\n"));
}

fn run_all(script: &Script, home: &Path, kubectl: &Path, kubeconfig: &Path, name: &str) -> Vec<Answer> {
    let session = Session::new(home, kubectl, kubeconfig).unwrap();
    let begin = Instant::now();
    let mut transcript = String::new();
    let mut answers = Vec::new();
    for step in &script.0 {
        let start = Instant::now();
        let answer = session.run(step).unwrap();
        let took = start.elapsed();
        if took.as_secs() >= 10 {
            println!("{name}: [{}] took {took:.1?}", step.name);
        }
        transcript += &format!("[{}]\n{}{}\n\n", step.name, step.commands, answer.lines.join("\n"));
        answers.push(answer);
    }
    println!("{name}: {} steps in {:.1?}", answers.len(), begin.elapsed());
    if let Some(folder) = std::env::var_os(TRANSCRIPTS) {
        std::fs::write(Path::new(&folder).join(format!("{name}.txt")), transcript).unwrap();
    }
    answers
}
