//! A machine that nobody knows: its overlay holds no token, so it says what it is, for as long as the site listens, and does nothing else.

use std::time::Duration;

use bessemer_protocol::{
    BootConfig, DiscoverRequest, DiscoverResponse, HardwareDetails, HardwareIdentity, PROTOCOL_VERSION,
};
use tracing::info;

use crate::backoff::Backoff;
use crate::link::{Controllers, LinkError};

/// No site is asked more often than this, whatever it says.
const SHORTEST: Duration = Duration::from_secs(10);

/// Reports until the site has heard enough, or refuses. Either way the machine has nothing more to do here.
pub(super) async fn report(
    config: &BootConfig,
    identity: HardwareIdentity,
    hardware: HardwareDetails,
) -> Result<(), LinkError> {
    let controllers = Controllers::new(&config.controllers, &config.ca, None)?;
    let agent_version = crate::VERSION.to_owned();
    let request = DiscoverRequest { protocol: PROTOCOL_VERSION, agent_version, identity, hardware };
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    loop {
        match controllers.post::<DiscoverResponse>("/v1/discover", &request).await {
            Ok(DiscoverResponse { again_after_seconds: None }) => return Ok(()),
            Ok(DiscoverResponse { again_after_seconds: Some(seconds) }) => {
                info!("this machine is not known here; its hardware was reported, again in {seconds} s");
                backoff.reset();
                tokio::time::sleep(Duration::from_secs(seconds.into()).max(SHORTEST)).await;
            }
            Err(error) if error.may_heal() => {
                let pause = backoff.next();
                info!("reporting the hardware: {error}; again in {:.1} s", pause.as_secs_f32());
                tokio::time::sleep(pause).await;
            }
            Err(error) => return Err(error),
        }
    }
}
