//! What the kubelet says when kubeadm has waited for it in vain: kubeadm does not know, and tells people to look into its log.

use std::time::Duration;

use tokio::process::Command;

use crate::mask::Masker;
use crate::node::run::SEARCH_PATH;

/// How long the journal may take to answer.
const DEADLINE: Duration = Duration::from_secs(10);

/// Longest part that is quoted, in characters.
const LONGEST: usize = 200;

/// The reason for its last end, or else its last error.
pub(in crate::node) async fn last_error() -> Option<String> {
    let mut journal = Command::new("journalctl");
    journal.args(["--unit", "kubelet", "--lines", "300", "--output", "cat", "--no-pager"]);
    let output = journal.env("PATH", SEARCH_PATH).kill_on_drop(true).output();
    let output = tokio::time::timeout(DEADLINE, output).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let reason = reason(&text)?;
    let masked = Masker::default().mask(&reason);
    Some(masked.chars().filter(|c| !c.is_control()).take(LONGEST).collect())
}

fn reason(log: &str) -> Option<String> {
    let ended =
        log.lines().rev().find(|line| line.contains("command failed") || line.contains("failed to run Kubelet"));
    // klog's errors begin with E and the date.
    let is_error =
        |line: &&str| line.strip_prefix('E').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let line = ended.or_else(|| log.lines().rev().find(is_error))?;
    let quoted = line.split_once("err=\"").map(|(_, rest)| {
        // Up to the quotation mark that is not escaped.
        let end = rest.match_indices('"').find(|(at, _)| rest.get(..*at).is_some_and(|before| !before.ends_with('\\')));
        rest.get(..end.map_or(rest.len(), |(at, _)| at)).unwrap_or_default().replace("\\\"", "\"")
    });
    Some(quoted.unwrap_or_else(|| line.split_once("] ").map_or(line, |(_, rest)| rest).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_for_its_end_comes_before_any_error() {
        let log = "I1130 20:51:42.0 1 server.go:1] \"Start\"\nE1130 20:51:42.7 1 run.go:72] \"command failed\" err=\"failed to run Kubelet: running with swap on is not supported, please disable swap\"\nE1130 20:51:42.8 1 x.go:2] \"Other\" err=\"later\"\n";
        assert_eq!(
            reason(log).unwrap(),
            "failed to run Kubelet: running with swap on is not supported, please disable swap"
        );
        let errors = "E1130 20:51:42.7 142 kuberuntime_sandbox.go:43] \"Failed to generate sandbox config for pod\" err=\"open /etc/resolv.conf: no such file or directory\" pod=\"x\"\nI1130 1 y\n";
        assert!(reason(errors).unwrap().starts_with("open /etc/resolv.conf: no such file"), "{:?}", reason(errors));
        assert_eq!(reason("I1130 fine\n"), None);
    }
}
