//! Power acts over a network that loses datagrams, and on servers that take their time.

use std::time::Duration;

use bessemer_fake_bmc::host::power::Timing;
use bessemer_fake_bmc::ipmi::Options;

use super::super::*;
use super::fake::{bmc, start, within};

const CHASSIS_CONTROL: (u8, u8) = (0x00, 0x02);

#[tokio::test]
async fn acts_survive_a_restart_of_the_bmc_and_a_lost_answer() {
    let (host, server) = start(Options::default()).await;
    // A control whose answer is lost is waited for that long.
    let bmc = within(&server, Duration::from_secs(4));
    for action in [PowerAction::On, PowerAction::Reset, PowerAction::ForceOff] {
        bmc.power_state().await.unwrap();
        server.forget_sessions();
        bmc.power(action).await.unwrap_or_else(|error| panic!("{action} after a restart: {error}"));
    }
    // The state tells of these, whether or not their answer comes.
    for (action, state) in [(PowerAction::On, PowerState::On), (PowerAction::ForceOff, PowerState::Off)] {
        server.faults().lose_answer_to = Some(CHASSIS_CONTROL);
        bmc.power(action).await.unwrap_or_else(|error| panic!("{action} without an answer: {error}"));
        assert_eq!(bmc.power_state().await.unwrap(), state);
    }
    // And of these it does not: nobody must take it for a reason to do it again.
    bmc.power(PowerAction::On).await.unwrap();
    for action in [PowerAction::Reset, PowerAction::Cycle] {
        let boots = host.boots();
        server.faults().lose_answer_to = Some(CHASSIS_CONTROL);
        let error = bmc.power(action).await.unwrap_err();
        assert!(matches!(error, BmcError::Uncertain { .. }) && !error.is_transient(), "{error}");
        assert!(error.to_string().ends_with("it may have been carried out all the same"), "{error}");
        assert_eq!(host.boots() - boots, 1, "{action}");
    }
}

#[tokio::test]
async fn on_right_after_off_ends_on() {
    let (host, server) = start(Options::default()).await;
    let bmc = bmc(&server);
    bmc.power(PowerAction::On).await.unwrap();
    // It reads on for a second after it was told to go off, and heeds no other wish meanwhile.
    host.set_timing(Timing { lag: Duration::from_secs(1), ..Timing::default() });
    bmc.client.execute(&ipmi_client::command::ChassisControl::PowerDown).await.unwrap();
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
    bmc.power(PowerAction::On).await.unwrap();
    host.set_timing(Timing::default());
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(bmc.power_state().await.unwrap(), PowerState::On);
}
