//! Which version of a kind keeps which contract: labels `cluster.x-k8s.io/<contract>` of its CRD, each a list of
//! versions joined by underscores.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kube::core::{ObjectMeta, PartialObjectMeta};

use super::Contract;

/// Newest first.
const TRIED: [Contract; 2] = [Contract::V1Beta2, Contract::V1Beta1];

/// Why a kind cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContractError {
    /// It keeps none of our contracts.
    #[error(
        "cannot find any versions matching contract versions [v1beta2 v1beta1] for CRD {crd}: its labels are {labels:?}, \
         set cluster.x-k8s.io/v1beta2 to the versions that keep the contract"
    )]
    NoVersion {
        /// Name of the CRD.
        crd: String,
        /// Its labels.
        labels: BTreeMap<String, String>,
    },
}

/// Contract and version by which objects of a kind are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The contract.
    pub contract: Contract,
    /// The newest version that keeps it.
    pub version: String,
}

/// Contract and version of a kind, by its CRD: the newest contract that has a label, and of its versions the newest.
///
/// # Errors
///
/// [`ContractError::NoVersion`] if no contract has a label that names a version.
pub fn resolve<K>(crd: &PartialObjectMeta<K>) -> Result<Resolved, ContractError> {
    let ObjectMeta { labels, name, .. } = &crd.metadata;
    let labels = labels.clone().unwrap_or_default();
    for contract in TRIED {
        let label = labels.get(&format!("cluster.x-k8s.io/{}", contract.as_str())).map_or("", String::as_str);
        let versions = label.split('_').filter(|version| !version.is_empty());
        if let Some(version) = versions.max_by_key(|version| rank(version)) {
            return Ok(Resolved { contract, version: version.to_owned() });
        }
    }
    Err(ContractError::NoVersion { crd: name.clone().unwrap_or_default(), labels })
}

/// Kubernetes' order of versions: `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1`, and these before any other text,
/// of which the first in the alphabet counts most.
fn rank(version: &str) -> (bool, u8, u64, u64, Reverse<&str>) {
    let other = (false, 0, 0, 0, Reverse(version));
    let Some(rest) = version.strip_prefix('v') else { return other };
    let (major, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let (stage, minor) = match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
        (Some(minor), _) => (0, minor),
        (_, Some(minor)) => (1, minor),
        _ if rest.is_empty() => (2, "0"),
        _ => return other,
    };
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => (true, stage, major, minor, Reverse("")),
        _ => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(labels: &[(&str, &str)]) -> PartialObjectMeta<()> {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let metadata =
            ObjectMeta { name: Some("things.example.com".to_owned()), labels: Some(labels), ..ObjectMeta::default() };
        PartialObjectMeta { types: None, metadata, _phantom: std::marker::PhantomData }
    }

    #[test]
    fn the_newest_contract_and_its_newest_version() {
        const OLD: &str = "cluster.x-k8s.io/v1beta1";
        const NEW: &str = "cluster.x-k8s.io/v1beta2";
        for (labels, contract, version) in [
            (&[(OLD, "v1"), (NEW, "v1alpha1")][..], Contract::V1Beta2, "v1alpha1"),
            (&[(OLD, "v1alpha4_v1beta1_v1alpha3")], Contract::V1Beta1, "v1beta1"),
            (&[(NEW, "v1_v10_v2")], Contract::V1Beta2, "v10"),
            (&[(NEW, "v1beta2_v1beta10_v1alpha99")], Contract::V1Beta2, "v1beta10"),
            (&[(NEW, "v1_v2beta1")], Contract::V1Beta2, "v1"),
            (&[(NEW, "foo_v1alpha1_bar")], Contract::V1Beta2, "v1alpha1"),
            (&[(NEW, "foo_bar")], Contract::V1Beta2, "bar"),
            (&[(NEW, ""), (OLD, "v1beta1")], Contract::V1Beta1, "v1beta1"),
        ] {
            assert_eq!(
                resolve(&crd(labels)).unwrap(),
                Resolved { contract, version: version.to_owned() },
                "{labels:?}"
            );
        }
    }

    #[test]
    fn a_kind_without_contract_is_named_with_its_labels() {
        for labels in [&[][..], &[("cluster.x-k8s.io/v1alpha4", "v1alpha4")], &[("cluster.x-k8s.io/v1beta2", "_")]] {
            let text = resolve(&crd(labels)).unwrap_err().to_string();
            assert!(text.contains("[v1beta2 v1beta1] for CRD things.example.com"), "{text}");
            assert!(labels.iter().all(|(key, _)| text.contains(key)), "{text}");
        }
    }
}
