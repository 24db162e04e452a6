//! The bytes that a site keeps, as they lie in its Secret.

use std::fmt;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256};
use ring::rand::{SecureRandom, SystemRandom};
use time::OffsetDateTime;

use super::{BACKDATED, SiteError};

/// The site's own name, in its CA certificate.
const CA_NAME: &str = "bessemer agents";

/// How long a site's CA is good for: longer than the hardware.
const CA_LIFETIME: time::Duration = time::Duration::days(20 * 365);

/// What the embedding program stores once and hands in at each start.
#[derive(Clone, PartialEq, Eq)]
pub struct SiteSecret {
    /// CA certificate, PEM.
    pub certificate_pem: String,
    /// Its private key, PKCS#8 PEM.
    pub key_pem: String,
    /// Other CAs that are trusted as well, PEM one after the other: the next one before it is put to use, the last one
    /// for as long as certificates of it are about. Empty for a site that has had one CA only.
    pub also_trusted_pem: String,
    /// Key that enrolment tokens are derived with.
    pub token_key: Vec<u8>,
}

impl SiteSecret {
    /// Every CA that agents shall trust, PEM: the one that signs, and others while it is being replaced.
    pub fn trusted_pem(&self) -> String {
        format!("{}{}", self.certificate_pem, self.also_trusted_pem)
    }

    /// Length of [`Self::token_key`] in bytes.
    pub const TOKEN_KEY_LEN: usize = 32;

    /// Makes the secrets of a new site.
    ///
    /// # Errors
    /// [`SiteError::Sign`] when the system gives no randomness.
    pub fn generate(now: OffsetDateTime) -> Result<Self, SiteError> {
        let sign = |error: rcgen::Error| SiteError::Sign(error.to_string());
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(sign)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, CA_NAME);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = now - BACKDATED;
        params.not_after = now + CA_LIFETIME;
        let certificate = params.self_signed(&key).map_err(sign)?;

        let mut token_key = vec![0; Self::TOKEN_KEY_LEN];
        SystemRandom::new()
            .fill(&mut token_key)
            .map_err(|_| SiteError::Sign("the system gives no randomness".into()))?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            also_trusted_pem: String::new(),
            token_key,
        })
    }
}

impl fmt::Debug for SiteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteSecret").finish_non_exhaustive()
    }
}
