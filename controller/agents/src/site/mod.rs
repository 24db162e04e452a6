//! What makes this site trusted by its hosts: one CA for both sides of the agents' endpoint, and the key behind the
//! enrolment tokens. Both live in one Secret that the embedding program keeps; nothing else here is state.

mod boot;
mod issue;
mod once;
mod overlay;
mod secret;
mod serving;

use std::sync::Arc;

use bessemer_protocol::BootId;
use rcgen::{Issuer, KeyPair};
use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use subtle::ConstantTimeEq;

pub use boot::BootAuthority;
pub(crate) use issue::KeyRequest;
pub use issue::{Issued, NODE_LIFETIME, RAMDISK_LIFETIME};
pub use secret::SiteSecret;
pub(crate) use serving::ServingCertificate;

use crate::identity::InvalidIdentity;

/// How far certificates are dated back. An agent sets its clock to the time its boot was prepared, which may be before
/// the certificate that it meets was made.
const BACKDATED: time::Duration = time::Duration::DAY;

/// Why the site's secrets, or a request to sign, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The CA certificate or its key cannot be read, or they do not belong together.
    #[error("the site's CA certificate or key cannot be used ({0}); delete the secret to have both made anew")]
    Ca(String),
    /// The token key is not of [`SiteSecret::TOKEN_KEY_LEN`].
    #[error(
        "the site's token key has {length} bytes instead of {}; delete the secret to have it made anew",
        SiteSecret::TOKEN_KEY_LEN
    )]
    TokenKey {
        /// In bytes.
        length: usize,
    },
    /// No PKCS#10 request, or not signed by its own key.
    #[error("the certificate request cannot be used: {0}")]
    Request(String),
    /// The name to be certified has no text form.
    #[error(transparent)]
    Identity(#[from] InvalidIdentity),
    /// A certificate that is none of this site's.
    #[error("the certificate is not of this site: {0}")]
    Foreign(String),
    /// The signature could not be made.
    #[error("cannot sign: {0}")]
    Sign(String),
    /// The overlay cannot be written as JSON.
    #[error("cannot write the overlay: {0}")]
    Encode(#[from] serde_json::Error),
}

/// The site's CA and token key, ready for use.
pub struct SiteAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    /// CAs that agents and this endpoint trust besides the one that signs.
    also_trusted: Vec<CertificateDer<'static>>,
    boot: BootAuthority,
}

impl SiteAuthority {
    /// Reads what [`SiteSecret::generate`] made.
    ///
    /// # Errors
    /// [`SiteError::Ca`], [`SiteError::TokenKey`].
    pub fn open(secret: &SiteSecret) -> Result<Self, SiteError> {
        let ca = |error: &dyn std::fmt::Display| SiteError::Ca(error.to_string());
        let boot = BootAuthority::open(&secret.trusted_pem(), &secret.token_key)?;
        let certificate =
            CertificateDer::from_pem_slice(secret.certificate_pem.as_bytes()).map_err(|error| ca(&error))?;
        let key = KeyPair::from_pem(&secret.key_pem).map_err(|error| ca(&error))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(&certificate).map_err(|error| ca(&error))?;
        if parsed.public_key().subject_public_key.data.as_ref() != key.public_key_raw() {
            return Err(ca(&"the key is not the certificate's"));
        }
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(|error| ca(&error))?;
        let also_trusted = CertificateDer::pem_slice_iter(secret.also_trusted_pem.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| ca(&error))?;
        Ok(Self { issuer, certificate, also_trusted, certificate_pem: secret.certificate_pem.clone(), boot })
    }

    /// The CA that signs, PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// Every CA that agents shall trust, PEM: the one that signs, and others while it is being replaced.
    pub fn trusted_pem(&self) -> String {
        self.boot.trusted_pem().to_owned()
    }

    /// The roots that agents' certificates are verified against.
    pub(crate) fn roots(&self) -> Result<Arc<RootCertStore>, SiteError> {
        let mut roots = RootCertStore::empty();
        for certificate in std::iter::once(&self.certificate).chain(&self.also_trusted) {
            roots.add(certificate.clone()).map_err(|error| SiteError::Ca(error.to_string()))?;
        }
        Ok(Arc::new(roots))
    }

    /// The part of it that boot servers may have.
    pub fn boot(&self) -> &BootAuthority {
        &self.boot
    }

    /// Whether this is the token of that boot; takes the same time whichever byte differs.
    pub(crate) fn is_token(&self, boot: BootId, token: &str) -> bool {
        self.boot.token(boot).as_bytes().ct_eq(token.as_bytes()).into()
    }
}

impl std::fmt::Debug for SiteAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SiteAuthority").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> SiteSecret {
        SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap()
    }

    #[test]
    fn a_token_is_the_same_in_every_process_and_of_one_boot_only() {
        let secret = secret();
        let (one, other) = (SiteAuthority::open(&secret).unwrap(), SiteAuthority::open(&secret).unwrap());
        let boot = BootId::random();
        assert_eq!(one.boot.token(boot), other.boot.token(boot));
        assert_eq!(one.boot.token(boot).len(), 32);
        assert!(one.is_token(boot, &other.boot.token(boot)));
        assert!(!one.is_token(BootId::random(), &one.boot.token(boot)));
        assert!(!one.is_token(boot, ""));
    }

    #[test]
    fn a_token_of_another_site_is_none_of_ours() {
        let boot = BootId::random();
        let (ours, theirs) = (SiteAuthority::open(&secret()).unwrap(), SiteAuthority::open(&secret()).unwrap());
        assert!(!ours.is_token(boot, &theirs.boot.token(boot)));
    }

    #[test]
    fn a_secret_with_foreign_parts_is_refused() {
        let (one, other) = (secret(), secret());
        let mixed = SiteSecret { key_pem: other.key_pem.clone(), ..one.clone() };
        assert!(matches!(SiteAuthority::open(&mixed), Err(SiteError::Ca(_))));
        let short = SiteSecret { token_key: vec![0; 5], ..one };
        assert!(matches!(SiteAuthority::open(&short), Err(SiteError::TokenKey { length: 5 })));
    }

    /// A boot server near the hosts makes the same overlays, without the key of the CA.
    #[test]
    fn a_boot_server_says_what_the_site_says() {
        let secret = SiteSecret { also_trusted_pem: secret().certificate_pem, ..secret() };
        let (site, boot) = (SiteAuthority::open(&secret).unwrap(), BootId::random());
        let rack = BootAuthority::open(&secret.trusted_pem(), &secret.token_key).unwrap();
        let said = rack.overlay(boot, &["https://192.0.2.1:8444".to_owned()], 7, None).unwrap();
        assert_eq!(said, site.boot().overlay(boot, &["https://192.0.2.1:8444".to_owned()], 7, None).unwrap());
        assert!(site.is_token(boot, &rack.token(boot)));
        assert!(matches!(BootAuthority::open("", &secret.token_key), Err(SiteError::Ca(_))));
    }

    #[test]
    fn secrets_never_print() {
        let secret = secret();
        let printed = format!("{secret:?} {:?}", SiteAuthority::open(&secret).unwrap());
        assert!(!printed.contains("PRIVATE"), "{printed}");
    }
}
