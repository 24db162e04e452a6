//! Applies a cloud-config: files, then commands in order, each step once. The first failure is the end, with its reason in the report.

use std::io;
use std::path::Path;

use bessemer_protocol::{Bootstrap, NodePhase};
use tracing::{info, warn};

use super::cloud_config::{self, RunCommand, WriteFile};
use super::journal::{Journal, Step};
use super::run::{self, RunFailure};
use super::{Reporter, files, kubeadm, provider_id};

/// The name of the step that writes files.
const FILES: &str = "write_files";

struct Failed {
    step: String,
    cause: String,
    tail: Vec<String>,
}

impl Failed {
    fn new(step: &str, cause: impl std::fmt::Display) -> Self {
        Self { step: step.to_owned(), cause: cause.to_string(), tail: Vec::new() }
    }
}

/// Applies what is not applied yet. How it ended is in the report and in the journal.
pub(super) async fn apply(data: &Bootstrap, journal: &mut Journal, reporter: &Reporter) {
    if let Some(ended) = journal.ended() {
        info!("bootstrap of {} ended in an earlier run", data.claim);
        return set(reporter, ended.clone());
    }
    let phase = match Box::pin(steps(data, journal, reporter)).await {
        Ok(()) => NodePhase::Done,
        Err(Failed { step, cause, tail }) => {
            warn!("bootstrap failed at {step}: {cause}");
            NodePhase::Failed { step, cause, tail, log: None }
        }
    };
    if phase == NodePhase::Done {
        info!("bootstrap of {} is done", data.claim);
    }
    if let Err(error) = journal.end(phase.clone()) {
        warn!("journal: {error}");
    }
    set(reporter, phase);
}

async fn steps(data: &Bootstrap, journal: &mut Journal, reporter: &Reporter) -> Result<(), Failed> {
    let config = cloud_config::parse(&data.data).map_err(|error| Failed::new("bootstrap data", error))?;
    if config.ntp.is_some() {
        info!("cloud-config's ntp is left to the image's own time service");
    }
    // Writing files again does no harm, unless one of them is appended to.
    if journal.step(FILES) == Step::Interrupted && config.write_files.iter().any(|file| file.append) {
        return Err(interrupted(FILES));
    }
    if journal.step(FILES) != Step::Done {
        set(reporter, NodePhase::Applying { step: FILES.to_owned() });
        noted(journal.begin(FILES))?;
        for file in &config.write_files {
            write(file, &data.provider_id).map_err(|error| Failed::new(FILES, error))?;
        }
        noted(journal.finish(FILES))?;
    }
    for (index, command) in config.runcmd.iter().enumerate() {
        let step = format!("runcmd/{index}");
        match journal.step(&step) {
            Step::Done => continue,
            Step::Interrupted => return Err(interrupted(&step)),
            Step::New => {}
        }
        noted(journal.begin(&step))?;
        Box::pin(run_step(&step, command, reporter)).await?;
        noted(journal.finish(&step))?;
    }
    Ok(())
}

/// kubeadm cannot be run again over what it left, and most commands were not made for it.
fn interrupted(step: &str) -> Failed {
    Failed::new(
        step,
        "the host or its agent was restarted while this step ran; it is not run twice: deploy the host again",
    )
}

fn noted(result: io::Result<()>) -> Result<(), Failed> {
    result.map_err(|error| Failed::new("journal", error))
}

fn write(file: &WriteFile, id: &str) -> Result<(), String> {
    let mut content = files::decode(file).map_err(|error| error.to_string())?;
    if let Ok(text) = std::str::from_utf8(&content) {
        content = provider_id::add(text, id).map_err(|error| format!("{}: {error}", file.path))?.into_bytes();
    }
    files::write(Path::new("/"), file, &content).map_err(|error| error.to_string())
}

