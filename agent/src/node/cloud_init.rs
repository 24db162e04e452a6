//! What cloud-init does where it is the one who carries out the bootstrap data: read from the files that it and Cluster API leave, and only reported.

use std::path::Path;
use std::time::Duration;

use bessemer_protocol::NodePhase;
use serde_json::Value;
use tracing::info;

use super::Reporter;
use crate::mask::Masker;

/// How often those files are looked at. Both are in memory.
const PERIOD: Duration = Duration::from_secs(5);

/// What Cluster API's commands leave when kubeadm ended well.
const SENTINEL: &str = "run/cluster-api/bootstrap-success.complete";

/// cloud-init's word on all its stages, written at the end of the last.
const RESULT: &str = "run/cloud-init/result.json";

/// Reports until it is over.
pub(super) async fn watch(root: &Path, reporter: &Reporter) {
    let mut ticks = tokio::time::interval(PERIOD);
    loop {
        ticks.tick().await;
        let phase = phase(root);
        let over = matches!(phase, NodePhase::Done | NodePhase::Failed { .. });
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

fn phase(root: &Path) -> NodePhase {
    if root.join(SENTINEL).exists() {
        return NodePhase::Done;
    }
    let result = std::fs::read(root.join(RESULT)).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let errors = result.as_ref().and_then(|result| result.get("v1")?.get("errors")?.as_array());
    match errors.map(Vec::as_slice) {
        None => NodePhase::Applying { step: "cloud-init".to_owned() },
        Some([]) => NodePhase::Done,
        Some(errors) => {
            let mut masker = Masker::default();
            let words = |error: &Value| error.as_str().map_or_else(|| error.to_string(), str::to_owned);
            let tail: Vec<String> = errors.iter().map(|error| masker.mask(&words(error))).collect();
            let cause = tail.first().cloned().unwrap_or_default();
            NodePhase::Failed {
                step: "cloud-init".to_owned(),
                cause,
                tail,
                log: Some("/var/log/cloud-init.log".to_owned()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn its_files_say_how_far_it_is() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(matches!(phase(root.path()), NodePhase::Applying { step } if step == "cloud-init"));
        put(
            RESULT,
            r#"{"v1": {"datasource": "x", "errors": ["('scripts-user', RuntimeError('1 failed'))", "token abcdef.0123456789abcdef"]}}"#,
        );
        match phase(root.path()) {
            NodePhase::Failed { cause, tail, .. } => {
                assert!(cause.contains("scripts-user"));
                assert!(!tail[1].contains("0123456789abcdef"), "{tail:?}");
            }
            other => panic!("{other:?}"),
        }
        put(RESULT, r#"{"v1": {"errors": []}}"#);
        assert_eq!(phase(root.path()), NodePhase::Done);
        fs::remove_file(root.path().join(RESULT)).unwrap();
        put(SENTINEL, "success\n");
        assert_eq!(phase(root.path()), NodePhase::Done);
    }
}
