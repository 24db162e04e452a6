//! What is seen of a KubeadmConfig and what is decided; the data is read back by another reader than made it.

use bessemer_api::bootstrap::{Arg, BootstrapFile, FileSource, InitConfiguration};
use bessemer_api::cluster::{ApiEndpoint, Cluster, ClusterNetwork, Machine, NetworkRanges};
use bessemer_api::conditions::get;
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use super::super::observe::KeyPair;
use super::*;

fn seen() -> Observed {
    let mut config = KubeadmConfig::new("m", Default::default());
    let mut init = InitConfiguration::default();
    let node = init.node_registration.get_or_insert_default();
    node.kubelet_extra_args = vec![Arg { name: "fail-cgroupv1".to_owned(), value: "false".to_owned() }];
    node.ignore_preflight_errors = vec!["SystemVerification".to_owned()];
    init.timeouts.get_or_insert_default().control_plane_component_health_check_seconds = Some(900);
    config.spec.init_configuration = Some(init);
    config.spec.pre_kubeadm_commands = vec!["ip address add 10.77.0.10/32 dev eth0".to_owned()];
    config.spec.files = vec![BootstrapFile {
        path: "/etc/motd".to_owned(),
        content_from: Some(FileSource {
            secret: bessemer_api::SecretKeyReference { name: "s".to_owned(), key: "k".to_owned() },
        }),
        permissions: Some("0640".to_owned()),
        ..BootstrapFile::default()
    }];
    let mut cluster = Cluster::new("c", Default::default());
    cluster.spec.control_plane_endpoint = Some(ApiEndpoint::new("10.77.0.10", 6443));
    cluster.spec.cluster_network = Some(ClusterNetwork {
        pods: Some(NetworkRanges { cidr_blocks: vec!["10.244.0.0/16".to_owned()] }),
        ..ClusterNetwork::default()
    });
    cluster.status.get_or_insert_default().initialization.get_or_insert_default().infrastructure_provisioned =
        Some(true);
    let mut machine = Machine::new("m", Default::default());
    machine.spec.version = Some("v1.36.3".to_owned());
    let pair = |name: &str| KeyPair { certificate: format!("{name} crt\n"), key: format!("{name} key\n") };
    Observed {
        config,
        machine: Some(machine),
        cluster: Some(cluster),
        certificates: Purpose::ALL.into_iter().map(|purpose| (purpose, pair(&purpose.secret("c")))).collect(),
        referred: [(("s".to_owned(), "k".to_owned()), Some("hello: \"world\"\n".to_owned()))].into(),
        secret: None,
    }
}

fn rendered() -> Value {
    let decision = decide(&seen(), Timestamp::UNIX_EPOCH);
    let text = decision.data.unwrap().0;
    assert!(text.starts_with("#cloud-config\n"));
    serde_saphyr::from_str(&text).unwrap()
}

fn content(document: &Value, path: &str) -> String {
    let files = document["write_files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap_or_else(|| panic!("{path} is missing"));
    file["content"].as_str().unwrap().to_owned()
}

#[test]
fn the_data_is_what_cluster_api_writes() {
    let document = rendered();
    let paths: Vec<&str> =
        document["write_files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "/etc/kubernetes/pki/ca.crt",
            "/etc/kubernetes/pki/ca.key",
            "/etc/kubernetes/pki/etcd/ca.crt",
            "/etc/kubernetes/pki/etcd/ca.key",
            "/etc/kubernetes/pki/front-proxy-ca.crt",
            "/etc/kubernetes/pki/front-proxy-ca.key",
            "/etc/kubernetes/pki/sa.pub",
            "/etc/kubernetes/pki/sa.key",
            "/etc/motd",
            "/run/kubeadm/kubeadm.yaml",
            "/run/cluster-api/placeholder",
        ]
    );
    assert_eq!(content(&document, "/etc/motd"), "hello: \"world\"\n");
    assert_eq!(content(&document, "/etc/kubernetes/pki/sa.key"), "c-sa key\n");
    assert_eq!(
        document["runcmd"],
        json!([
            "ip address add 10.77.0.10/32 dev eth0",
            "kubeadm init --config /run/kubeadm/kubeadm.yaml && echo success > /run/cluster-api/bootstrap-success.complete"
        ])
    );
}

#[test]
fn kubeadm_gets_two_documents() {
    let text = content(&rendered(), "/run/kubeadm/kubeadm.yaml");
    let documents: Vec<Value> = text.split("---\n").map(|document| serde_saphyr::from_str(document).unwrap()).collect();
    assert_eq!(
        documents,
        [
            json!({
                "apiVersion": "kubeadm.k8s.io/v1beta4",
                "kind": "ClusterConfiguration",
                "clusterName": "c",
                "kubernetesVersion": "v1.36.3",
                "controlPlaneEndpoint": "10.77.0.10:6443",
                "networking": { "podSubnet": "10.244.0.0/16" },
            }),
            json!({
                "apiVersion": "kubeadm.k8s.io/v1beta4",
                "kind": "InitConfiguration",
                "nodeRegistration": {
                    "kubeletExtraArgs": [{ "name": "fail-cgroupv1", "value": "false" }],
                    "ignorePreflightErrors": ["SystemVerification"],
                },
                "timeouts": { "controlPlaneComponentHealthCheck": "900s" },
            }),
        ]
    );
}

#[test]
fn data_waits_for_what_it_is_made_of() {
    type Change = fn(&mut Observed);
    let table: [(Change, &str); 6] = [
        (|seen| seen.machine = None, "no Machine owns it"),
        (|seen| seen.cluster = None, "Cluster does not exist"),
        (|seen| seen.cluster.as_mut().unwrap().status = None, "infrastructureProvisioned"),
        (|seen| drop(seen.certificates.pop()), "waiting for the Secrets c-sa"),
        (|seen| seen.referred.clear(), "key k of Secret s does not exist"),
        (|seen| seen.config.spec.mounts = vec![vec!["a".to_owned()]], "spec.mounts is not supported"),
    ];
    for (change, message) in table {
        let mut observed = seen();
        change(&mut observed);
        let decision = decide(&observed, Timestamp::UNIX_EPOCH);
        let status = decision.config.status.unwrap();
        let shown = &get(&status.conditions, "DataSecretAvailable").unwrap().message;
        assert!(shown.contains(message), "{shown}");
        assert!(decision.data.is_none() && status.data_secret_name.is_none());
    }
}

#[test]
fn data_that_exists_is_never_made_again() {
    let first = decide(&seen(), Timestamp::UNIX_EPOCH);
    let stored = Observed { config: first.config.clone(), secret: Some(Secret::default()), ..seen() };
    let again = decide(&stored, Timestamp::MAX);
    assert!(again.data.is_none());
    assert_eq!(again.config, first.config);
}

#[test]
fn secrets_do_not_print() {
    let decision = decide(&seen(), Timestamp::UNIX_EPOCH);
    assert!(!format!("{decision:?} {:?}", seen().certificates).contains("c-ca key"));
}
