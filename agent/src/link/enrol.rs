//! From the overlay's one-time token to a certificate of our own.

use std::time::Duration;

use bessemer_protocol::{
    BootConfig, EnrolRequest, EnrolResponse, HardwareIdentity, HostId, OLDEST_PROTOCOL, PROTOCOL_VERSION, Refusal,
};
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
    let mut request = EnrolRequest {
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
            Ok(EnrolResponse { certificate, host_id, protocol: _ }) => {
                let controllers = Controllers::new(&config.controllers, &config.ca, Some((&certificate, &fresh.key)))?;
                return Ok(Enrolled { host: host_id, controllers });
            }
            Err(LinkError::Refused(refusal)) if older(request.protocol, &refusal).is_some() => {
                request.protocol = older(request.protocol, &refusal).unwrap_or(request.protocol);
                info!("the controller is older: speaking version {} of the protocol with it", request.protocol);
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

/// The version to ask with next, when a refusal was about the version and the controller speaks an earlier one that we
/// still know.
fn older(asked: u32, refusal: &Refusal) -> Option<u32> {
    refusal.speaks.filter(|spoken| (OLDEST_PROTOCOL..asked).contains(spoken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_controller_is_asked_again_in_its_own_version_and_nobody_else_is() {
        let refusal = |speaks| Refusal { message: "x".into(), retry: false, speaks };
        for (asked, speaks, next) in
            [(2, Some(1), Some(1)), (2, Some(2), None), (2, Some(0), None), (2, None, None), (1, Some(2), None)]
        {
            assert_eq!(older(asked, &refusal(speaks)), next, "{asked} {speaks:?}");
        }
    }
}
