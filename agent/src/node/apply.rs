//! Carries out user data: cloud-init's modules in cloud-init's order, each step once. The first failure is the end, with its reason in the report.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use bessemer_cloud_config::modules::Command;
use bessemer_cloud_config::user_data::Script;
use bessemer_cloud_config::{CloudConfig, Module, RealPrograms, System, user_data};
use bessemer_protocol::{Bootstrap, NodePhase};
use serde_json::{Map, Value};
use tracing::{info, warn};

use super::command::{self, Failed, Order, set};
use super::journal::{Journal, Step};
use super::run::Place;
use super::shell::Shell;
use super::{Reporter, provider_id, secrets};
use crate::mask::{self, Masker};

/// What is carried out, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Orders<'a> {
    /// The user data.
    pub(super) data: &'a Bootstrap,
    /// What templates see, and what the host is called.
    pub(super) meta_data: &'a Map<String, Value>,
    /// `/`, other than in tests: what modules write goes below it, and only of `/` do they change what runs. Commands run in `/` always.
    pub(super) root: &'a Path,
    /// Where the shell's state is between commands; gone after a restart, like every shell.
    pub(super) run: &'a Path,
}

/// Applies what is not applied yet. How it ended is in the report and in the journal.
pub(super) async fn apply(orders: Orders<'_>, journal: &mut Journal, reporter: &Reporter) {
    let data = orders.data;
    if let Some(ended) = journal.ended() {
        info!("bootstrap of {} ended in an earlier run", data.claim);
        return set(reporter, ended.clone());
    }
    let phase = match Box::pin(steps(orders, journal, reporter)).await {
        Ok(()) => NodePhase::Done,
        Err(Failed { step, cause, tail, log }) => {
            // Not all causes come out of output that was masked as it was heard.
            let cause = Masker::default().mask(&cause);
            warn!("bootstrap failed at {step}: {cause}");
            NodePhase::Failed { step, cause, tail, log }
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

async fn steps(orders: Orders<'_>, journal: &mut Journal, reporter: &Reporter) -> Result<(), Failed> {
    let Orders { data, meta_data, .. } = orders;
    let read =
        user_data::read(data.data.as_bytes(), meta_data).map_err(|error| Failed::new("bootstrap data", error))?;
    let said = read.config.to_json();
    let config = CloudConfig::new(read, meta_data).map_err(|error| Failed::new("bootstrap data", error))?;
    mask::learn(secrets::of(&said, &config.write_files));
    caution(reporter, &config.warnings);
    let config = Arc::new(config);
    let instance = meta_data.get("instance-id").or_else(|| meta_data.get("uuid")).and_then(Value::as_str);
    let shell = Shell::new(orders.run, &data.claim, instance.unwrap_or(&data.claim));
    let place = Place::new(orders.run, &data.claim);
    for module in config.modules() {
        let commands: Vec<Command> = match module {
            Module::Bootcmd => config.bootcmd.clone(),
            Module::Runcmd => config.runcmd.clone(),
            Module::Scripts | Module::LateScripts => {
                let late = module == Module::LateScripts;
                let chosen = config.scripts.iter().filter(|script| script.is_late() == late);
                scripts(chosen, journal.folder()).map_err(|error| Failed::new(module.name(), error))?
            }
            _ => {
                once(module, &config, orders, journal, reporter).await?;
                continue;
            }
        };
        for (index, command) in commands.iter().enumerate() {
            let step = format!("{}/{index}", module.name());
            let process = match (journal.step(&step), journal.process()) {
                (Step::Done, _) => continue,
                // It may still run, or has told how it ended.
                (Step::Interrupted, Some(process)) if process.is_of_this_start() => Some(process.clone()),
                (Step::Interrupted, Some(_)) => return Err(interrupted(&step)),
                // Without a process nothing has run yet.
                (Step::Interrupted | Step::New, _) => {
                    noted(journal.begin(&step))?;
                    None
                }
            };
            let line = shell.line(&command.line);
            let order = Order { step: &step, words: &command.words, line: &line, process };
            Box::pin(command::carry_out(order, journal, &place, reporter)).await?;
            noted(journal.finish(&step))?;
            place.clear();
        }
    }
    Ok(())
}

/// A module that is no list of commands.
async fn once(
    module: Module,
    config: &Arc<CloudConfig>,
    orders: Orders<'_>,
    journal: &mut Journal,
    reporter: &Reporter,
) -> Result<(), Failed> {
    let step = module.name();
    match journal.step(step) {
        Step::Done => return Ok(()),
        Step::Interrupted if !config.may_repeat(module) => return Err(interrupted(step)),
        Step::Interrupted | Step::New => {}
    }
    set(reporter, NodePhase::Applying { step: step.to_owned() });
    noted(journal.begin(step))?;
    let (config, id, root) = (Arc::clone(config), orders.data.provider_id.clone(), orders.root.to_owned());
    let applied = tokio::task::spawn_blocking(move || {
        let mut system = System::new(root, &RealPrograms);
        let result = config.apply(module, &mut system, &|_, content| with_provider_id(content, &id));
        (result, system.warnings)
    });
    let (result, warnings) = applied.await.map_err(|error| Failed::new(step, error))?;
    caution(reporter, &warnings);
    result.map_err(|error| Failed::new(step, error))?;
    noted(journal.finish(step))
}

/// What is left out is said, not dropped.
fn caution(reporter: &Reporter, warnings: &[String]) {
    for warning in warnings {
        warn!("{warning}");
    }
    reporter.send_if_modified(|report| {
        let new: Vec<String> = warnings.iter().filter(|warning| !report.warnings.contains(warning)).cloned().collect();
        report.warnings.extend(new.iter().take(MOST_WARNINGS.saturating_sub(report.warnings.len())).cloned());
        !new.is_empty()
    });
}

/// Most warnings that are reported; all are in the log.
const MOST_WARNINGS: usize = 50;

/// Scripts that came as parts, each in a file of its own, as commands.
fn scripts<'a>(scripts: impl Iterator<Item = &'a Script>, folder: &Path) -> io::Result<Vec<Command>> {
    let folder = folder.join("scripts");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    let mut commands = Vec::new();
    for script in scripts {
        let path = folder.join(&script.name);
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o700).open(&path)?;
        file.write_all(script.text.as_bytes())?;
        file.sync_all()?;
        let words = path.display().to_string();
        commands.push(Command { line: format!("'{words}'"), words });
    }
    Ok(commands)
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

/// A file with the provider id in it, where it is kubeadm's and there is one.
fn with_provider_id(content: Vec<u8>, id: &str) -> Result<Vec<u8>, String> {
    match std::str::from_utf8(&content) {
        Ok(text) if !id.is_empty() => {
            provider_id::add(text, id).map(String::into_bytes).map_err(|error| error.to_string())
        }
        _ => Ok(content),
    }
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

    /// Below `folder`: this machine keeps its name and files.
    async fn carried_out(
        folder: &Path,
        data: &Bootstrap,
        meta_data: &Value,
        journal: &mut Journal,
        reporter: &Reporter,
    ) {
        let meta_data = meta_data.as_object().unwrap();
        let orders = Orders { data, meta_data, root: folder, run: &folder.join("run") };
        apply(orders, journal, reporter).await;
    }

    async fn applied(folder: &Path, text: &str) -> NodePhase {
        let reporter = reporter();
        let mut journal = Journal::open(&folder.join("journal"), "metal/m0").unwrap();
        let data = data(text.replace("DIR", folder.to_str().unwrap()));
        let meta_data = serde_json::json!({"local-hostname": "n1", "instance-id": "i-1"});
        carried_out(folder, &data, &meta_data, &mut journal, &reporter).await;
        reporter.borrow().phase.clone()
    }

    #[tokio::test]
    async fn files_come_before_commands_and_nothing_runs_twice() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nwrite_files:\n- path: /kubeadm.yaml\n  content: |\n    apiVersion: kubeadm.k8s.io/v1beta4\n    kind: InitConfiguration\nruncmd:\n- cat DIR/kubeadm.yaml >> DIR/ran\n- [sh, -c, 'echo two >> DIR/ran']\n";
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
    async fn what_was_delivered_is_in_no_report() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nmy_password: pw-delivered-1\nwrite_files:\n- {path: /conf, permissions: '0640', content: 'certificateKey: ck-delivered-2'}\n- {path: /env, permissions: '0600', content: 'LOGIN=login-delivered-3'}\nruncmd:\n- LOGIN=login-delivered-3 cat DIR/conf DIR/env /no/pw-delivered-1 >&2; exit 7\n";
        match applied(folder.path(), text).await {
            NodePhase::Failed { step, cause, tail, .. } => {
                let all = format!("{step} {cause} {}", tail.join(" "));
                assert!(!all.contains("delivered"), "{all}");
                assert!(tail.iter().any(|line| line.contains("***")), "{all}");
                assert_eq!(cause, "***: ended with exit status: 7");
            }
            other => panic!("{other:?}"),
        }
        let log = std::fs::read_to_string(folder.path().join("journal/bootstrap.log")).unwrap();
        assert!(!log.contains("delivered"), "{log}");
    }

    #[tokio::test]
    async fn a_command_that_a_restart_of_the_host_interrupted_is_not_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
        journal.begin("set_hostname").unwrap();
        journal.finish("set_hostname").unwrap();
        journal.begin("runcmd/0").unwrap();
        let of_another_start = serde_json::json!({"pid": 1, "started": 1, "boot_id": "another"});
        journal.runs(&serde_json::from_value(of_another_start).unwrap()).unwrap();
        let phase = applied(folder.path(), "#cloud-config\nruncmd:\n- touch DIR/ran\n").await;
        assert!(matches!(phase, NodePhase::Failed { step, .. } if step == "runcmd/0"));
        assert!(!folder.path().join("ran").exists());
    }

    /// As often as the agent is killed: its first two lives end in the midst of the second command.
    #[tokio::test]
    async fn a_command_outlives_its_agent_and_the_next_agent_goes_on_from_it() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nruncmd:\n- export KEPT=kept\n- echo begun | tee -a DIR/begun; until [ -e DIR/go ]; do sleep 0.02; done; echo ended; true\n- echo \"$KEPT\" > DIR/after\n";
        for _ in 0..2 {
            let mut first = Box::pin(applied(folder.path(), text));
            let begun = async {
                while std::fs::read_to_string(folder.path().join("begun")).is_err() {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                }
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            };
            tokio::select! {
                phase = &mut first => panic!("{phase:?}"),
                () = begun => {}
            }
            std::mem::forget(first);
        }
        std::fs::write(folder.path().join("go"), "").unwrap();
        let last = tokio::time::timeout(std::time::Duration::from_secs(20), applied(folder.path(), text));
        assert_eq!(last.await.unwrap(), NodePhase::Done);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!((read("begun").as_str(), read("after").as_str()), ("begun\n", "kept\n"));
        let left: Vec<_> = std::fs::read_dir(folder.path().join("run")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[tokio::test]
    async fn a_step_that_was_begun_and_not_yet_run_is_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
        journal.begin("runcmd/0").unwrap();
        assert_eq!(applied(folder.path(), "#cloud-config\nruncmd:\n- touch DIR/ran\n").await, NodePhase::Done);
        assert!(folder.path().join("ran").exists());
    }

    /// A stand-in for kubeadm that the agent before this one has started.
    #[tokio::test]
    async fn a_kubeadm_whose_agent_was_killed_is_judged_by_its_own_end() {
        for (end, expected) in [
            ("echo success > DIR/sentinel", None),
            (
                "echo 'error: error execution phase certs: something new' >&2; exit 1",
                Some(("kubeadm init certs", "something new")),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path().to_str().unwrap();
            let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
            journal.begin("set_hostname").unwrap();
            journal.finish("set_hostname").unwrap();
            journal.begin("runcmd/0").unwrap();
            let place = Place::new(&folder.path().join("run"), "metal/m0");
            let line =
                format!("echo '[certs] a'; until [ -e {dir}/go ]; do sleep 0.02; done; {}", end.replace("DIR", dir));
            let (told, process) = tokio::sync::oneshot::channel();
            let note = |process: &super::super::run::Process| {
                journal.runs(process)?;
                told.send(()).map_err(|()| io::ErrorKind::Other.into())
            };
            let mut running = Box::pin(super::super::run::run(&line, &place, note, |_| {}));
            tokio::select! {
                ended = &mut running => panic!("{ended:?}"),
                process = process => process.unwrap(),
            }
            std::mem::forget(running);

            let reporter = reporter();
            let mut reports = reporter.subscribe();
            let data = data("#cloud-config\nruncmd:\n- kubeadm init --config /no/such/file\n".into());
            let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
            let meta_data = serde_json::json!({"local-hostname": "n1", "instance-id": "i-1"});
            let going_on = async {
                let certs = NodePhase::Kubeadm { command: "init".into(), kubeadm_phase: "certs".into() };
                reports.wait_for(|report| report.phase == certs).await.unwrap();
                std::fs::write(folder.path().join("go"), "").unwrap();
            };
            let both = async {
                tokio::join!(carried_out(folder.path(), &data, &meta_data, &mut journal, &reporter), going_on)
            };
            tokio::time::timeout(std::time::Duration::from_secs(20), both).await.unwrap();
            match (&reporter.borrow().phase, expected) {
                (NodePhase::Done, None) => assert!(folder.path().join("sentinel").exists()),
                (NodePhase::Failed { step, cause, .. }, Some(expected)) => {
                    assert_eq!((step.as_str(), cause.as_str()), expected)
                }
                (phase, expected) => panic!("{phase:?} in place of {expected:?}"),
            }
        }
    }

    #[tokio::test]
    async fn templates_know_the_meta_data_and_what_is_left_out_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let text = "## template: jinja\n#cloud-config\nsnap: {commands: [x]}\nwrite_files:\n- {path: /name, content: '{{ ds.meta_data.local_hostname }}'}\nruncmd: [true]\n";
        let reporter = reporter();
        let mut journal = Journal::open(&folder.path().join("journal"), "metal/m0").unwrap();
        let data = data(text.replace("DIR", folder.path().to_str().unwrap()));
        let meta_data = serde_json::json!({"local-hostname": "n1"});
        carried_out(folder.path(), &data, &meta_data, &mut journal, &reporter).await;
        let report = reporter.borrow().clone();
        assert_eq!(report.phase, NodePhase::Done);
        assert_eq!(report.warnings, ["cloud-config key \"snap\" is not carried out"]);
        assert_eq!(std::fs::read_to_string(folder.path().join("name")).unwrap(), "n1");
    }

    #[tokio::test]
    async fn a_shells_state_goes_from_command_to_command() {
        let folder = tempfile::tempdir().unwrap();
        let text = "#cloud-config\nruncmd:\n- export A=\"it's\"\n- B=2; umask 077\n- [cd, DIR]\n- 'echo \"$A $B $PWD $INSTANCE_ID $(umask)\" > out'\n";
        assert_eq!(applied(folder.path(), text).await, NodePhase::Done);
        let out = std::fs::read_to_string(folder.path().join("out")).unwrap();
        assert_eq!(out, format!("it's 2 {} i-1 0077\n", folder.path().display()));
    }
}
