//! The definitions of our kinds, put into a cluster by server-side apply: what others added to them stays.

use std::time::Duration;

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, ResourceExt};

const MANAGER: &str = "bessemer";
/// For a definition to be served, once it is stored.
const ESTABLISHED: Duration = Duration::from_secs(30);

/// Installs all definitions and waits until they are served; answers how many there are.
pub(super) async fn definitions(client: &Client) -> anyhow::Result<usize> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let definitions = bessemer_api::crds();
    for definition in &definitions {
        let name = definition.name_any();
        let apply = PatchParams::apply(MANAGER).force();
        let applied = api.patch(&name, &apply, &Patch::Apply(definition)).await;
        applied.with_context(|| format!("cannot install {name}"))?;
    }
    for definition in &definitions {
        let name = definition.name_any();
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        let waited = tokio::time::timeout(ESTABLISHED, established).await;
        waited
            .with_context(|| format!("{name} is not served after {ESTABLISHED:?}: `kubectl describe crd {name}`"))??;
    }
    Ok(definitions.len())
}
