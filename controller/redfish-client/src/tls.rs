//! Whose certificate is believed. BMCs come with self-signed certificates, many of them marked as authorities, which
//! web PKI rules refuse as a server's own (`CaUsedAsEndEntity`); pinning and a BMC's own certificate as its authority
//! therefore need a verifier of our own.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

/// Whose certificate is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The authorities of the operating system.
    System,
    /// These authorities, PEM. A service whose own certificate is among them is believed as it is, whatever name it
    /// bears: that is how a self-signed BMC is trusted.
    Authorities(String),
    /// The one certificate with this SHA-256 fingerprint, of the whole certificate (DER).
    Pin([u8; 32]),
    /// Anyone. Encrypts, proves nothing; for closed management networks, when the site says so.
    Anyone,
}

impl Trust {
    /// What rustls needs to know.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, String> {
        use rustls_platform_verifier::BuilderVerifierExt as _;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let accept = match self {
            Self::System => {
                let builder = builder.with_platform_verifier().map_err(|error| error.to_string())?;
                return Ok(builder.with_no_client_auth());
            }
            Self::Authorities(pem) => {
                let own = CertificateDer::pem_slice_iter(pem.as_bytes())
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|error| format!("the authorities are not PEM certificates: {error}"))?;
                if own.is_empty() {
                    return Err("the authorities hold no PEM certificate".to_owned());
                }
                let mut roots = RootCertStore::empty();
                for certificate in &own {
                    roots.add(certificate.clone()).map_err(|error| format!("an authority cannot be used: {error}"))?;
                }
                let chain = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                    .build()
                    .map_err(|error| error.to_string())?;
                Accept::ChainOrOwn { chain, own }
            }
            Self::Pin(fingerprint) => Accept::Pin(*fingerprint),
            Self::Anyone => Accept::Anyone,
        };
        let verifier = Arc::new(Verifier { accept, provider });
        Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
    }
}

#[derive(Debug)]
enum Accept {
    ChainOrOwn { chain: Arc<WebPkiServerVerifier>, own: Vec<CertificateDer<'static>> },
    Pin([u8; 32]),
    Anyone,
}

#[derive(Debug)]
struct Verifier {
    accept: Accept,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let accepted = match &self.accept {
            Accept::ChainOrOwn { chain, own } => {
                if !own.iter().any(|own| own.as_ref() == end_entity.as_ref()) {
                    return chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
                }
                true
            }
            Accept::Pin(fingerprint) => digest(&SHA256, end_entity).as_ref() == fingerprint,
            Accept::Anyone => true,
        };
        if accepted {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    // Whoever shows a certificate must hold its key, also where the certificate itself proves nothing.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorities_must_be_certificates() {
        for (pem, wanted) in [("", "no PEM certificate"), ("-----BEGIN CERTIFICATE-----\n!\n", "not PEM certificates")]
        {
            let error = Trust::Authorities(pem.to_owned()).client_config().unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }
}
