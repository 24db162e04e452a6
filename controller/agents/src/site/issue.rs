//! Client certificates for agents. Only the key is taken from a request: who it is for is the controller's to say.

use rcgen::{
    CertificateParams, CertificateSigningRequestParams, DnType, ExtendedKeyUsagePurpose, KeyUsagePurpose,
    PublicKeyData, SanType,
};
use time::OffsetDateTime;

use super::{BACKDATED, SiteAuthority, SiteError};
use crate::identity::{self, AgentIdentity, KeyDigest, RoleIdentity};

/// How long a ramdisk's certificate is good for. It ends with its boot, which is checked on each request; this only
/// bounds how long an idle host may wait for work.
pub const RAMDISK_LIFETIME: time::Duration = time::Duration::days(30);

/// How long an installed host's certificate is good for.
pub const NODE_LIFETIME: time::Duration = time::Duration::days(90);

/// A certificate that was just signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    /// PEM.
    pub certificate: String,
    /// Of the certified key.
    pub key: KeyDigest,
}

/// The public key of a PKCS#10 request whose signature was verified.
pub(crate) struct KeyRequest(CertificateSigningRequestParams);

impl KeyRequest {
    /// # Errors
    /// [`SiteError::Request`].
    pub(crate) fn parse(pem: &str) -> Result<Self, SiteError> {
        CertificateSigningRequestParams::from_pem(pem).map(Self).map_err(|error| SiteError::Request(error.to_string()))
    }

    /// The digest that names the key.
    pub(crate) fn key(&self) -> KeyDigest {
        KeyDigest::of(&self.0.public_key.subject_public_key_info())
    }
}

impl SiteAuthority {
    /// Certifies the key of a request for `who`.
    ///
    /// # Errors
    /// [`SiteError::Identity`] when the claim cannot be written into a certificate, [`SiteError::Sign`].
    pub(crate) fn issue(
        &self,
        request: &KeyRequest,
        who: &AgentIdentity,
        now: OffsetDateTime,
    ) -> Result<Issued, SiteError> {
        let sign = |error: rcgen::Error| SiteError::Sign(error.to_string());
        let uri = identity::to_uri(who)?;
        let mut params = CertificateParams::default();
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, "bessemer agent");
        params.subject_alt_names = vec![SanType::URI(uri.as_str().try_into().map_err(sign)?)];
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.not_before = now - BACKDATED;
        params.not_after = now
            + match who.role {
                RoleIdentity::Ramdisk { .. } => RAMDISK_LIFETIME,
                RoleIdentity::Node { .. } => NODE_LIFETIME,
            };
        let certificate = params.signed_by(&request.0.public_key, &self.issuer).map_err(sign)?;
        Ok(Issued { certificate: certificate.pem(), key: request.key() })
    }
}
