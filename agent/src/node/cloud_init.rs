//! What cloud-init does where it is the one who carries out the bootstrap data: read from the files that it and Cluster API leave, and only reported.
//!
//! cloud-init without errors is no proof: Cluster API's commands are one shell script, which ends as its last command does, and after a restart
//! cloud-init runs nothing and so finds nothing wrong. What counts is the file that those commands leave. It is in memory, so that the verdict is kept
//! in the journal.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use bessemer_protocol::NodePhase;
use serde_json::{Map, Value};
use tracing::{info, warn};

use super::journal::Journal;
use super::kubeadm::{cause, config::Config};
use super::run::plain;
use super::{Reporter, secrets};
use crate::mask::{self, Masker};

/// How often those files are looked at. Both are in memory. Short, as user data may restart the host as soon as kubeadm is done.
const PERIOD: Duration = Duration::from_secs(1);

/// What Cluster API's commands leave when kubeadm ended well.
const SENTINEL: &str = "run/cluster-api/bootstrap-success.complete";

/// cloud-init's word on all its stages, written at the end of the last.
const RESULT: &str = "run/cloud-init/result.json";

/// The instance's user data as it came.
const USER_DATA: &str = "var/lib/cloud/instance/user-data.txt";

/// What the commands printed.
const OUTPUT: &str = "var/log/cloud-init-output.log";

/// How much of the output's end is looked at for the cause, in bytes.
const LOOKED_AT: u64 = 64 * 1024;

/// How many of the output's last lines are reported.
const TAIL: usize = 20;

/// Reports until it is over. What an earlier start of the host or of the agent came to, by the journal, is not judged again.
pub(super) async fn watch(root: &Path, meta_data: &Map<String, Value>, journal: &mut Journal, reporter: &Reporter) {
    let mut ticks = tokio::time::interval(PERIOD);
    let mut knows_secrets = false;
    loop {
        ticks.tick().await;
        // What was delivered is in what is said of it only masked. cloud-init stores it before it carries anything out.
        if !knows_secrets && let Ok(data) = std::fs::read(root.join(USER_DATA)) {
            mask::learn(secrets::of_user_data(&data, meta_data));
            knows_secrets = true;
        }
        let phase = phase(root, journal.ended());
        let over = matches!(phase, NodePhase::Done | NodePhase::Failed { .. });
        if over
            && journal.ended() != Some(&phase)
            && let Err(error) = journal.end(phase.clone())
        {
            warn!("journal: {error}: after a restart it is not known how the bootstrap ended");
        }
        reporter.send_if_modified(|report| {
            let changed = report.phase != phase;
            report.phase = phase;
            changed
        });
        if over {
            info!("cloud-init is done with the bootstrap data");
            return;
        }
    }
}

