//! The TLS configuration: our certificate, and client certificates of our own authority, which are optional because a
//! client may bring a token instead.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::ServeError;
use super::identity::{Authority, Identity};

pub(super) fn server_config(authority: &Authority, server: Identity) -> Result<Arc<ServerConfig>, ServeError> {
    let failed = |error: &dyn std::fmt::Display| ServeError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let parse = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes());

    let mut roots = RootCertStore::empty();
    roots.add(parse(authority.pem()).map_err(|e| failed(&e))?).map_err(|e| failed(&e))?;
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(|e| failed(&e))?;

    let chain = vec![parse(&server.certificate).map_err(|e| failed(&e))?];
    let key = PrivateKeyDer::from_pem_slice(server.key.as_bytes()).map_err(|e| failed(&e))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| failed(&e))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|e| failed(&e))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
