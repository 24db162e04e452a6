//! What a boot server near the hosts needs of the site: whom agents shall trust, and the key behind the enrolment tokens.
//! It cannot sign a certificate for anybody.

use std::fmt;

use bessemer_protocol::BootId;
use ring::hmac;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

use super::{SiteError, SiteSecret};

/// Separates tokens from whatever else the key may sign one day.
const TOKEN_CONTEXT: &[u8] = b"bessemer enrolment token 1\0";

/// The part of the site's secrets that overlays are made of.
#[derive(Clone)]
pub struct BootAuthority {
    trusted_pem: String,
    token_key: hmac::Key,
}

impl BootAuthority {
    /// `trusted_pem` is every CA that agents shall trust, PEM one after the other; `token_key` is
    /// [`SiteSecret::token_key`].
    ///
    /// # Errors
    /// [`SiteError::TokenKey`], and [`SiteError::Ca`] where there is no certificate.
    pub fn open(trusted_pem: &str, token_key: &[u8]) -> Result<Self, SiteError> {
        if token_key.len() != SiteSecret::TOKEN_KEY_LEN {
            return Err(SiteError::TokenKey { length: token_key.len() });
        }
        CertificateDer::from_pem_slice(trusted_pem.as_bytes()).map_err(|error| SiteError::Ca(error.to_string()))?;
        Ok(Self { trusted_pem: trusted_pem.to_owned(), token_key: hmac::Key::new(hmac::HMAC_SHA256, token_key) })
    }

    /// Every CA that agents shall trust, PEM.
    pub fn trusted_pem(&self) -> &str {
        &self.trusted_pem
    }

    /// The enrolment token of one boot: derived, so that every process that holds the site's key says the same
    /// (decision 001).
    pub(crate) fn token(&self, boot: BootId) -> String {
        let mut context = hmac::Context::with_key(&self.token_key);
        context.update(TOKEN_CONTEXT);
        context.update(boot.0.as_bytes());
        context.sign().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for BootAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BootAuthority").finish_non_exhaustive()
    }
}
