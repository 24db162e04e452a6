//! Which definitions the chosen controllers need, and what becomes of one that is there already.

use std::collections::BTreeSet;

use bessemer_reconcilers::Group;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;

/// Kinds that are watched whatever controllers run, as controllers of one group read those of others.
const WATCHED: &[&str] = &[
    "baremetalhosts.metal3.io",
    "clusters.cluster.x-k8s.io",
    "hostrecords.bessemer.dev",
    "kubeadmconfigs.bootstrap.cluster.x-k8s.io",
    "kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
    "machines.cluster.x-k8s.io",
    "metal3clusters.infrastructure.cluster.x-k8s.io",
    "metal3machines.infrastructure.cluster.x-k8s.io",
];

/// A definition that must be served.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) definition: CustomResourceDefinition,
    /// Of a chosen group: ours is applied. Others are read only, and added only where they are missing.
    pub(super) is_chosen: bool,
}

/// What is to be done about a definition.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// Put ours there.
    Apply,
    /// It is somebody else's and good enough.
    UseAsItIs,
    /// It is somebody else's and does not serve what our controllers speak.
    Refuse(String),
}

/// The definitions that controllers of `groups` need.
pub(super) fn wanted(groups: &BTreeSet<Group>) -> Vec<Wanted> {
    let chosen: BTreeSet<&str> = groups.iter().flat_map(|group| api_groups(*group)).copied().collect();
    let wanted = bessemer_api::crds().into_iter().filter_map(|definition| {
        let is_chosen = chosen.contains(definition.spec.group.as_str());
        let is_wanted = is_chosen || WATCHED.contains(&definition.name_any().as_str());
        is_wanted.then_some(Wanted { definition, is_chosen })
    });
    wanted.collect()
}

/// The API groups whose kinds come with a group of controllers; those of `Cluster` are upstream's core components.
fn api_groups(group: Group) -> &'static [&'static str] {
    match group {
        Group::Metal3 => &["metal3.io", "bessemer.dev"],
        Group::Infrastructure => &["infrastructure.cluster.x-k8s.io", "ipam.metal3.io"],
        Group::Cluster => {
            &["cluster.x-k8s.io", "addons.cluster.x-k8s.io", "runtime.cluster.x-k8s.io", "ipam.cluster.x-k8s.io"]
        }
        Group::Bootstrap => &["bootstrap.cluster.x-k8s.io"],
        Group::ControlPlane => &["controlplane.cluster.x-k8s.io"],
    }
}

/// Decides by what `found` has: the list of versions is one value to server-side apply, so that ours would take away every
/// version that it lacks, and be refused where objects are stored in one of them.
pub(super) fn plan(wanted: &Wanted, found: Option<&CustomResourceDefinition>) -> Plan {
    let Some(found) = found else { return Plan::Apply };
    let ours: BTreeSet<&str> = wanted.definition.spec.versions.iter().map(|version| version.name.as_str()).collect();
    let stored = found.status.iter().flat_map(|status| status.stored_versions.iter().flatten());
    let theirs = found.spec.versions.iter().map(|version| &version.name).chain(stored);
    let is_theirs = theirs.into_iter().any(|version| !ours.contains(version.as_str()));
    if wanted.is_chosen && !is_theirs {
        return Plan::Apply;
    }
    let served = found.spec.versions.iter().filter(|version| version.served).map(|version| version.name.as_str());
    let served = served.collect::<BTreeSet<_>>();
    let missing = ours.difference(&served).copied().collect::<Vec<_>>().join(", ");
    if missing.is_empty() {
        return Plan::UseAsItIs;
    }
    let served = Vec::from_iter(served).join(", ");
    Plan::Refuse(format!(
        "{} is somebody else's and serves {served}, not {missing}, which our controllers speak; upgrade the provider it is from (`clusterctl upgrade plan` shows to what) or delete the definition",
        found.name_any()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(versions: &[(&str, bool)], stored: &[&str]) -> CustomResourceDefinition {
        let versions: Vec<_> = versions
            .iter()
            .map(|(name, served)| serde_json::json!({ "name": name, "served": served, "storage": false }))
            .collect();
        let value = serde_json::json!({
            "metadata": { "name": "things.example.org" },
            "spec": {
                "group": "example.org", "scope": "Namespaced", "versions": versions,
                "names": { "kind": "Thing", "plural": "things" },
            },
            "status": { "storedVersions": stored },
        });
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn somebody_elses_definition_is_never_written_over() {
        let ours = definition(&[("v1beta2", true)], &[]);
        let old = [("v1beta1", true)];
        let both = [("v1beta1", true), ("v1beta2", true)];
        let unserved = [("v1beta1", true), ("v1beta2", false)];
        let same = [("v1beta2", true)];
        for (is_chosen, versions, stored, expected) in [
            (true, &same[..], &["v1beta2"][..], Some(Plan::Apply)),
            (false, &same, &["v1beta2"], Some(Plan::UseAsItIs)),
            (true, &both, &["v1beta2"], Some(Plan::UseAsItIs)),
            (true, &same, &["v1beta1", "v1beta2"], Some(Plan::UseAsItIs)),
            (true, &old, &["v1beta1"], None),
            (true, &unserved, &["v1beta1"], None),
            (false, &old, &["v1beta1"], None),
        ] {
            let wanted = Wanted { definition: ours.clone(), is_chosen };
            let found = plan(&wanted, Some(&definition(versions, stored)));
            match expected {
                Some(expected) => assert_eq!(found, expected, "{versions:?} {stored:?}"),
                None => assert!(
                    matches!(&found, Plan::Refuse(why) if why.contains("things.example.org") && why.contains("v1beta1, not v1beta2")),
                    "{found:?}"
                ),
            }
            assert_eq!(plan(&wanted, None), Plan::Apply);
        }
    }

    #[test]
    fn every_watched_kind_is_there_and_a_group_brings_its_own() {
        let names = |groups: &[Group]| {
            let wanted = wanted(&groups.iter().copied().collect());
            let (chosen, read): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|wanted| wanted.is_chosen);
            let names = |list: Vec<Wanted>| list.iter().map(|one| one.definition.name_any()).collect::<BTreeSet<_>>();
            (names(chosen), names(read))
        };
        let (chosen, read) = names(&[]);
        assert!(chosen.is_empty());
        assert_eq!(read.iter().map(String::as_str).collect::<Vec<_>>(), WATCHED);
        let (chosen, read) = names(&[Group::Bootstrap]);
        assert!(chosen.iter().all(|name| name.ends_with(".bootstrap.cluster.x-k8s.io")), "{chosen:?}");
        assert_eq!((chosen.len(), read.len()), (2, 7));
    }
}
