//! Keeping the certificate good: the next one is asked for at half of its life, for the same key, and also when it has expired meanwhile.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bessemer_protocol::{NodeIdentity, RenewRequest, RenewResponse};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tracing::{info, warn};

use crate::backoff::Backoff;
use crate::link::{Controllers, LinkError, keys};

/// The longest sleep until the clock is looked at again: it may have been set meanwhile.
const LOOK: Duration = Duration::from_secs(6 * 60 * 60);

/// When a certificate is good, in seconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Validity {
    from: i64,
    until: i64,
}

impl Validity {
    fn of(pem: &str) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
        let (_, certificate) = x509_parser::parse_x509_certificate(&der).ok()?;
        let validity = certificate.validity();
        Some(Self { from: validity.not_before.timestamp(), until: validity.not_after.timestamp() })
    }

    /// Seconds until half of its life is over; none when it is.
    fn until_renewal(self, now: i64) -> Option<u64> {
        let half = self.from.saturating_add(self.until.saturating_sub(self.from) / 2);
        u64::try_from(half.saturating_sub(now)).ok().filter(|left| *left > 0)
    }
}

/// Whether the certificate of `identity` opens nothing any more.
pub(super) fn has_expired(identity: &NodeIdentity) -> bool {
    Validity::of(&identity.certificate).is_some_and(|validity| validity.until <= now())
}

/// Returns with another certificate, and the CAs to trust, once the time for it has come and a controller has given it. A host that was released
/// gets none, and waits here for ever.
pub(super) async fn renewed(identity: &NodeIdentity) -> Result<NodeIdentity, LinkError> {
    if let Some(validity) = Validity::of(&identity.certificate) {
        while let Some(left) = validity.until_renewal(now()) {
            tokio::time::sleep(Duration::from_secs(left).min(LOOK)).await;
        }
    }
    let anonymous = Controllers::new(&identity.controllers, &identity.ca, None)?;
    let request = RenewRequest { certificate: identity.certificate.clone(), csr: keys::request_of(&identity.key)? };
    let mut backoff = Backoff::new(Duration::from_secs(2), Duration::from_secs(5 * 60));
    loop {
        match anonymous.post::<RenewResponse>("/v1/renew", &request).await {
            Ok(RenewResponse { certificate, ca }) => {
                info!("the certificate is renewed");
                return Ok(NodeIdentity { certificate, ca, ..identity.clone() });
            }
            Err(error) if error.may_heal() => {
                warn!("renewing the certificate: {error}; asking again");
                backoff.pause().await;
            }
            Err(error) => {
                warn!("the certificate is not renewed: {error}");
                std::future::pending::<()>().await;
            }
        }
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_its_life_is_the_time() {
        let validity = Validity { from: 1000, until: 2000 };
        for (now, left) in [(1000, Some(500)), (1499, Some(1)), (1500, None), (2500, None), (0, Some(1500))] {
            assert_eq!(validity.until_renewal(now), left, "{now}");
        }
    }

    #[test]
    fn dates_are_read_from_the_certificate() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 1, 11);
        let pem = params.self_signed(&key).unwrap().pem();
        let validity = Validity::of(&pem).unwrap();
        assert_eq!(validity.until - validity.from, 10 * 86_400);
        assert_eq!(Validity::of("nonsense"), None);
        assert!(keys::request_of(&key.serialize_pem()).unwrap().contains("CERTIFICATE REQUEST"));
    }
}
