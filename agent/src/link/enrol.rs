//! From the overlay's one-time token to a certificate of our own.

use std::time::Duration;

use bessemer_protocol::{BootConfig, EnrolRequest, EnrolResponse, HardwareIdentity, HostId, PROTOCOL_VERSION};
use tracing::info;

use super::{Controllers, LinkError, keys};
use crate::backoff::Backoff;

/// A machine that the controller knows.
pub(crate) struct Enrolled {
    /// Who it knows us as.
    pub(crate) host: HostId,
    /// The same controllers, with our certificate.
    pub(crate) controllers: Controllers,
}

/// Asks until there is an answer. The key stays the same over all attempts, so that a lost answer costs nothing.
/// An error is one that asking again cannot heal.
pub(crate) async fn enrol(config: &BootConfig, identity: HardwareIdentity) -> Result<Enrolled, LinkError> {
    let fresh = keys::fresh()?;
    let request = EnrolRequest {
        protocol: PROTOCOL_VERSION,
        token: config.token.clone(),
        boot_id: config.boot_id,
        csr: fresh.csr,
        identity,
        agent_version: crate::VERSION.to_owned(),
    };
    let anonymous = Controllers::new(&config.controllers, &config.ca, None)?;
    let mut backoff = Backoff::new(Duration::from_millis(300), Duration::from_secs(10));
    loop {
        match anonymous.post::<EnrolResponse>("/v1/enrol", &request).await {
            Ok(EnrolResponse { certificate, host_id }) => {
                let controllers = Controllers::new(&config.controllers, &config.ca, Some((&certificate, &fresh.key)))?;
                return Ok(Enrolled { host: host_id, controllers });
            }
            Err(error) if error.may_heal() => {
                let pause = backoff.next();
                info!("enrolment: {error}; asking again in {:.1} s", pause.as_secs_f32());
                tokio::time::sleep(pause).await;
            }
            Err(error) => return Err(error),
        }
    }
}
