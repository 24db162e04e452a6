//! Where a server is and how to enter, read from the administrator's kubeconfig.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;

/// A server and its administrator's credentials.
#[derive(Debug, Clone)]
pub struct Access {
    /// `host:port`.
    pub address: String,
    pub(crate) admin: Arc<ClientConfig>,
    pub(crate) anonymous: Arc<ClientConfig>,
}

impl Access {
    /// Reads a kubeconfig with embedded certificates.
    ///
    /// # Errors
    /// When the file cannot be read, or lacks a part.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("cannot use {}", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let config: Value = crate::yaml::parse(text)?;
        let field = |pointer: &str| {
            config.pointer(pointer).and_then(Value::as_str).with_context(|| format!("the kubeconfig has no {pointer}"))
        };
        let pem = |pointer: &str| -> anyhow::Result<Vec<u8>> { Ok(STANDARD.decode(field(pointer)?.trim())?) };
        let server = field("/clusters/0/cluster/server")?;
        let address = server.strip_prefix("https://").with_context(|| format!("{server} is not served over HTTPS"))?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem("/clusters/0/cluster/certificate-authority-data")?) {
            roots.add(certificate?)?;
        }
        let certificates =
            CertificateDer::pem_slice_iter(&pem("/users/0/user/client-certificate-data")?).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(&pem("/users/0/user/client-key-data")?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let builder = builder.with_root_certificates(roots);
        let anonymous = builder.clone().with_no_client_auth();
        let admin = builder.with_client_auth_cert(certificates, key)?;
        let address = address.trim_end_matches('/').to_owned();
        Ok(Self { address, admin: Arc::new(admin), anonymous: Arc::new(anonymous) })
    }
}
