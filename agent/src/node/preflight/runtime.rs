//! The container runtime's socket: there, and somebody behind it.

use std::path::Path;
use std::time::Duration;

use tokio::net::UnixStream;

use crate::backoff::Backoff;
use crate::node::kubeadm::config::Config;

/// Where kubeadm looks by itself.
const KNOWN: [&str; 3] = ["/run/containerd/containerd.sock", "/run/crio/crio.sock", "/run/cri-dockerd.sock"];

/// How long a runtime that is just being started may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why there is none.
pub(super) async fn check(config: &Config) -> Option<String> {
    if config.ignores("cri") {
        return None;
    }
    let candidates: Vec<&str> = match &config.runtime {
        Some(socket) => vec![socket],
        None => KNOWN.to_vec(),
    };
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
    let answered = async {
        loop {
            for socket in &candidates {
                if UnixStream::connect(socket).await.is_ok() {
                    return;
                }
            }
            backoff.pause().await;
        }
    };
    if tokio::time::timeout(PATIENCE, answered).await.is_ok() {
        return None;
    }
    let there: Vec<&&str> = candidates.iter().filter(|socket| Path::new(socket).exists()).collect();
    Some(match there.first() {
        Some(socket) => format!("the container runtime does not answer on {socket}: it has stopped, see its log"),
        None => format!(
            "there is no container runtime: nothing listens on {}; install and start one, or name its socket in criSocket",
            candidates.join(" or ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_runtime_is_somebody_who_answers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let config = Config { runtime: Some(path.to_str().unwrap().to_owned()), ..Config::default() };
        let listener = tokio::net::UnixListener::bind(&path).unwrap();
        assert_eq!(check(&config).await, None);
        drop(listener);
        tokio::time::pause();
        assert!(check(&config).await.unwrap().contains("does not answer"));
        std::fs::remove_file(&path).unwrap();
        let missing = check(&config).await.unwrap();
        assert!(missing.contains("there is no container runtime") && missing.contains("criSocket"), "{missing}");
    }
}
