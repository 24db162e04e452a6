//! Who we are and whom we let in: the server's own certificate authority, the certificates it issues, and the
//! administrator's token. All of it lives in the data directory, readable by its owner only.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use super::{ServeError, file_error};

const AUTHORITY_LIFE: Duration = Duration::days(3650);
/// Certificates are issued at each start, and again when two thirds of this are over.
const CERTIFICATE_LIFE: Duration = Duration::days(365);
/// When certificates are issued anew.
pub(super) const RENEW_AFTER: std::time::Duration = std::time::Duration::from_secs(243 * 24 * 3600);
/// Clocks of clients may be behind ours by this much.
const CLOCK_SLACK: Duration = Duration::hours(1);

/// The certificate authority.
pub(super) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key, both PEM.
pub(super) struct Identity {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    pub(super) fn load_or_create(dir: &Path) -> Result<Self, ServeError> {
        let make = fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        make.map_err(file_error(dir))?;
        let (pem_path, key_path) = (dir.join("ca.crt"), dir.join("ca.key"));
        let failed = |source| ServeError::Authority { path: dir.to_owned(), source };
        // The key is written first, so that a certificate on disk always has its key beside it.
        if !pem_path.exists() {
            let (pem, key) = new_authority().map_err(failed)?;
            write_private(&key_path, &key)?;
            write_private(&pem_path, &pem)?;
        }
        let pem = fs::read_to_string(&pem_path).map_err(file_error(&pem_path))?;
        let key = fs::read_to_string(&key_path).map_err(file_error(&key_path))?;
        let key = KeyPair::from_pem(&key).map_err(failed)?;
        let issuer = Issuer::from_ca_cert_pem(&pem, key).map_err(failed)?;
        Ok(Self { pem, issuer })
    }

    pub(super) fn pem(&self) -> &str {
        &self.pem
    }

    pub(super) fn issue_server(&self, names: &[String]) -> Result<Identity, ServeError> {
        self.issue("bessemer-apiserver", None, names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    pub(super) fn issue_admin(&self) -> Result<Identity, ServeError> {
        self.issue("bessemer-admin", Some("system:masters"), &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(
        &self,
        name: &str,
        group: Option<&str>,
        names: &[String],
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, ServeError> {
        let failed = |source| ServeError::Certificate { names: names.to_vec(), source };
        let mut params = CertificateParams::new(names.to_vec()).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, name);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        set_life(&mut params, CERTIFICATE_LIFE);
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Identity { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn new_authority() -> Result<(String, String), rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "bessemer-apiserver-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    set_life(&mut params, AUTHORITY_LIFE);
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn set_life(params: &mut CertificateParams, life: Duration) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - CLOCK_SLACK;
    params.not_after = now + life;
}

/// The administrator's bearer token, made at the first start.
pub(super) fn load_or_create_token(path: &Path) -> Result<String, ServeError> {
    match fs::read_to_string(path) {
        Ok(token) if !token.trim().is_empty() => Ok(token.trim().to_owned()),
        Ok(_) => new_token(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_token(path),
        Err(error) => Err(file_error(path)(error)),
    }
}

fn new_token(path: &Path) -> Result<String, ServeError> {
    // Two random UUIDs: 244 random bits.
    let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    write_private(path, &token)?;
    Ok(token)
}

/// Writes a file that only its owner may read; a crash leaves the old one or the new one.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), ServeError> {
    let mut beside: PathBuf = path.to_owned();
    beside.as_mut_os_string().push(".new");
    let write = || {
        match fs::remove_file(&beside) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    };
    write().map_err(file_error(path))
}
