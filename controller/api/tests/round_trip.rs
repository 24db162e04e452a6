//! Manifests people use are read whole: what is written back is what was read. They are in the folder `manifests` of
//! the test data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod test_data;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bessemer_api::{addons, bootstrap, cluster, controlplane, infrastructure, ipam, ipam_metal3, metal3};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Folders with manifests of v1beta2.
const FOLDERS: [&str; 6] = ["bmo", "capi", "capm3", "capm3-examples", "ipam", "seed"];
/// Whose variables stand for more than one YAML value, so that no text can take their place.
const NOT_YAML: [&str; 1] = ["clusterctl-cluster.yaml"];

/// Documents that are no whole objects of this version, and what is missing: kustomize's patches, and manifests with
/// fields of older versions, which a real API server refuses too.
const NOT_WHOLE: [(&str, &str, &str); 17] = [
    ("bmo/config/samples/metal3.io_v1alpha1_baremetalhost.yaml", "BareMetalHost", "unknown field"),
    ("bmo/config/samples/metal3.io_v1alpha1_preprovisioningimage.yaml", "PreprovisioningImage", "unknown field"),
    ("bmo/config/samples/metal3.io_v1alpha1_hostfirmwaresettings.yaml", "HostFirmwareSettings", "expected a map"),
    ("bmo/config/samples/metal3.io_v1alpha1_firmwareschema.yaml", "FirmwareSchema", "unknown field"),
    (
        "bmo/config/samples/metal3.io_v1alpha1_hostfirmwarecomponents.yaml",
        "HostFirmwareComponents",
        "field `component`",
    ),
    ("capm3-examples/templates/clusterclass.yaml", "ClusterClass", "unknown field"),
    ("capm3/bases/centos-kubeadm-config/centos-kubeadm-config.yaml", "KubeadmControlPlane", "field `version`"),
    ("capm3/bases/cluster/cluster-with-kcp.yaml", "KubeadmControlPlane", "field `type`"),
    ("capm3/bases/clusterclass/clusterclass.yaml", "ClusterClass", "field `required`"),
    (
        "capm3/bases/opensuse-leap-kubeadm-config/opensuse-leap-kubeadm-config.yaml",
        "KubeadmControlPlane",
        "field `version`",
    ),
    ("capm3/bases/ubuntu-kubeadm-config/ubuntu-kubeadm-config.yaml", "KubeadmControlPlane", "field `version`"),
    ("capm3/cluster-template-centos-md-remediation/md.yaml", "MachineDeployment", "field `spec`"),
    ("capm3/cluster-template-ubuntu-md-remediation/md.yaml", "MachineDeployment", "field `spec`"),
    ("capm3/components/taints/kcp-taints.yaml", "KubeadmControlPlane", "field `infrastructureRef`"),
    ("capm3/components/taints/md-taints.yaml", "MachineDeployment", "field `clusterName`"),
    ("seed/cluster-with-infra-v1beta2.yaml", "Cluster", "field `apiGroup`"),
    ("seed/machine-with-bootstrap-v1beta2.yaml", "Machine", "field `apiGroup`"),
];

/// Kinds of which the only manifest is not whole.
const ONLY_NOT_WHOLE: [&str; 5] =
    ["Machine", "FirmwareSchema", "HostFirmwareComponents", "HostFirmwareSettings", "PreprovisioningImage"];

/// What a kind makes of a manifest.
type Again = fn(Value) -> Result<Value, serde_json::Error>;

fn again<K: DeserializeOwned + Serialize>(value: Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(serde_json::from_value::<K>(value)?)
}

fn kinds() -> BTreeMap<(&'static str, &'static str), Again> {
    const CLUSTER: &str = "cluster.x-k8s.io/v1beta2";
    const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io/v1beta2";
    const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io/v1beta2";
    const ADDONS: &str = "addons.cluster.x-k8s.io/v1beta2";
    const IPAM: &str = "ipam.cluster.x-k8s.io/v1beta2";
    [
        ((CLUSTER, "Cluster"), again::<cluster::Cluster> as Again),
        ((CLUSTER, "ClusterClass"), again::<cluster::ClusterClass>),
        ((CLUSTER, "Machine"), again::<cluster::Machine>),
        ((CLUSTER, "MachineDeployment"), again::<cluster::MachineDeployment>),
        ((CLUSTER, "MachineHealthCheck"), again::<cluster::MachineHealthCheck>),
        ((CLUSTER, "MachinePool"), again::<cluster::MachinePool>),
        ((BOOTSTRAP, "KubeadmConfig"), again::<bootstrap::KubeadmConfig>),
        ((BOOTSTRAP, "KubeadmConfigTemplate"), again::<bootstrap::KubeadmConfigTemplate>),
        ((CONTROL_PLANE, "KubeadmControlPlane"), again::<controlplane::KubeadmControlPlane>),
        ((CONTROL_PLANE, "KubeadmControlPlaneTemplate"), again::<controlplane::KubeadmControlPlaneTemplate>),
        ((ADDONS, "ClusterResourceSet"), again::<addons::ClusterResourceSet>),
        ((IPAM, "IPAddressClaim"), again::<ipam::IPAddressClaim>),
    ]
    .into_iter()
    .chain(metal3_kinds())
    .collect()
}

