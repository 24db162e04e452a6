//! The cluster's own CAs and the administrator's kubeconfig, in the Secrets that Cluster API agrees on.

use std::collections::BTreeMap;

use bessemer_api::well_known::{CLUSTER_NAME_LABEL, CLUSTER_SECRET_TYPE};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

/// Clocks of nodes may be behind ours.
const BACKDATED: Duration = Duration::minutes(5);
/// As Cluster API has it.
const CA_VALIDITY: Duration = Duration::days(3650);
/// As Cluster API has it.
const ADMIN_VALIDITY: Duration = Duration::days(365);

/// What a key pair of a cluster is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The cluster's CA.
    Cluster,
    /// etcd's CA.
    Etcd,
    /// The CA of the API server's proxying.
    FrontProxy,
    /// Signs service account tokens: a bare key pair.
    ServiceAccount,
}

impl Purpose {
    /// In the order in which they are written to a node.
    pub(crate) const ALL: [Self; 4] = [Self::Cluster, Self::Etcd, Self::FrontProxy, Self::ServiceAccount];

    /// Name of its Secret.
    pub(crate) fn secret(self, cluster: &str) -> String {
        let suffix = match self {
            Self::Cluster => "ca",
            Self::Etcd => "etcd",
            Self::FrontProxy => "proxy",
            Self::ServiceAccount => "sa",
        };
        format!("{cluster}-{suffix}")
    }

    /// Where kubeadm looks for certificate (or public key) and key, below its certificates' directory.
    pub(crate) fn files(self) -> (&'static str, &'static str) {
        match self {
            Self::Cluster => ("ca.crt", "ca.key"),
            Self::Etcd => ("etcd/ca.crt", "etcd/ca.key"),
            Self::FrontProxy => ("front-proxy-ca.crt", "front-proxy-ca.key"),
            Self::ServiceAccount => ("sa.pub", "sa.key"),
        }
    }
}

/// A fresh key pair, ECDSA P-256: `tls.crt` and `tls.key`.
pub(crate) fn generate(purpose: Purpose, now: OffsetDateTime) -> Result<BTreeMap<String, ByteString>, rcgen::Error> {
    let key = KeyPair::generate()?;
    let certificate = match purpose {
        Purpose::ServiceAccount => key.public_key_pem(),
        Purpose::Cluster | Purpose::Etcd | Purpose::FrontProxy => {
            let mut params = named("kubernetes", None, now, CA_VALIDITY)?;
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages =
                vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment, KeyUsagePurpose::KeyCertSign];
            params.self_signed(&key)?.pem()
        }
    };
    Ok(BTreeMap::from([
        ("tls.crt".to_owned(), ByteString(certificate.into_bytes())),
        ("tls.key".to_owned(), ByteString(key.serialize_pem().into_bytes())),
    ]))
}

/// The administrator's kubeconfig: JSON, which is YAML.
pub(crate) fn kubeconfig(
    cluster: &str,
    server: &str,
    ca: &BTreeMap<String, ByteString>,
    now: OffsetDateTime,
) -> Result<String, rcgen::Error> {
    let text = |key: &str| {
        let bytes = ca.get(key).map(|bytes| bytes.0.clone()).unwrap_or_default();
        String::from_utf8(bytes).map_err(|_| rcgen::Error::CouldNotParseCertificate)
    };
    let (ca_certificate, ca_key) = (text("tls.crt")?, text("tls.key")?);
    let issuer = Issuer::from_ca_cert_pem(&ca_certificate, KeyPair::from_pem(&ca_key)?)?;
    let mut params = named("kubernetes-admin", Some("system:masters"), now, ADMIN_VALIDITY)?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?.pem();
    let user = format!("{cluster}-admin");
    let context = format!("{user}@{cluster}");
    let document = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": cluster,
            "cluster": { "server": server, "certificate-authority-data": base64(&ca_certificate) },
        }],
        "users": [{
            "name": user,
            "user": {
                "client-certificate-data": base64(&certificate),
                "client-key-data": base64(&key.serialize_pem()),
            },
        }],
        "contexts": [{ "name": context, "context": { "cluster": cluster, "user": user } }],
        "current-context": context,
    });
    Ok(format!("{document:#}\n"))
}

/// A Secret of a cluster, without an owner yet.
pub(crate) fn secret(namespace: &str, name: String, cluster: &str, data: BTreeMap<String, ByteString>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(name),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([(CLUSTER_NAME_LABEL.to_owned(), cluster.to_owned())])),
            ..ObjectMeta::default()
        },
        type_: Some(CLUSTER_SECRET_TYPE.to_owned()),
        data: Some(data),
        ..Secret::default()
    }
}

fn named(
    name: &str,
    organisation: Option<&str>,
    now: OffsetDateTime,
    validity: Duration,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    if let Some(organisation) = organisation {
        params.distinguished_name.push(DnType::OrganizationName, organisation);
    }
    params.not_before = now - BACKDATED;
    params.not_after = now + validity;
    Ok(params)
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_signs_the_administrators_kubeconfig() {
        let now = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let ca = generate(Purpose::Cluster, now).unwrap();
        let text = kubeconfig("c", "https://10.0.0.1:6443", &ca, now).unwrap();
        let config = kube::config::Kubeconfig::from_yaml(&text).unwrap();
        assert_eq!(config.current_context.as_deref(), Some("c-admin@c"));
        assert_eq!(config.clusters[0].cluster.as_ref().unwrap().server.as_deref(), Some("https://10.0.0.1:6443"));
    }

    #[test]
    fn a_service_account_key_is_no_certificate() {
        let now = OffsetDateTime::from_unix_timestamp(1_800_000_000).unwrap();
        let pair = generate(Purpose::ServiceAccount, now).unwrap();
        assert!(String::from_utf8_lossy(&pair["tls.crt"].0).starts_with("-----BEGIN PUBLIC KEY-----"));
        assert!(String::from_utf8_lossy(&pair["tls.key"].0).starts_with("-----BEGIN PRIVATE KEY-----"));
    }
}
