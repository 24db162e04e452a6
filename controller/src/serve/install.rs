//! The definitions of our kinds, put into a cluster by server-side apply: what others added to them stays, and definitions
//! that are somebody else's are left alone.

use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, Error, ResourceExt};
use tokio::time::timeout;

use super::definitions::{Plan, Wanted, plan};

const MANAGER: &str = "bessemer";
/// For one request.
const REQUEST: Duration = Duration::from_secs(30);
/// For a definition to be served, once it is stored.
const ESTABLISHED: Duration = Duration::from_secs(30);
/// How often a definition is looked at that others write at the same time.
const ATTEMPTS: usize = 5;

/// Installs what is missing or ours and waits until all of it is served; answers how many were installed.
///
/// # Errors
/// When one cannot be used, before anything is written; all of those at once.
pub(super) async fn install(client: &Client, wanted: &[Wanted]) -> anyhow::Result<usize> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut refused = Vec::new();
    for wanted in wanted {
        let found = look(&api, &wanted.definition.name_any()).await?;
        if let Plan::Refuse(why) = plan(wanted, found.as_ref()) {
            refused.push(why);
        }
    }
    if !refused.is_empty() {
        bail!("cannot run on the definitions that are installed:\n  {}", refused.join("\n  "));
    }
    let mut installed = 0;
    for wanted in wanted {
        if apply(&api, wanted).await? {
            installed += 1;
        }
    }
    for wanted in wanted {
        let name = wanted.definition.name_any();
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        let waited = timeout(ESTABLISHED, established).await;
        waited
            .with_context(|| format!("{name} is not served after {ESTABLISHED:?}: `kubectl describe crd {name}`"))??;
    }
    Ok(installed)
}

/// Puts one definition there; whether it was for us to do.
async fn apply(api: &Api<CustomResourceDefinition>, wanted: &Wanted) -> anyhow::Result<bool> {
    let name = wanted.definition.name_any();
    for _ in 0..ATTEMPTS {
        let found = look(api, &name).await?;
        match plan(wanted, found.as_ref()) {
            Plan::Apply => {}
            Plan::UseAsItIs => {
                tracing::info!(definition = name, "somebody else's: used as it is");
                return Ok(false);
            }
            Plan::Refuse(why) => bail!(why),
        }
        let mut definition = wanted.definition.clone();
        let params = PatchParams::apply(MANAGER);
        // Forced over what was just looked at and nothing else: its version makes the write fail on anything newer.
        let params = match found.and_then(|found| found.metadata.resource_version) {
            Some(version) => {
                definition.metadata.resource_version = Some(version);
                params.force()
            }
            None => params,
        };
        let applied = timeout(REQUEST, api.patch(&name, &params, &Patch::Apply(&definition))).await;
        match applied.with_context(|| format!("cannot install {name}: no answer within {REQUEST:?}"))? {
            Err(Error::Api(status)) if status.is_conflict() => {}
            applied => return applied.map(|_| true).with_context(|| format!("cannot install {name}")),
        }
    }
    bail!(
        "cannot install {name}: others write it all the time; `kubectl get crd {name} --show-managed-fields -o yaml` names them"
    )
}

async fn look(api: &Api<CustomResourceDefinition>, name: &str) -> anyhow::Result<Option<CustomResourceDefinition>> {
    let found = timeout(REQUEST, api.get_opt(name)).await;
    let found = found.with_context(|| format!("cannot look for {name}: no answer within {REQUEST:?}"))?;
    found.with_context(|| format!("cannot look for {name}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bessemer_apiserver::ApiServer;
    use bessemer_reconcilers::Group;
    use kube::api::PostParams;

    use super::super::definitions::wanted;
    use super::*;

    const MACHINES: &str = "machines.cluster.x-k8s.io";

    /// Ours, as an installation of the stock project has it: with other versions of the name.
    fn stock(versions: &[&str]) -> CustomResourceDefinition {
        let mut stock = bessemer_api::crds().into_iter().find(|crd| crd.name_any() == MACHINES).unwrap();
        let pattern = stock.spec.versions.remove(0);
        stock.spec.versions = versions
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let mut version = pattern.clone();
                (version.name, version.storage) = ((*name).to_owned(), place == 0);
                version
            })
            .collect();
        stock
    }

    async fn versions(api: &Api<CustomResourceDefinition>, name: &str) -> Vec<String> {
        api.get(name).await.unwrap().spec.versions.into_iter().map(|version| version.name).collect()
    }

    #[tokio::test]
    async fn a_stock_definition_is_left_and_the_rest_is_installed() {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(dir.path()).await.unwrap();
        let client = Client::new(server.router(), "default");
        let api = Api::<CustomResourceDefinition>::all(client.clone());
        api.create(&PostParams::default(), &stock(&["v1beta1", "v1beta2"])).await.unwrap();
        let before = api.get(MACHINES).await.unwrap();

        let wanted = wanted(&BTreeSet::from([Group::Cluster]));
        assert_eq!(install(&client, &wanted).await.unwrap(), wanted.len() - 1);
        assert_eq!(api.get(MACHINES).await.unwrap().spec, before.spec);
        assert_eq!(versions(&api, "clusters.cluster.x-k8s.io").await, ["v1beta2"]);
        // Not of a chosen group and not watched.
        assert!(api.get_opt("kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io").await.unwrap().is_none());
        // Again over its own, as at every start: those of the group, and what is only read is left.
        let ours = wanted.iter().filter(|one| one.is_chosen).count();
        assert_eq!(install(&client, &wanted).await.unwrap(), ours - 1);
    }

    #[tokio::test]
    async fn a_definition_without_our_version_is_refused_before_anything_is_written() {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(dir.path()).await.unwrap();
        let client = Client::new(server.router(), "default");
        let api = Api::<CustomResourceDefinition>::all(client.clone());
        api.create(&PostParams::default(), &stock(&["v1beta1"])).await.unwrap();

        let error = install(&client, &wanted(&BTreeSet::from([Group::Infrastructure]))).await.unwrap_err().to_string();
        assert!(error.contains(MACHINES) && error.contains("v1beta1, not v1beta2"), "{error}");
        assert_eq!(api.list(&Default::default()).await.unwrap().items.len(), 1);
    }
}
