//! The running kernel: modules, forwarding, swap, the clock.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::process::Command;

use super::Findings;
use crate::files;
use crate::node::kubeadm::config::Config;

/// How long loading one module may take.
const MODPROBE_DEADLINE: Duration = Duration::from_secs(10);

/// No host lives before this program was written: 2026-01-01, in seconds since the epoch.
const EARLIEST: u64 = 1_767_225_600;

/// What pods' networks need of the host's.
const FORWARDING: [&str; 4] = [
    "net/ipv4/ip_forward",
    "net/ipv6/conf/all/forwarding",
    "net/bridge/bridge-nf-call-iptables",
    "net/bridge/bridge-nf-call-ip6tables",
];

pub(super) async fn load_modules(root: &Path, findings: &mut Findings) {
    let has_overlay = || {
        let known = fs::read_to_string(root.join("proc/filesystems")).unwrap_or_default();
        known.lines().any(|line| line.split_whitespace().next_back() == Some("overlay"))
    };
    if !has_overlay() {
        load("overlay", has_overlay, findings).await;
    }
    let has_bridge_filter = || root.join("proc/sys/net/bridge").exists();
    if !has_bridge_filter() {
        load("br_netfilter", has_bridge_filter, findings).await;
    }
}

async fn load(module: &str, is_there: impl Fn() -> bool, findings: &mut Findings) {
    let modprobe = Command::new("modprobe").arg(module).env("PATH", super::super::run::SEARCH_PATH).output();
    // Whatever it says: what counts is whether the kernel has it now.
    let _ = tokio::time::timeout(MODPROBE_DEADLINE, modprobe).await;
    findings.warnings.push(if is_there() {
        format!("loaded the kernel module {module} for now: list it in /etc/modules-load.d of the image")
    } else {
        format!("the kernel has no module {module}: pods' images or networks may not work")
    });
}

pub(super) fn set_forwarding(root: &Path, findings: &mut Findings) {
    for name in FORWARDING {
        let path = root.join("proc/sys").join(name);
        // Absent without its module, or without IPv6.
        let Some(value) = files::line(&path).filter(|value| value != "1") else { continue };
        let dotted = name.replace('/', ".");
        findings.warnings.push(match fs::write(&path, "1\n") {
            Ok(()) => format!("set {dotted} from {value} to 1 for now: set it in /etc/sysctl.d of the image"),
            Err(error) => format!("{dotted} is {value} and not 1, and cannot be set: {error}"),
        });
    }
}

pub(super) fn check_swap(root: &Path, config: &Config, findings: &mut Findings) {
    let swaps = fs::read_to_string(root.join("proc/swaps")).unwrap_or_default();
    let on: Vec<&str> = swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    if on.is_empty() || config.swap_is_wanted || config.ignores("swap") {
        return;
    }
    findings.fatal.push(format!(
        "swap is on ({}) and the kubelet does not run with it: `swapoff -a` in preKubeadmCommands and no swap in /etc/fstab, or failSwapOn: false for the kubelet",
        on.join(", ")
    ));
}

pub(super) fn check_clock(findings: &mut Findings) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    if now < EARLIEST {
        findings.fatal.push(format!(
            "the clock says {now} s after 1970, when no certificate of this cluster was valid: set it, and give the host a time server"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn swap_is_fatal_unless_somebody_wants_it() {
        let on = "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n/swap file 1 0 -3\n";
        let ignored = Config { ignored: vec!["swap".into()], ..Config::default() };
        let wanted = Config { swap_is_wanted: true, ..Config::default() };
        for (swaps, config, fatal) in [
            (on, &Config::default(), true),
            (on, &ignored, false),
            (on, &wanted, false),
            ("Filename Type Size Used Priority\n", &Config::default(), false),
        ] {
            let (root, mut findings) = (root(&[("proc/swaps", swaps)]), Findings::default());
            check_swap(root.path(), config, &mut findings);
            assert_eq!(!findings.fatal.is_empty(), fatal, "{swaps} {config:?}");
            assert!(!fatal || findings.fatal[0].contains("/dev/sda2, /swap"));
        }
    }

    #[test]
    fn forwarding_is_set_and_told() {
        let (root, mut findings) = (root(&[("proc/sys/net/ipv4/ip_forward", "0\n")]), Findings::default());
        set_forwarding(root.path(), &mut findings);
        assert_eq!(fs::read_to_string(root.path().join("proc/sys/net/ipv4/ip_forward")).unwrap(), "1\n");
        assert!(findings.warnings[0].starts_with("set net.ipv4.ip_forward from 0 to 1"), "{findings:?}");
        let mut again = Findings::default();
        set_forwarding(root.path(), &mut again);
        assert_eq!(again, Findings::default());
    }
}
