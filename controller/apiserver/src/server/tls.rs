//! The TLS configuration: our certificate, and client certificates of our own authority, which are optional because a
//! client may bring a token instead.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::ServeError;
use super::identity::{Authority, Identity};

/// The certificate that the server shows at present. It is replaced while connections are open, which keep theirs.
#[derive(Debug)]
pub(super) struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    pub(super) fn new(server: &Identity) -> Result<Self, ServeError> {
        certified(server).map(|key| Self(RwLock::new(key)))
    }

    /// Shows another one from now on.
    pub(super) fn replace(&self, server: &Identity) -> Result<(), ServeError> {
        let key = certified(server)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = key;
        Ok(())
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn certified(server: &Identity) -> Result<Arc<CertifiedKey>, ServeError> {
    let failed = |error: &dyn std::fmt::Display| ServeError::Tls(error.to_string());
    let certificate = CertificateDer::from_pem_slice(server.certificate.as_bytes()).map_err(|e| failed(&e))?;
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).map_err(|e| failed(&e))?;
    let provider = rustls::crypto::ring::default_provider();
    let key = CertifiedKey::from_der(vec![certificate], key, &provider).map_err(|e| failed(&e))?;
    Ok(Arc::new(key))
}

pub(super) fn server_config(authority: &Authority, shown: Arc<Shown>) -> Result<Arc<ServerConfig>, ServeError> {
    let failed = |error: &dyn std::fmt::Display| ServeError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let parse = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes());

    let mut roots = RootCertStore::empty();
    roots.add(parse(authority.pem()).map_err(|e| failed(&e))?).map_err(|e| failed(&e))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(|e| failed(&e))?;

    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| failed(&e))?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
