//! Certificates: one authority for a fleet, or self-signed ones as controllers come with.

use std::net::IpAddr;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SanType,
};
use rustls::ServerConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

/// How the hosts of a fleet prove who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// Plain HTTP.
    Off,
    /// One certificate of an authority made for the fleet.
    #[default]
    Authority,
    /// Each host its own, self-signed.
    SelfSigned,
    /// Each host its own, self-signed and marked as an authority, which web rules refuse.
    SelfSignedAuthority,
}

/// It could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The certificate.
    #[error("a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// The configuration.
    #[error("TLS: {0}")]
    Tls(#[from] rustls::Error),
    /// The client for deliveries.
    #[error("HTTP client: {0}")]
    Client(#[from] reqwest::Error),
}

/// What a server shows, and what a client must believe to accept it.
#[derive(Debug, Clone)]
pub struct Shown {
    /// For the server.
    pub server: Arc<ServerConfig>,
    /// Authority, or the certificate itself, PEM.
    pub trusted: String,
    /// The server's certificate, DER.
    pub certificate: CertificateDer<'static>,
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn named(name: &str) -> Result<CertificateParams, Error> {
    let mut params = params(name);
    params.subject_alt_names = ["127.0.0.1", "::1"]
        .into_iter()
        .filter_map(|address| address.parse::<IpAddr>().ok())
        .map(SanType::IpAddress)
        .collect();
    params.subject_alt_names.push(SanType::DnsName("localhost".try_into()?));
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    // strict clients, such as Python's, want it
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// A certificate for loopback of a new authority.
///
/// # Errors
/// When it cannot be made.
pub fn authority() -> Result<Shown, Error> {
    let mut of_authority = params("fake controllers' authority");
    of_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    of_authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    let authority_key = KeyPair::generate()?;
    let authority = of_authority.self_signed(&authority_key)?;
    let issuer = Issuer::new(of_authority, authority_key);
    let key = KeyPair::generate()?;
    let certificate = named("fake controller")?.signed_by(&key, &issuer)?;
    shown(certificate.der().clone(), &key, authority.pem())
}

/// What a host shows that has its own; none without TLS.
pub(crate) fn own(tls: Tls, name: &str) -> Result<Option<Shown>, Error> {
    match tls {
        Tls::Off | Tls::Authority => Ok(None),
        Tls::SelfSigned => self_signed(name, false).map(Some),
        Tls::SelfSignedAuthority => self_signed(name, true).map(Some),
    }
}

/// A self-signed certificate for loopback.
///
/// # Errors
/// When it cannot be made.
pub fn self_signed(name: &str, as_authority: bool) -> Result<Shown, Error> {
    let mut params = named(name)?;
    if as_authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    shown(certificate.der().clone(), &key, certificate.pem())
}

fn shown(certificate: CertificateDer<'static>, key: &KeyPair, trusted: String) -> Result<Shown, Error> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let server = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)?;
    Ok(Shown { server: Arc::new(server), trusted, certificate })
}

/// A client that believes anyone: where events go is the test's affair.
pub(super) fn anyone() -> Result<reqwest::Client, Error> {
    let provider = Arc::new(default_provider());
    let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    Ok(reqwest::Client::builder().tls_backend_preconfigured(config).no_proxy().build()?)
}

#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &rustls::DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
