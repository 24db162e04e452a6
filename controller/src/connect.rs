//! Which cluster is meant, and whether it answers.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// For the first answer.
const DEADLINE: Duration = Duration::from_secs(15);

/// A client of the cluster that `kubeconfig` names, or else the one that any Kubernetes client would take: that of the files
/// in `KUBECONFIG`, of the user's own file, or of the Pod this runs in.
pub(crate) async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> anyhow::Result<Client> {
    let config = choose(kubeconfig, context).await?;
    let server = config.cluster_url.to_string();
    let client = Client::try_from(config).with_context(|| format!("cannot connect to {server}"))?;
    let version = tokio::time::timeout(DEADLINE, client.apiserver_version()).await;
    let version = version.with_context(|| format!("{server} does not answer within {DEADLINE:?}"))?;
    let version = version.with_context(|| format!("{server} does not answer"))?;
    tracing::info!(server, version = version.git_version, "connected");
    Ok(client)
}

async fn choose(kubeconfig: Option<&Path>, context: Option<&str>) -> anyhow::Result<Config> {
    const NONE: &str = "no cluster is configured; give one with --kubeconfig FILE";
    let choice = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).with_context(|| format!("cannot read {}", path.display()))?;
            Config::from_custom_kubeconfig(file, &choice).await.with_context(|| path.display().to_string())
        }
        // The account of a Pod has no contexts.
        None if context.is_some() => Config::from_kubeconfig(&choice).await.context(NONE),
        None => Config::infer().await.context(NONE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_file_and_a_context_choose_the_cluster() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a:b");
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: one\n\
            clusters:\n- {name: one, cluster: {server: 'https://one:6443'}}\n- {name: two, cluster: {server: 'https://two:6443'}}\n\
            users:\n- {name: us, user: {}}\n\
            contexts:\n- {name: one, context: {cluster: one, user: us}}\n- {name: two, context: {cluster: two, user: us}}\n";
        std::fs::write(&file, text).unwrap();
        for (context, host) in [(None, "one"), (Some("two"), "two")] {
            let config = choose(Some(&file), context).await.unwrap();
            assert_eq!(config.cluster_url.host(), Some(host));
        }
        let error = format!("{:#}", choose(Some(&file), Some("three")).await.unwrap_err());
        assert!(error.contains("a:b") && error.contains("three"), "{error}");
    }
}
