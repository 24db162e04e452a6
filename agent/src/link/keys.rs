//! Private keys: made here, never sent anywhere. Only requests for a certificate travel.

use rcgen::{CertificateParams, KeyPair};

use super::LinkError;

/// A fresh key and the request for its certificate.
pub(crate) struct FreshKey {
    /// PKCS#8, PEM. Secret.
    pub(crate) key: String,
    /// PKCS#10, PEM.
    pub(crate) csr: String,
}

/// A request for a certificate of a key that there is.
pub(crate) fn request_of(key: &str) -> Result<String, LinkError> {
    let failed = |error: rcgen::Error| LinkError::Key(error.to_string());
    let pair = KeyPair::from_pem(key).map_err(failed)?;
    CertificateParams::default().serialize_request(&pair).and_then(|request| request.pem()).map_err(failed)
}

/// Makes a P-256 key. The subject is empty, as the controller ignores it.
pub(crate) fn fresh() -> Result<FreshKey, LinkError> {
    let pair = KeyPair::generate().map_err(|error| LinkError::Key(error.to_string()))?;
    let csr = CertificateParams::default()
        .serialize_request(&pair)
        .and_then(|request| request.pem())
        .map_err(|error| LinkError::Key(error.to_string()))?;
    Ok(FreshKey { key: pair.serialize_pem(), csr })
}
