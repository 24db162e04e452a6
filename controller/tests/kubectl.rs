//! The script of `kubectl` commands against `bessemer up` and against a real kube-apiserver, with the real `kubectl`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use bessemer_kube_peer::{RealApi, programs};
use bessemer_kubectl_script::{Answer, Differences, Found, Script, Session, Step, folder};

/// Names a folder for what both servers answered.
const TRANSCRIPTS: &str = "BESSEMER_TRANSCRIPTS";

/// `bessemer up` starts in a fraction of a second; beside compilers it takes longer.
const STARTS: Duration = Duration::from_secs(60);

/// `bessemer up`, as a user without a rack starts it: the API and nothing else.
struct Up {
    child: Child,
    kubeconfig: PathBuf,
}

impl Up {
    fn start(dir: &Path) -> Self {
        let kubeconfig = dir.join("kubeconfig");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bessemer"));
        command.args(["up", "--controllers", "none", "--api", "127.0.0.1:0", "--state"]).arg(dir.join("state"));
        command.arg("--kubeconfig").arg(&kubeconfig).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(dir.join("log")).unwrap());
        let begin = Instant::now();
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let (said, first) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            // it ended when there is no line: the receiver sees an empty one
            lines.read_line(&mut line).ok();
            said.send(line).ok();
            std::io::copy(&mut lines, &mut std::io::sink()).ok();
        });
        let line = first.recv_timeout(STARTS).unwrap_or_default();
        assert!(!line.is_empty(), "no word of bessemer up: {}", std::fs::read_to_string(dir.join("log")).unwrap());
        println!("bessemer up: {} after {:.2?}", line.trim(), begin.elapsed());
        Self { child, kubeconfig }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // one that has ended cannot be killed
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn kubectl_cannot_tell_the_servers_apart() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return println!("SKIP {reason}"),
    };
    let kubectl = programs.join("kubectl");
    let script = Script::read(&folder().join("script")).unwrap();
    let dir = tempfile::TempDir::new().unwrap();
    let (real, embedded) = std::thread::scope(|scope| {
        let real = scope.spawn(|| {
            let real = RealApi::start_with_controllers(&programs).unwrap();
            let session = Session::new(&dir.path().join("real"), &kubectl, &real.kubeconfig).unwrap();
            // `bessemer up` brings them along
            let install = Step { name: String::new(), commands: "kubectl create -f crds/ >/dev/null".to_owned() };
            assert_eq!(session.run(&install).unwrap().lines, Vec::<String>::new());
            run_all(&script, &session, "real")
        });
        let up = Up::start(dir.path());
        let session = Session::new(&dir.path().join("embedded"), &kubectl, &up.kubeconfig).unwrap();
        let embedded = run_all(&script, &session, "embedded");
        (real.join().unwrap(), embedded)
    });

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

fn run_all(script: &Script, session: &Session, name: &str) -> Vec<Answer> {
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