async fn run_step(step: &str, command: &RunCommand, reporter: &Reporter) -> Result<(), Failed> {
    let words = run::words(command);
    let kubeadm = kubeadm::command(&words);
    info!("{step}: {}", super::mask::Masker::default().mask(words.lines().next().unwrap_or_default()));
    set(
        reporter,
        match kubeadm {
            Some(command) => NodePhase::Kubeadm { command: command.to_owned(), kubeadm_phase: "starting".to_owned() },
            None => NodePhase::Applying { step: step.to_owned() },
        },
    );
    let mut current = None;
    let result = run::run(command, |line| {
        info!("{line}");
        if let Some((command, phase)) = kubeadm.zip(kubeadm::phase(line))
            && current.as_deref() != Some(phase)
        {
            current = Some(phase.to_owned());
            set(reporter, NodePhase::Kubeadm { command: command.to_owned(), kubeadm_phase: phase.to_owned() });
        }
    })
    .await;
    result.map_err(|RunFailure { how, tail }| {
        let known = kubeadm.and_then(|_| kubeadm::cause(&tail));
        let (phase, cause) = known.unwrap_or_else(|| (None, format!("{}: {how}", first_word(&words))));
        let step = match kubeadm {
            Some(command) => {
                format!("kubeadm {command} {}", phase.or(current).unwrap_or_default()).trim_end().to_owned()
            }
            None => step.to_owned(),
        };
        Failed { step, cause, tail }
    })
}

fn first_word(words: &str) -> &str {
    words.split_whitespace().next().unwrap_or("command")
}

fn set(reporter: &Reporter, phase: NodePhase) {
    reporter.send_if_modified(|report| {
        let changed = report.phase != phase;
        report.phase = phase;
        changed
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bessemer_protocol::NodeReport;
    use tokio::sync::watch;

    use super::*;

    fn reporter() -> Reporter {
        let report = NodeReport { hostname: "n".into(), ..NodeReport::default() };
        Arc::new(watch::Sender::new(report))
    }

    fn data(text: String) -> Bootstrap {
        Bootstrap {
            claim: "metal/m0".into(),
            format: "cloud-config".into(),
            data: text,
            provider_id: "metal3://x".into(),
        }
    }

    async fn applied(folder: &Path, text: &str) -> NodePhase {
        let reporter = reporter();
        let mut journal = Journal::open(&folder.join("journal"), "metal/m0").unwrap();
        apply(&data(text.replace("DIR", folder.to_str().unwrap())), &mut journal, &reporter).await;
        reporter.borrow().phase.clone()
    }

    #[tokio::test]
    async fn files_come_before_commands_and_nothing_runs_twice() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nwrite_files:\n- path: DIR/kubeadm.yaml\n  content: |\n    apiVersion: kubeadm.k8s.io/v1beta4\n    kind: InitConfiguration\nruncmd:\n- cat DIR/kubeadm.yaml >> DIR/ran\n- [sh, -c, 'echo two >> DIR/ran']\n";
        for _ in 0..2 {
            assert_eq!(applied(folder.path(), text).await, NodePhase::Done);
        }
        let ran = std::fs::read_to_string(folder.path().join("ran")).unwrap();
        assert!(ran.contains("metal3://x"), "{ran}");
        assert_eq!(ran.matches("two").count(), 1);
    }

    #[tokio::test]
    async fn the_first_failure_ends_it_and_is_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nruncmd:\n- echo why >&2; exit 7\n- touch DIR/after\n";
        for _ in 0..2 {
            match applied(folder.path(), text).await {
                NodePhase::Failed { step, cause, tail, .. } => {
                    assert_eq!((step.as_str(), cause.as_str()), ("runcmd/0", "echo: ended with exit status: 7"));
                    assert_eq!(tail, ["why"]);
                }
                other => panic!("{other:?}"),
            }
        }
        assert!(!folder.path().join("after").exists());
    }

    #[tokio::test]
    async fn an_interrupted_command_is_not_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
        journal.begin(FILES).unwrap();
        journal.finish(FILES).unwrap();
        journal.begin("runcmd/0").unwrap();
        let phase = applied(folder.path(), "#cloud-config\nruncmd:\n- touch DIR/ran\n").await;
        assert!(matches!(phase, NodePhase::Failed { step, .. } if step == "runcmd/0"));
        assert!(!folder.path().join("ran").exists());
    }

    #[tokio::test]
    async fn kubeadms_own_words_become_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("kubeadm");
        std::fs::write(&script, "#!/bin/sh\necho '[preflight] Running'\necho '[certs] x'\necho 'error execution phase certs: no space left' >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        match applied(folder.path(), "#cloud-config\nruncmd:\n- DIR/kubeadm init --config x\n").await {
            NodePhase::Failed { step, cause, .. } => {
                assert_eq!((step.as_str(), cause.as_str()), ("kubeadm init certs", "no space left"));
            }
            other => panic!("{other:?}"),
        }
    }
}
