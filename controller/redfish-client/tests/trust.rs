//! Whose certificate is believed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::net::SocketAddr;
use std::sync::Arc;

use common::{Service, ok};
use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use redfish_client::{Client, Options, RedfishError, Trust};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A service over TLS with a self-signed certificate that calls itself an authority, as BMCs' do.
async fn start() -> (SocketAddr, CertificateDer<'static>, String) {
    let mut params = CertificateParams::new(vec!["some-other-name".to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let (der, pem) = (certificate.der().clone(), certificate.pem());
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der.clone()], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    let service = Service::start(|_, _| ok(&json!({"Id": "root"}))).await;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, plain) = (acceptor.clone(), service.address);
            tokio::spawn(async move {
                let Ok(mut secure) = acceptor.accept(stream).await else { return };
                let mut inside = tokio::net::TcpStream::connect(plain).await.unwrap();
                let _ = tokio::io::copy_bidirectional(&mut secure, &mut inside).await;
            });
        }
    });
    (address, der, pem)
}

async fn read(address: SocketAddr, trust: Trust) -> Result<(), RedfishError> {
    let mut options = Options::default();
    options.trust = trust;
    options.attempts = 1;
    Client::new(&format!("https://{address}"), None, options)?.root().await.map(|_| ())
}

#[tokio::test]
async fn who_is_believed() {
    let (address, der, pem) = start().await;
    let fingerprint: [u8; 32] = ring::digest::digest(&ring::digest::SHA256, &der).as_ref().try_into().unwrap();
    let (_, _, stranger) = start().await;

    read(address, Trust::Anyone).await.unwrap();
    read(address, Trust::Pin(fingerprint)).await.unwrap();
    read(address, Trust::Authorities(pem)).await.unwrap();

    let error = read(address, Trust::Pin([7; 32])).await.unwrap_err();
    assert!(matches!(error, RedfishError::Certificate { .. }), "{error}");
    assert!(error.to_string().contains("another fingerprint"), "{error}");
    for trust in [Trust::Authorities(stranger), Trust::System] {
        let error = read(address, trust).await.unwrap_err();
        assert!(matches!(error, RedfishError::Certificate { .. }), "{error}");
    }
}
