//! Certificates, keys and tokens of one run.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};

/// Name, user, group.
const CLIENTS: [(&str, &str, &str); 2] = [
    ("admin", "kubernetes-admin", "system:masters"),
    ("manager", "system:kube-controller-manager", "system:kube-controller-manager"),
];

/// Files in `pki` of a run's folder.
pub(crate) struct Pki {
    dir: PathBuf,
    pub(crate) ca: String,
    pub(crate) token: String,
}

impl Pki {
    pub(crate) fn write(run: &Path) -> Result<Self> {
        let dir = run.join("pki");
        fs::DirBuilder::new().mode(0o700).create(&dir)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "kube-peer-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        private(&dir.join("ca.crt"), &ca.pem())?;

        let mut server = CertificateParams::new(vec!["localhost".into(), "kubernetes.default.svc".into()])?;
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        server.subject_alt_names.push(SanType::IpAddress([127, 0, 0, 1].into()));
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        issue(&dir, "server", server, &ca)?;
        for (name, user, group) in CLIENTS {
            let mut client = CertificateParams::default();
            client.distinguished_name.push(DnType::CommonName, user);
            client.distinguished_name.push(DnType::OrganizationName, group);
            client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            issue(&dir, name, client, &ca)?;
        }
        let accounts = KeyPair::generate()?;
        private(&dir.join("accounts.key"), &accounts.serialize_pem())?;
        private(&dir.join("accounts.pub"), &accounts.public_key_pem())?;

        // as unguessable as the key it is made from, which is used for nothing else
        let secret = KeyPair::generate()?.serialize_der();
        let token: String = STANDARD.encode(secret).chars().filter(char::is_ascii_alphanumeric).collect();
        private(&dir.join("tokens.csv"), &format!("{token},kubernetes-admin,admin,\"system:masters\"\n"))?;
        Ok(Self { dir, ca: ca.pem(), token })
    }

    /// Writes a kubeconfig of one of the clients.
    pub(crate) fn kubeconfig(&self, path: &Path, url: &str, client: &str) -> Result<()> {
        let read = |name: String| {
            let path = self.dir.join(name);
            fs::read(&path)
                .map(|bytes| STANDARD.encode(bytes))
                .with_context(|| format!("cannot read {}", path.display()))
        };
        let (certificate, key) = (read(format!("{client}.crt"))?, read(format!("{client}.key"))?);
        let authority = STANDARD.encode(&self.ca);
        private(
            path,
            &format!(
                "apiVersion: v1
kind: Config
clusters:
- name: peer
  cluster:
    server: {url}
    certificate-authority-data: {authority}
users:
- name: {client}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: peer
  context:
    cluster: peer
    user: {client}
    namespace: default
current-context: peer
"
            ),
        )
    }
}

fn issue(dir: &Path, name: &str, params: CertificateParams, ca: &CertifiedIssuer<'_, KeyPair>) -> Result<()> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, ca)?;
    private(&dir.join(format!("{name}.crt")), &certificate.pem())?;
    private(&dir.join(format!("{name}.key")), &key.serialize_pem())
}

fn private(path: &Path, text: &str) -> Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}