/// Metal3's kinds. Of Metal3Data, Metal3DataClaim, IPClaim and the like there are no manifests: controllers make them.
fn metal3_kinds() -> Vec<((&'static str, &'static str), Again)> {
    const METAL3: &str = "metal3.io/v1alpha1";
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta2";
    vec![
        ((METAL3, "BareMetalHost"), again::<metal3::BareMetalHost>),
        ((METAL3, "BareMetalSwitch"), again::<metal3::BareMetalSwitch>),
        ((METAL3, "DataImage"), again::<metal3::DataImage>),
        ((METAL3, "FirmwareSchema"), again::<metal3::FirmwareSchema>),
        ((METAL3, "HostClaim"), again::<metal3::HostClaim>),
        ((METAL3, "HostDeployPolicy"), again::<metal3::HostDeployPolicy>),
        ((METAL3, "HostFirmwareComponents"), again::<metal3::HostFirmwareComponents>),
        ((METAL3, "HostFirmwareSettings"), again::<metal3::HostFirmwareSettings>),
        ((METAL3, "HostNetworkAttachment"), again::<metal3::HostNetworkAttachment>),
        ((METAL3, "PreprovisioningImage"), again::<metal3::PreprovisioningImage>),
        ((INFRASTRUCTURE, "Metal3Cluster"), again::<infrastructure::Metal3Cluster>),
        ((INFRASTRUCTURE, "Metal3ClusterTemplate"), again::<infrastructure::Metal3ClusterTemplate>),
        ((INFRASTRUCTURE, "Metal3DataTemplate"), again::<infrastructure::Metal3DataTemplate>),
        ((INFRASTRUCTURE, "Metal3MachineTemplate"), again::<infrastructure::Metal3MachineTemplate>),
        (("ipam.metal3.io/v1alpha1", "IPPool"), again::<ipam_metal3::IpPool>),
    ]
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            found.push(path);
        }
    }
}

/// Puts a value in place of each `${VARIABLE}`, as clusterctl does.
fn substituted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let (variable, behind) = after.split_once('}').unwrap();
        // the default of a variable may itself be one
        let behind =
            if variable.contains("${") { behind.split_once('}').map_or(behind, |(_, behind)| behind) } else { behind };
        let (name, default) = variable.split_once([':', '=']).unwrap_or((variable, ""));
        let default = default.trim_start_matches(['-', '=']);
        out.push_str(match name {
            _ if !default.is_empty() && !default.contains("${") => default,
            _ if name.ends_with("COUNT") => "3",
            _ if name.ends_with("CHECKSUM_TYPE") => "sha256",
            _ if name.ends_with("IMAGE_FORMAT") => "qcow2",
            "BARE_METAL_PROVISIONER_CIDR" => "24",
            _ if name.ends_with("PORT") => "6443",
            _ if name.ends_with("TIMEOUT") || name.ends_with("PREFIX") => "10",
            _ if name.ends_with("CIDRS") => "10.0.0.0/8",
            _ => "value",
        });
        rest = behind;
    }
    out + rest
}

/// A null is as good as nothing.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// What API servers fill in and our types always write, and a history of nothing, which they do not write.
fn fill_in(document: &mut Value) {
    if document["kind"] == "BareMetalHost"
        && let Some(status) = document.get_mut("status").and_then(Value::as_object_mut)
    {
        status.entry("provisioningFailCount").or_insert_with(|| 0.into());
        status.retain(|name, value| name != "operationHistory" || !nothing(value));
    }
}

/// Objects within objects, and in the end nothing.
fn nothing(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().all(nothing))
}

/// A kind whose spec may be absent is written with an empty one.
fn as_read(mut written: Value, read: &Value) -> Value {
    if read.get("spec").is_none() {
        written.as_object_mut().unwrap().remove("spec");
    }
    written
}

#[test]
fn manifests_come_back_as_they_were() {
    let Some(manifests) = test_data::folder("manifests") else { return };
    let kinds = kinds();
    let (mut seen, mut failures, mut used) = (BTreeMap::<(&str, &str), usize>::new(), Vec::new(), 0);
    for folder in FOLDERS {
        let mut paths = Vec::new();
        files(&manifests.join(folder), &mut paths);
        for path in paths {
            let name = path.strip_prefix(&manifests).unwrap().display().to_string();
            let text = substituted(&std::fs::read_to_string(&path).unwrap());
            let documents = match serde_saphyr::from_multiple::<Value>(&text) {
                Ok(documents) => documents,
                Err(_) if NOT_YAML.iter().any(|known| name.ends_with(known)) => continue,
                Err(error) => panic!("{name}: {error}"),
            };
            for mut document in documents.into_iter().filter(Value::is_object) {
                let is = |key: &(&str, &str)| document["apiVersion"] == key.0 && document["kind"] == key.1;
                let Some((key, again)) = kinds.iter().find(|(key, _)| is(key)) else { continue };
                let kind = key.1;
                let allowed = NOT_WHOLE.iter().find(|entry| entry.0 == name && entry.1 == kind);
                drop_nulls(&mut document);
                fill_in(&mut document);
                match (again(document.clone()).map(|written| as_read(written, &document)), allowed) {
                    (Ok(written), None) if written == document => *seen.entry(*key).or_default() += 1,
                    (Ok(written), Some((_, _, "unknown field"))) if written != document => used += 1,
                    (Err(error), Some((_, _, missing))) if error.to_string().contains(missing) => used += 1,
                    (Ok(written), _) => failures.push(format!("{name}: {kind}:\n  {document}\n  {written}")),
                    (Err(error), _) => failures.push(format!("{name}: {kind}: {error}")),
                }
            }
        }
    }
    println!("{} manifests of {} kinds: {seen:?}", seen.values().sum::<usize>(), seen.len());
    assert!(failures.is_empty(), "{} failures\n{}", failures.len(), failures.join("\n"));
    assert_eq!(used, NOT_WHOLE.len(), "some document that was not whole is not there any more");
    let unseen: Vec<&str> = kinds.keys().filter(|key| !seen.contains_key(*key)).map(|key| key.1).collect();
    assert_eq!(unseen, ONLY_NOT_WHOLE, "some kind has no manifest");
}
