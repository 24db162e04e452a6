//! The endpoint's own certificate: short-lived, kept in memory only, and made anew by whoever connects first after half
//! its life.

use std::sync::{Arc, Mutex, PoisonError};

use bessemer_protocol::CONTROLLER_NAME;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::PrivateKeyDer;
use time::OffsetDateTime;

use super::{BACKDATED, SiteAuthority, SiteError};

/// How long one serving certificate is good for.
const LIFETIME: time::Duration = time::Duration::days(7);

/// Resolves to the current certificate, whatever name is asked for: agents dial addresses and verify
/// [`CONTROLLER_NAME`].
pub(crate) struct ServingCertificate {
    site: Arc<SiteAuthority>,
    current: Mutex<Current>,
}

struct Current {
    key: Arc<CertifiedKey>,
    renew_at: OffsetDateTime,
}

impl ServingCertificate {
    /// # Errors
    /// [`SiteError::Sign`].
    pub(crate) fn new(site: Arc<SiteAuthority>) -> Result<Self, SiteError> {
        let current = Mutex::new(make(&site, OffsetDateTime::now_utc())?);
        Ok(Self { site, current })
    }

    fn at(&self, now: OffsetDateTime) -> Arc<CertifiedKey> {
        // The value is replaced whole, so a panic elsewhere cannot have left half of one.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if now >= current.renew_at {
            match make(&self.site, now) {
                Ok(next) => *current = next,
                // The old one is good for as long again.
                Err(error) => tracing::error!(%error, "the agents' endpoint cannot renew its certificate"),
            }
        }
        current.key.clone()
    }
}

impl ResolvesServerCert for ServingCertificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.at(OffsetDateTime::now_utc()))
    }
}

impl std::fmt::Debug for ServingCertificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServingCertificate").finish_non_exhaustive()
    }
}

fn make(site: &SiteAuthority, now: OffsetDateTime) -> Result<Current, SiteError> {
    let sign = |error: rcgen::Error| SiteError::Sign(error.to_string());
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(sign)?;
    let mut params = CertificateParams::new(vec![CONTROLLER_NAME.to_owned()]).map_err(sign)?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, CONTROLLER_NAME);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.not_before = now - BACKDATED;
    params.not_after = now + LIFETIME;
    let certificate = params.signed_by(&key, &site.issuer).map_err(sign)?;
    let signer = rustls::crypto::ring::sign::any_supported_type(&PrivateKeyDer::from(key))
        .map_err(|error| SiteError::Sign(error.to_string()))?;
    Ok(Current { key: Arc::new(CertifiedKey::new(vec![certificate.into()], signer)), renew_at: now + LIFETIME / 2 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::SiteSecret;

    #[test]
    fn the_certificate_is_kept_for_half_its_life_and_then_replaced() {
        let now = OffsetDateTime::now_utc();
        let site = Arc::new(SiteAuthority::open(&SiteSecret::generate(now).unwrap()).unwrap());
        let serving = ServingCertificate::new(site).unwrap();
        let first = serving.at(now);
        assert!(Arc::ptr_eq(&first, &serving.at(now + LIFETIME / 3)));
        let second = serving.at(now + LIFETIME);
        assert!(!Arc::ptr_eq(&first, &second));
        assert_ne!(first.cert, second.cert);
    }
}
