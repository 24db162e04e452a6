//! TLS of the endpoint: rustls with ring, our own certificate, client certificates verified against the site's CA when
//! given.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use super::EndpointError;
use crate::site::{ServingCertificate, SiteAuthority};

pub(super) fn acceptor(site: &Arc<SiteAuthority>) -> Result<TlsAcceptor, EndpointError> {
    let tls = |error: &dyn std::fmt::Display| EndpointError::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(site.roots()?, provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| tls(&error))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| tls(&error))?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(ServingCertificate::new(site.clone())?));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    // A resumed session would skip the check of the certificate's dates.
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
