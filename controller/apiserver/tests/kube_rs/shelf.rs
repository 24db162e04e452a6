//! A kind as kube-rs users define theirs: derived, and installed by server-side apply.

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Client, CustomResource, CustomResourceExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(group = "kube-rs.example", version = "v1", kind = "Shelf", plural = "shelves", namespaced)]
#[kube(status = "ShelfStatus", shortname = "sh")]
pub(crate) struct ShelfSpec {
    pub(crate) boards: u8,
    #[serde(default)]
    pub(crate) label: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ShelfStatus {
    #[serde(default)]
    pub(crate) built: u8,
}

pub(crate) async fn install(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definition = Shelf::crd();
    let manager = PatchParams::apply("kube-rs").force();
    definitions.patch("shelves.kube-rs.example", &manager, &Patch::Apply(&definition)).await.unwrap();
    await_condition(definitions, "shelves.kube-rs.example", conditions::is_crd_established()).await.unwrap();
    // a real server serves a kind some moments after it is established
    let shelves: Api<Shelf> = Api::all(client.clone());
    while shelves.list(&kube::api::ListParams::default()).await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// Each check has a namespace to itself.
pub(crate) async fn namespace(client: &Client, name: &str) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    namespaces.create(&PostParams::default(), &object).await.unwrap();
}

pub(crate) fn shelf(name: &str, boards: u8) -> Shelf {
    Shelf::new(name, ShelfSpec { boards, label: String::new() })
}
