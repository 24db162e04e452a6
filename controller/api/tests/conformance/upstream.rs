//! Upstream's CRDs, those in scope.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::test_data;

/// Kinds that nobody has asked for: the development provider, prefix pools, a file that only looks like a kind.
const OUT_OF_SCOPE: [&str; 7] = [
    "DevCluster",
    "DevClusterTemplate",
    "DevMachine",
    "DevMachineTemplate",
    "InClusterPrefixPool",
    "GlobalInClusterPrefixPool",
    "Metadata",
];

/// By name; none without test data, which is told.
pub(crate) fn crds() -> Option<BTreeMap<String, Value>> {
    let folder = test_data::folder("crds")?;
    let mut crds = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !OUT_OF_SCOPE.iter().any(|kind| crd["spec"]["names"]["kind"] == *kind) {
            crds.insert(crd["metadata"]["name"].as_str().unwrap().to_owned(), crd);
        }
    }
    Some(crds)
}

/// The version that is compared: the one that is stored. The others are served for older clients only.
pub(crate) fn version(crd: &Value) -> &Value {
    let versions = crd["spec"]["versions"].as_array().unwrap();
    versions.iter().find(|version| version["storage"] == true).unwrap()
}
