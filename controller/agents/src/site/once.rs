//! Certificates that were good once: of this site, whenever they expired.

use std::sync::Arc;
use std::time::Duration;

use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, UnixTime};
use time::OffsetDateTime;

use super::{SiteAuthority, SiteError};
use crate::identity::{self, AgentIdentity, KeyDigest};

impl SiteAuthority {
    /// Who a certificate was issued to, and its key, if one of this site's CAs signed it for a client and it is not from
    /// the future. Verified as of the last moment of its validity when that is over.
    ///
    /// # Errors
    /// [`SiteError::Foreign`].
    pub(crate) fn once_certified(
        &self,
        pem: &str,
        now: OffsetDateTime,
    ) -> Result<(AgentIdentity, KeyDigest), SiteError> {
        let foreign = |error: &dyn std::fmt::Display| SiteError::Foreign(error.to_string());
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| foreign(&error))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).map_err(|error| foreign(&error))?;
        let last = parsed.validity().not_after.timestamp().min(now.unix_timestamp());
        let at = u64::try_from(last).map_err(|error| foreign(&error))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(self.roots()?, provider)
            .build()
            .map_err(|error| foreign(&error))?;
        let at = UnixTime::since_unix_epoch(Duration::from_secs(at));
        verifier.verify_client_cert(&certificate, &[], at).map_err(|error| foreign(&error))?;
        identity::of_certificate(&certificate).map_err(|error| foreign(&error))
    }
}