/// `before` is what it came to earlier.
fn phase(root: &Path, before: Option<&NodePhase>) -> NodePhase {
    // Read first: between the two looks the commands may leave their file and cloud-init end.
    let result = std::fs::read(root.join(RESULT)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    if root.join(SENTINEL).exists() {
        return NodePhase::Done;
    }
    if let Some(before) = before {
        return before.clone();
    }
    let errors = result.as_ref().and_then(|result| result.get("v1")?.get("errors")?.as_array());
    errors.map_or_else(|| NodePhase::Applying { step: "cloud-init".to_owned() }, |errors| failed(root, errors))
}

/// cloud-init ended, and kubeadm did not say that it ended well.
fn failed(root: &Path, errors: &[Value]) -> NodePhase {
    const HOW: &str = "left no sign of success, though cloud-init ended";
    let mut masker = Masker::default();
    let words = |error: &Value| error.as_str().map_or_else(|| error.to_string(), str::to_owned);
    let errors: Vec<String> = errors.iter().map(|error| masker.mask(&words(error))).collect();
    let (output, problem) = match end_of(&root.join(OUTPUT)) {
        Ok(output) => (output, None),
        Err(error) => (String::new(), Some(format!("/{OUTPUT}: {error}"))),
    };
    let mut masker = Masker::default();
    let lines: Vec<String> = output.lines().map(|line| plain(line, &mut masker)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = cause::find(&lines, &Config::default(), HOW);
    let unknown = found.sentence.ends_with(HOW);
    let cause = errors.first().filter(|_| unknown).cloned().unwrap_or(found.sentence);
    let last = lines.get(lines.len().saturating_sub(TAIL)..).unwrap_or_default();
    let tail = last.iter().map(|line| (*line).to_owned()).chain(problem).chain(errors).collect();
    let log = Some(format!("/{OUTPUT}"));
    NodePhase::Failed { step: found.phase.unwrap_or_else(|| "cloud-init".to_owned()), cause, tail, log }
}

/// The last [`LOOKED_AT`] bytes.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOKED_AT)))?;
    let mut bytes = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use bessemer_protocol::NodeReport;
    use tokio::sync::watch::Sender;

    use super::*;

    const CLEAN: &str = r#"{"v1": {"datasource": "x", "errors": []}}"#;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What a start of the agent reports in the end.
    async fn reported(root: &Path) -> NodePhase {
        let mut journal = Journal::open(&root.join("var/lib/bessemer"), "metal/m0").unwrap();
        let reporter: Reporter = Arc::new(Sender::new(NodeReport::default()));
        tokio::time::timeout(Duration::from_secs(20), watch(root, &Map::new(), &mut journal, &reporter)).await.unwrap();
        reporter.borrow().phase.clone()
    }

    #[test]
    fn its_files_say_how_far_it_is() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert!(matches!(phase(root, None), NodePhase::Applying { step } if step == "cloud-init"));
        put(
            root,
            RESULT,
            r#"{"v1": {"datasource": "x", "errors": ["('scripts-user', RuntimeError('1 failed'))", "token abcdef.0123456789abcdef"]}}"#,
        );
        match phase(root, None) {
            NodePhase::Failed { cause, tail, .. } => {
                assert!(cause.contains("scripts-user"));
                assert!(tail.iter().any(|line| line.contains("token")), "{tail:?}");
                assert!(!tail.concat().contains("0123456789abcdef"), "{tail:?}");
            }
            other => panic!("{other:?}"),
        }
        put(root, SENTINEL, "success\n");
        assert_eq!(phase(root, None), NodePhase::Done, "kubeadm ended well, whatever came after it");
    }

    #[test]
    fn a_script_that_ends_well_after_kubeadm_failed_is_a_failure_with_its_cause() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(root, RESULT, CLEAN);
        match phase(root, None) {
            NodePhase::Failed { cause, .. } => assert!(cause.contains("left no sign of success"), "{cause}"),
            other => panic!("{other:?}"),
        }
        let early = "x\n".repeat(LOOKED_AT as usize);
        let why = "[preflight] Running pre-flight checks\nerror: error execution phase certs/ca: something new with abcdef.0123456789abcdef\npost command ran\n";
        put(root, OUTPUT, &format!("{early}{why}"));
        match phase(root, None) {
            NodePhase::Failed { step, cause, tail, log } => {
                assert_eq!(step, "certs/ca");
                assert!(cause.starts_with("something new with") && !cause.contains("0123456789abcdef"), "{cause}");
                assert_eq!((tail.len(), tail.last().map(String::as_str)), (TAIL, Some("post command ran")));
                assert_eq!(log.as_deref(), Some("/var/log/cloud-init-output.log"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_restart_of_the_host_changes_no_verdict() {
        let why = "error: error execution phase certs: something new\n";
        for sentinel in [false, true] {
            let root = tempfile::tempdir().unwrap();
            let root = root.path();
            put(root, RESULT, CLEAN);
            put(root, OUTPUT, why);
            if sentinel {
                put(root, SENTINEL, "success\n");
            }
            let first = reported(root).await;
            assert_eq!(first == NodePhase::Done, sentinel, "{first:?}");
            // What is in memory is gone, and cloud-init, which then has nothing to run, has nothing to complain of.
            fs::remove_dir_all(root.join("run")).unwrap();
            put(root, RESULT, CLEAN);
            put(root, OUTPUT, "Cloud-init finished\n");
            assert_eq!(reported(root).await, first);
        }
    }

    #[tokio::test]
    async fn what_was_delivered_is_not_in_what_is_said_of_it() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        put(
            root,
            USER_DATA,
            "#cloud-config\nmy_token: tk-by-cloud-init-1\nwrite_files:\n- {path: /e, permissions: '0600', content: 'LOGIN=login-by-cloud-init-2'}\n",
        );
        put(root, RESULT, r#"{"v1": {"errors": ["failed with tk-by-cloud-init-1"]}}"#);
        put(
            root,
            OUTPUT,
            "sh: login-by-cloud-init-2: not found\nerror: error execution phase login-by-cloud-init-2: tk-by-cloud-init-1 is wrong\n",
        );
        let NodePhase::Failed { step, cause, tail, .. } = reported(root).await else { panic!("no failure") };
        let all = format!("{step} {cause} {}", tail.join(" "));
        assert!(!all.contains("by-cloud-init") && all.contains("*** is wrong"), "{all}");
    }

    #[tokio::test]
    async fn a_restart_in_the_midst_of_kubeadm_is_no_success() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), RESULT, CLEAN);
        put(root.path(), OUTPUT, "[certs] Generating \"ca\" certificate and key\n");
        assert!(matches!(reported(root.path()).await, NodePhase::Failed { .. }));
    }

    #[tokio::test]
    async fn who_repaired_the_host_by_hand_is_believed() {
        let root = tempfile::tempdir().unwrap();
        put(root.path(), RESULT, CLEAN);
        assert!(matches!(reported(root.path()).await, NodePhase::Failed { .. }));
        put(root.path(), SENTINEL, "success\n");
        assert_eq!(reported(root.path()).await, NodePhase::Done);
    }
}
