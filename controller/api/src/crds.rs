//! The CRDs of every kind we serve, with the labels by which others find them. Each group lists its own in `crds()`.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceSubresourceStatus, CustomResourceSubresources,
};
use kube::CustomResourceExt;
use schemars::JsonSchema;

use crate::{
    addons, bessemer, bootstrap, cluster, clusterctl, controlplane, infrastructure, ipam, ipam_metal3, metal3, runtime,
    schema,
};

/// A label of a CRD.
type Label = (&'static str, &'static str);

/// Found by `clusterctl`'s discovery.
pub(crate) const CLUSTERCTL: Label = ("clusterctl.cluster.x-k8s.io", "");
/// Moved with the hierarchy below it.
pub(crate) const MOVE_HIERARCHY: Label = ("clusterctl.cluster.x-k8s.io/move-hierarchy", "");
/// Moved, although nothing owns it.
pub(crate) const MOVE: Label = ("clusterctl.cluster.x-k8s.io/move", "");
/// The version that keeps the contract v1beta2.
pub(crate) const CONTRACT: Label = ("cluster.x-k8s.io/v1beta2", "v1beta2");

/// The provider that a CRD belongs to, as `clusterctl` calls it.
pub(crate) const fn provider(name: &'static str) -> Label {
    ("cluster.x-k8s.io/provider", name)
}

/// Every CRD, as it is to be installed. Made on several threads: schemas are most of what starting costs.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    const GROUPS: [fn() -> Vec<CustomResourceDefinition>; 11] = [
        metal3::crds,
        bessemer::crds,
        infrastructure::crds,
        ipam_metal3::crds,
        cluster::crds,
        bootstrap::crds,
        controlplane::crds,
        addons::crds,
        runtime::crds,
        ipam::crds,
        clusterctl::crds,
    ];
    std::thread::scope(|scope| {
        let groups = GROUPS.map(|crds| (crds, std::thread::Builder::new().spawn_scoped(scope, crds)));
        let groups = groups.into_iter();
        groups.flat_map(|(crds, thread)| thread.map_or_else(|_| crds(), finished)).collect()
    })
}

/// What a thread made. Where none can be started, the caller makes it.
fn finished<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault))
}

/// The CRD of one kind.
pub(crate) fn of<K: CustomResourceExt + JsonSchema>(labels: &[Label]) -> CustomResourceDefinition {
    let mut crd = schema::crd::<K>();
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    crd.metadata.labels = Some(labels.collect());
    crd
}

/// Of a kind whose objects must have metadata even when read by others than API servers.
pub(crate) fn with_required_metadata(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            schema.required.get_or_insert_default().insert(0, "metadata".to_owned());
        }
    }
    crd
}

/// Of a kind whose status is written as any other field.
pub(crate) fn without_subresources(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    crd.spec.versions.iter_mut().for_each(|version| version.subresources = None);
    crd
}

/// Of a kind that has the subresource without saying what a status holds.
pub(crate) fn with_status(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let status = CustomResourceSubresourceStatus(serde_json::json!({}));
    let subresources = CustomResourceSubresources { scale: None, status: Some(status) };
    crd.spec.versions.iter_mut().for_each(|version| version.subresources = Some(subresources.clone()));
    crd
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_contract_label_names_a_served_version() {
        for crd in crds() {
            let labels = crd.metadata.labels.unwrap_or_default();
            if let Some(version) = labels.get("cluster.x-k8s.io/v1beta2") {
                assert!(
                    crd.spec.versions.iter().any(|served| served.served && &served.name == version),
                    "{}",
                    crd.spec.names.kind
                );
            }
        }
    }

    /// `properties` beside `additionalProperties` is not structural: a real API server refuses it.
    #[test]
    fn schemas_are_structural() {
        fn check(path: &str, schema: &Value) {
            let Value::Object(map) = schema else { return };
            assert!(!(map.contains_key("properties") && map.contains_key("additionalProperties")), "{path}");
            assert!(!map.contains_key("$ref"), "{path}");
            for (name, child) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let open = child.get("x-kubernetes-preserve-unknown-fields").is_some()
                    || child.get("x-kubernetes-int-or-string").is_some();
                assert!(child.get("type").is_some() || open, "{path}.{name} has no type: {child}");
                check(&format!("{path}.{name}"), child);
            }
            if let Some(items) = map.get("items") {
                check(&format!("{path}[]"), items);
            }
        }
        for crd in crds() {
            for version in &crd.spec.versions {
                let schema = serde_json::to_value(&version.schema).unwrap();
                check(&crd.spec.names.kind, &schema["openAPIV3Schema"]);
            }
        }
    }
}
