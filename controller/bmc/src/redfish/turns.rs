//! How long what is asked for may take in all, whatever the calls beneath it are allowed; and that acts on one server
//! wait for each other, so that two of several steps each do not undo one another.

use std::time::Duration;

use tokio::time::timeout;

use super::RedfishBmc;
use crate::BmcError;

/// The longest that something may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A look at one or a few resources.
    pub(super) look: Duration,
    /// A question that needs many resources.
    pub(super) survey: Duration,
    /// An act with all its tries and looks, once it is its turn.
    pub(super) act: Duration,
    /// Waiting for the acts before it.
    pub(super) turn: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        Self { look: minutes(3), survey: minutes(7), act: minutes(10), turn: minutes(2) }
    }
}

impl RedfishBmc {
    /// Carries out an act when those before it are done.
    pub(super) async fn in_turn<T>(
        &self,
        act: &str,
        work: impl Future<Output = Result<T, BmcError>>,
    ) -> Result<T, BmcError> {
        self.alone(act, self.within(self.limits.act, act, work)).await
    }

    /// As [`RedfishBmc::in_turn`], of an act that has a deadline of its own.
    pub(super) async fn alone<T>(
        &self,
        act: &str,
        work: impl Future<Output = Result<T, BmcError>>,
    ) -> Result<T, BmcError> {
        let Ok(_turn) = timeout(self.limits.turn, self.turn.lock()).await else {
            return Err(BmcError::Busy {
                address: self.address.to_string(),
                act: act.to_owned(),
                why: format!("another act on this server is not over after {:?}; nothing was done", self.limits.turn),
            });
        };
        work.await
    }

    /// What `work` gives, if it gives it within `limit`.
    pub(super) async fn within<T>(
        &self,
        limit: Duration,
        act: &str,
        work: impl Future<Output = Result<T, BmcError>>,
    ) -> Result<T, BmcError> {
        // On the heap: a future of hundreds of calls does not belong into each of its callers.
        timeout(limit, Box::pin(work)).await.unwrap_or_else(|_| {
            Err(BmcError::Unreachable {
                address: self.address.to_string(),
                deadline: limit,
                why: format!("{act}: it answers, and too slowly or too much"),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::future::pending;

    use super::super::tests::scripted::{Scripted, status};
    use super::*;
    use crate::{
        Bmc, BootDevice, BootOverride, FirmwareApply, FirmwareImage, FirmwareJob, MediaKind, Medium, PowerAction,
        Subscription, SubscriptionId,
    };

    /// What each method says of a BMC that never comes to an end.
    #[tokio::test]
    async fn everything_ends() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("redfish+http://{}/redfish/v1/Systems/1", silent.local_addr().unwrap());
        let credentials = crate::Credentials::new("u", "p");
        let mut bmc = RedfishBmc::with(
            &address.parse().unwrap(),
            &credentials,
            redfish_client::Options::default(),
            crate::power::Patience::default(),
        )
        .unwrap();
        let short = Duration::from_millis(50);
        bmc.limits = Limits { look: short, survey: short, act: short, turn: short };
        let image = FirmwareImage {
            url: "http://h/a".to_owned(),
            targets: Vec::new(),
            apply: FirmwareApply::Default,
            login: None,
        };
        let wanted = Subscription { destination: "http://h".to_owned(), context: "c".to_owned() };
        let (medium, settings) =
            (Medium::cd("http://h/a.iso"), BTreeMap::from([("A".to_owned(), crate::BiosValue::Boolean(true))]));
        let boot = BootOverride::once(BootDevice::Pxe);
        let id = SubscriptionId("/redfish/v1/EventService/Subscriptions/1".to_owned());
        let job = FirmwareJob("update-service".to_owned());
        let all = async {
            [
                bmc.identify().await.err(),
                bmc.power_state().await.err(),
                bmc.power(PowerAction::On).await.err(),
                bmc.set_boot_override(&boot).await.err(),
                bmc.capabilities().await.err(),
                bmc.media().await.err(),
                bmc.insert_media(&medium).await.err(),
                bmc.eject_media(MediaKind::Cd).await.err(),
                bmc.inventory().await.err(),
                bmc.sensors().await.err(),
                bmc.secure_boot().await.err(),
                bmc.set_secure_boot(true).await.err(),
                bmc.bios().await.err(),
                bmc.set_bios(&settings).await.err(),
                bmc.reset_bios().await.err(),
                Bmc::discard_pending_bios(&bmc).await.err(),
                bmc.firmware_ways().await.err(),
                bmc.start_firmware_update(&image).await.err(),
                bmc.firmware_progress(&job).await.err(),
                bmc.subscribe(&wanted).await.err(),
                bmc.unsubscribe(&id).await.err(),
                bmc.subscriptions().await.err(),
                bmc.send_test_event().await.err(),
                bmc.events().await.err(),
                bmc.log_entries(1).await.err(),
                bmc.console().await.err(),
            ]
        };
        let errors = timeout(Duration::from_secs(20), all).await.expect("some have no deadline");
        for (at, error) in errors.iter().enumerate() {
            assert!(
                matches!(error, Some(BmcError::Unreachable { deadline, .. }) if *deadline == short),
                "{at}: {error:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_act_whose_turn_does_not_come_does_nothing() {
        let service = Scripted::start(|_, _| status(500)).await;
        let mut bmc = service.bmc();
        bmc.limits.turn = Duration::from_millis(50);
        let before = bmc.in_turn("an act", pending::<Result<(), BmcError>>());
        let after = async {
            let error = bmc.power(PowerAction::On).await.unwrap_err();
            assert!(matches!(&error, BmcError::Busy { .. }), "{error}");
        };
        tokio::select! {
            biased;
            _ = before => panic!("it never ends"),
            () = after => {}
        }
        assert!(service.seen().is_empty());
    }
}
