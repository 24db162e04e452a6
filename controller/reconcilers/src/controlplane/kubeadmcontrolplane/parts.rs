//! What one machine of a control plane is made of.

use bessemer_api::ContractReference;
use bessemer_api::bootstrap::KubeadmConfig;
use bessemer_api::cluster::{Machine, MachineBootstrap};
use bessemer_api::controlplane::KubeadmControlPlane;
use bessemer_api::infrastructure::{Metal3Machine, Metal3MachineTemplate};
use bessemer_api::well_known::{
    CLONED_FROM_GROUP_KIND_ANNOTATION, CLONED_FROM_NAME_ANNOTATION, CLUSTER_NAME_LABEL, CONTROL_PLANE_LABEL,
    CONTROL_PLANE_NAME_LABEL,
};
use kube::ResourceExt;
use kube::api::ObjectMeta;

use crate::kubernetes::own;

/// Three objects of the same name, in the order in which each finds what it refers to.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) infrastructure: Metal3Machine,
    pub(super) config: KubeadmConfig,
    pub(super) machine: Machine,
}

impl Parts {
    /// Those of the machine `name`, the first of its control plane.
    pub(super) fn new(
        object: &KubeadmControlPlane,
        template: &Metal3MachineTemplate,
        cluster: &str,
        name: &str,
    ) -> Self {
        let metadata = metadata(object, cluster, name);
        let mut machine = Machine { metadata: metadata.clone(), ..Machine::default() };
        own(&mut machine.metadata, object, true);
        machine.spec.cluster_name = cluster.to_owned();
        machine.spec.version = Some(object.spec.version.clone());
        machine.spec.bootstrap = MachineBootstrap {
            config_ref: Some(reference(bessemer_api::bootstrap::GROUP, "KubeadmConfig", name)),
            data_secret_name: None,
        };
        machine.spec.infrastructure_ref = reference(bessemer_api::infrastructure::GROUP, "Metal3Machine", name);
        Self {
            infrastructure: infrastructure(object, template, metadata.clone()),
            config: config(object, metadata),
            machine,
        }
    }
}

fn infrastructure(
    object: &KubeadmControlPlane,
    template: &Metal3MachineTemplate,
    mut metadata: ObjectMeta,
) -> Metal3Machine {
    own(&mut metadata, object, false);
    let own_metadata = template.spec.template.metadata.clone().unwrap_or_default();
    metadata.labels.get_or_insert_default().extend(own_metadata.labels);
    let annotations = metadata.annotations.get_or_insert_default();
    annotations.extend(own_metadata.annotations);
    annotations.insert(CLONED_FROM_NAME_ANNOTATION.to_owned(), template.name_any());
    let group_kind = format!("Metal3MachineTemplate.{}", bessemer_api::infrastructure::GROUP);
    annotations.insert(CLONED_FROM_GROUP_KIND_ANNOTATION.to_owned(), group_kind);
    Metal3Machine { metadata, spec: template.spec.template.spec.clone(), status: None }
}

fn config(object: &KubeadmControlPlane, mut metadata: ObjectMeta) -> KubeadmConfig {
    own(&mut metadata, object, false);
    let mut spec = object.spec.kubeadm_config_spec.clone().unwrap_or_default();
    // The first machine never joins.
    spec.join_configuration = None;
    // An empty spec is refused.
    spec.format.get_or_insert_default();
    KubeadmConfig { metadata, spec, status: None }
}

fn metadata(object: &KubeadmControlPlane, cluster: &str, name: &str) -> ObjectMeta {
    let template = object.spec.machine_template.metadata.clone().unwrap_or_default();
    let mut labels = template.labels;
    labels.insert(CLUSTER_NAME_LABEL.to_owned(), cluster.to_owned());
    labels.insert(CONTROL_PLANE_LABEL.to_owned(), String::new());
    labels.insert(CONTROL_PLANE_NAME_LABEL.to_owned(), object.name_any());
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: object.namespace(),
        labels: Some(labels),
        annotations: Some(template.annotations),
        ..ObjectMeta::default()
    }
}

fn reference(group: &str, kind: &str, name: &str) -> ContractReference {
    ContractReference { api_group: group.to_owned(), kind: kind.to_owned(), name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parts(kubeadm: Option<Value>) -> Parts {
        let mut object = KubeadmControlPlane::new("cp", Default::default());
        object.metadata.namespace = Some("metal".to_owned());
        object.metadata.uid = Some("u".to_owned());
        object.spec.version = "v1.36.3".to_owned();
        object.spec.kubeadm_config_spec = kubeadm.map(|spec| serde_json::from_value(spec).unwrap());
        let mut template = Metal3MachineTemplate::default();
        template.metadata.name = Some("image".to_owned());
        Parts::new(&object, &template, "c", "cp-abcde")
    }

    #[test]
    fn the_first_machine_inits_and_never_joins() {
        for (kubeadm, spec) in [
            (None, json!({ "format": "cloud-config" })),
            (Some(json!({ "format": "ignition" })), json!({ "format": "ignition" })),
            (
                Some(json!({ "initConfiguration": { "skipPhases": ["x"] }, "joinConfiguration": {} })),
                json!({ "format": "cloud-config", "initConfiguration": { "skipPhases": ["x"] } }),
            ),
        ] {
            let config = parts(kubeadm).config;
            assert_eq!(serde_json::to_value(&config.spec).unwrap(), spec);
        }
    }

    #[test]
    fn the_three_are_found_by_name_label_and_owner() {
        let parts = parts(None);
        // Only the Machine is the control plane's own; it takes over the other two.
        for (meta, controls) in [
            (&parts.infrastructure.metadata, None),
            (&parts.config.metadata, None),
            (&parts.machine.metadata, Some(true)),
        ] {
            assert_eq!((meta.name.as_deref(), meta.namespace.as_deref()), (Some("cp-abcde"), Some("metal")));
            let labels = meta.labels.as_ref().unwrap();
            assert_eq!((labels[CLUSTER_NAME_LABEL].as_str(), labels[CONTROL_PLANE_NAME_LABEL].as_str()), ("c", "cp"));
            assert_eq!(meta.owner_references.as_ref().unwrap()[0].controller, controls);
        }
        assert_eq!(parts.infrastructure.annotations()[CLONED_FROM_NAME_ANNOTATION], "image");
        assert_eq!(parts.machine.spec.bootstrap.config_ref.unwrap().name, "cp-abcde");
        assert_eq!(parts.machine.spec.infrastructure_ref.name, "cp-abcde");
        assert_eq!(parts.machine.spec.version.as_deref(), Some("v1.36.3"));
    }
}
