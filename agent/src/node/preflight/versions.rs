//! Whether kubeadm, the kubelet and the wanted Kubernetes go together.

use std::time::Duration;

use tokio::process::Command;

use crate::node::kubeadm::config::Config;
use crate::node::run::SEARCH_PATH;

/// How long a program may take to say its version.
const DEADLINE: Duration = Duration::from_secs(30);

/// Minors that a kubelet may be behind the control plane.
const KUBELET_MAY_LAG: u32 = 3;

/// Why they do not.
pub(super) async fn check(config: &Config) -> Option<String> {
    let (kubeadm, kubelet) =
        tokio::join!(version_of("kubeadm", &["version", "-o", "short"]), version_of("kubelet", &["--version"]));
    judge(kubeadm, kubelet, config.version.as_deref())
}

fn judge(kubeadm: Option<String>, kubelet: Option<String>, wanted: Option<&str>) -> Option<String> {
    let Some(kubeadm) = kubeadm else {
        return Some("there is no kubeadm on this image: use one that is made for Kubernetes".to_owned());
    };
    let Some(kubelet) = kubelet else {
        return Some("there is no kubelet on this image: use one that is made for Kubernetes".to_owned());
    };
    let (ours, theirs) = (minor(&kubeadm)?, minor(&kubelet)?);
    if theirs > ours || theirs + KUBELET_MAY_LAG < ours {
        return Some(format!(
            "kubelet {kubelet} does not go with kubeadm {kubeadm}: the image must hold one version of both"
        ));
    }
    let wanted = wanted?;
    // `stable-1.36` and the like are for kubeadm to look up.
    let asked = minor(wanted)?;
    if asked > ours || asked + 1 < ours {
        return Some(format!(
            "Kubernetes {wanted} cannot be installed by this image's kubeadm {kubeadm}, only 1.{ours} and 1.{}: choose the image or the version so that they agree",
            ours.saturating_sub(1)
        ));
    }
    None
}

/// The version that a program says, such as `v1.36.3`; none when it is not there.
async fn version_of(program: &str, arguments: &[&str]) -> Option<String> {
    let run = Command::new(program).args(arguments).env("PATH", SEARCH_PATH).kill_on_drop(true).output();
    let output = tokio::time::timeout(DEADLINE, run).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find(|word| minor(word).is_some()).map(str::to_owned)
}

/// `36` of `v1.36.3`.
fn minor(version: &str) -> Option<u32> {
    let mut parts = version.strip_prefix('v')?.split(['.', '-', '+']);
    parts.next().filter(|major| *major == "1")?;
    parts.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_go_together_or_are_named() {
        let some = |version: &str| Some(version.to_owned());
        for (kubeadm, kubelet, wanted, part) in [
            (some("v1.36.3"), some("v1.36.3"), Some("v1.36.3"), None),
            (some("v1.36.3"), some("v1.36.1"), Some("v1.35.9"), None),
            (some("v1.36.3"), some("v1.33.0"), None, None),
            (some("v1.36.3"), some("v1.36.3"), Some("stable-1"), None),
            (
                some("v1.36.3"),
                some("v1.36.3"),
                Some("v1.99.0"),
                Some("Kubernetes v1.99.0 cannot be installed by this image's kubeadm v1.36.3"),
            ),
            (some("v1.36.3"), some("v1.36.3"), Some("v1.34.0"), Some("only 1.36 and 1.35")),
            (some("v1.36.3"), some("v1.37.0"), None, Some("kubelet v1.37.0 does not go with kubeadm v1.36.3")),
            (some("v1.36.3"), some("v1.32.0"), None, Some("kubelet v1.32.0")),
            (None, some("v1.36.3"), None, Some("no kubeadm")),
            (some("v1.36.3"), None, None, Some("no kubelet")),
        ] {
            let judged = judge(kubeadm, kubelet, wanted);
            assert_eq!(judged.is_some(), part.is_some(), "{judged:?}");
            assert!(part.is_none_or(|part| judged.as_ref().unwrap().contains(part)), "{judged:?}");
        }
    }
}
