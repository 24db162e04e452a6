//! The trait itself: what can be asked of a management controller, whatever it speaks.

use std::collections::BTreeMap;

use async_trait::async_trait;

use crate::{
    Bios, BiosValue, BmcError, BootOverride, Capabilities, ConsoleAccess, ConsoleStream, EventStream, FirmwareFile,
    FirmwareImage, FirmwareJob, FirmwareProgress, FirmwareWays, Identity, InsertedMedia, Inventory, KnownSubscription,
    LogEntry, MediaKind, MediaSlot, Medium, PowerAction, PowerState, ReadBack, SecureBoot, Sensor, Subscription,
    SubscriptionId,
};

/// A server's management controller. Cheap to share.
///
/// Every method opens or re-opens the session by itself and ends within a deadline: a look at the power state or the
/// identity within minutes, what reads dozens of resources from slow machines ([`Bmc::inventory`], [`Bmc::sensors`],
/// [`Bmc::bios`], [`Bmc::log_entries`] and others) within seven, an act within ten; it mostly takes seconds. Where an act
/// is made of several calls, acts on one server that come by one connection, as [`crate::BmcConnector`] keeps it, are
/// carried out one after the other: one whose turn does not come within two minutes has done nothing
/// ([`BmcError::Busy`]). Reads go on beside them.
///
/// What failed half-way may be made again: acts look first at how things stand. This does not hold for
/// [`PowerAction::Reset`], [`PowerAction::Cycle`], [`Bmc::send_test_event`] and the start of a firmware update: after
/// [`BmcError::Unreachable`] or [`BmcError::Uncertain`] such an act may have happened all the same, and a repeat is a
/// second one.
///
/// What one BMC cannot do is [`BmcError::Unsupported`], which says what was asked and which limit it meets. The methods
/// with a body here are those that no BMC must have.
#[async_trait]
pub trait Bmc: Send + Sync {
    /// Who is answering. The cheapest call that proves address, credentials and privilege.
    async fn identify(&self) -> Result<Identity, BmcError>;

    /// Whether the server is powered now, as the BMC sees it.
    async fn power_state(&self) -> Result<PowerState, BmcError>;

    /// Asks for a power act and waits until the BMC reports its outcome.
    ///
    /// `On` and `ForceOff` return once the state reads back. `Reset` and `Cycle` return once the BMC has accepted
    /// them and reports the server powered. `GracefulOff` only delivers the request: the operating system may
    /// rightly ignore it, so whoever asks watches [`Bmc::power_state`] and decides when to force.
    ///
    /// # Errors
    /// [`BmcError::NotApplied`] when the BMC accepted the act and still reads the other state at the deadline.
    async fn power(&self, action: PowerAction) -> Result<(), BmcError>;

    /// Chooses what the server boots from next, and reads the choice back.
    ///
    /// # Errors
    /// [`BmcError::Contradicted`] when the BMC accepted the write and reads back another device.
    async fn set_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError>;

    /// Ends the session, if there is one; tables of sessions are short. Any later call opens a new one. Without it the
    /// session ends in the background when the BMC is dropped, if a runtime is still there to do it.
    async fn close(&self) {}

    /// What this BMC can do, found out by asking it, with the reason where it cannot.
    async fn capabilities(&self) -> Result<Capabilities, BmcError> {
        Err(unsupported("finding out what the bmc can do"))
    }

    /// The slots for virtual media, and what is in them; those that cannot be used are left out.
    async fn media(&self) -> Result<Vec<MediaSlot>, BmcError> {
        Err(unsupported("listing virtual media"))
    }

    /// Puts `medium` into a slot of its kind and reads it back. What was in the slot is ejected first, also where it is
    /// said to be the same: a slot that still names an address need not serve it.
    ///
    /// # Errors
    /// [`BmcError::Contradicted`] or [`BmcError::NotApplied`] when the BMC accepted it and the slot stays without it.
    async fn insert_media(&self, medium: &Medium) -> Result<InsertedMedia, BmcError> {
        Err(unsupported(&format!("inserting {medium}")))
    }

    /// Empties all slots for media of `kind` and reads back that they are empty. Nothing inserted is a success. The
    /// server should be off or past needing it: a medium pulled under a running system gives it I/O errors.
    async fn eject_media(&self, kind: MediaKind) -> Result<ReadBack, BmcError> {
        Err(unsupported(&format!("ejecting a virtual {kind}")))
    }

    /// The hardware as the BMC knows it. Parts that the BMC does not tell of are empty lists; numbers it gives as
    /// nonsense (no memory in a server that is off) are left out. The host's own view is better where there is one.
    async fn inventory(&self) -> Result<Inventory, BmcError> {
        Err(unsupported("reading the inventory"))
    }

    /// Temperatures, fans, power and voltages as they read now.
    async fn sensors(&self) -> Result<Vec<Sensor>, BmcError> {
        Err(unsupported("reading sensors"))
    }

    /// Whether firmware checks signatures of what it boots.
    async fn secure_boot(&self) -> Result<SecureBoot, BmcError> {
        Err(unsupported("reading the state of secure boot"))
    }

    /// Switches the check of signatures on or off from the next boot on, and reads the wish back.
    async fn set_secure_boot(&self, enabled: bool) -> Result<ReadBack, BmcError> {
        Err(unsupported(if enabled { "switching secure boot on" } else { "switching secure boot off" }))
    }

    /// Firmware's settings, with what they may be set to.
    async fn bios(&self) -> Result<Bios, BmcError> {
        Err(unsupported("reading bios settings"))
    }

    /// Changes settings of firmware by name, at once or at the next boot as the BMC sees fit, and reads them back.
    /// Settings that are as wished already are not written.
    ///
    /// # Errors
    /// [`BmcError::Refused`] names a setting that does not exist, is read-only or cannot have that value; then none is
    /// written.
    async fn set_bios(&self, wanted: &BTreeMap<String, BiosValue>) -> Result<ReadBack, BmcError> {
        let names: Vec<&str> = wanted.keys().map(String::as_str).collect();
        Err(unsupported(&format!("changing bios settings ({})", names.join(", "))))
    }

    /// Asks for firmware's own defaults of all settings, at the next boot.
    async fn reset_bios(&self) -> Result<ReadBack, BmcError> {
        Err(unsupported("resetting bios settings to their defaults"))
    }

    /// Takes back the settings that were wished for and do not hold yet.
    async fn discard_pending_bios(&self) -> Result<ReadBack, BmcError> {
        Err(unsupported("taking back bios settings that wait"))
    }

    /// Starts to put new firmware on the BMC or a part of the server; [`Bmc::firmware_progress`] follows it.
    async fn start_firmware_update(&self, image: &FirmwareImage) -> Result<FirmwareJob, BmcError> {
        Err(unsupported(&format!("updating firmware from {image}")))
    }

    /// In which ways the BMC takes new firmware.
    async fn firmware_ways(&self) -> Result<FirmwareWays, BmcError> {
        Err(unsupported("asking how firmware can be updated"))
    }

    /// As [`Bmc::start_firmware_update`], with an image that is sent rather than fetched. Made once: what was sent is
    /// gone.
    async fn push_firmware_update(&self, file: FirmwareFile) -> Result<FirmwareJob, BmcError> {
        Err(unsupported(&format!("sending the firmware {}", file.name)))
    }

    /// How far a firmware update is. The job may be kept in writing and asked for by another process.
    async fn firmware_progress(&self, job: &FirmwareJob) -> Result<FirmwareProgress, BmcError> {
        Err(unsupported(&format!("following firmware update {job}")))
    }

    /// Asks the BMC to send its events somewhere. A subscription of the same destination and context that is there
    /// already is taken over, not made twice.
    async fn subscribe(&self, subscription: &Subscription) -> Result<SubscriptionId, BmcError> {
        Err(unsupported(&format!("sending events to {}", subscription.shown_destination())))
    }

    /// Ends a subscription; that it is not there any more is a success.
    async fn unsubscribe(&self, subscription: &SubscriptionId) -> Result<(), BmcError> {
        Err(unsupported(&format!("ending the subscription {subscription}")))
    }

    /// The subscriptions that the BMC holds, whoever made them.
    async fn subscriptions(&self) -> Result<Vec<KnownSubscription>, BmcError> {
        Err(unsupported("listing subscriptions"))
    }

    /// Asks the BMC to send an event to all who subscribed, to see whether it arrives.
    async fn send_test_event(&self) -> Result<(), BmcError> {
        Err(unsupported("sending a test event"))
    }

    /// Opens a stream of events from the BMC, which needs no way from it to us. It holds one connection.
    async fn events(&self) -> Result<Box<dyn EventStream>, BmcError> {
        Err(unsupported("listening to events"))
    }

    /// The newest entries of the BMC's logs, newest first, at most `limit` of them in all.
    async fn log_entries(&self, limit: usize) -> Result<Vec<LogEntry>, BmcError> {
        Err(unsupported(&format!("reading the newest {limit} log entries")))
    }

    /// The ways to the server's console that the BMC offers.
    async fn console(&self) -> Result<Vec<ConsoleAccess>, BmcError> {
        Err(unsupported("looking for the console"))
    }

    /// Opens the server's serial console. Shutting the stream down ends it; dropping it does so in the background.
    /// When somebody else has it, `take_over` ends theirs.
    ///
    /// # Errors
    /// [`BmcError::Busy`] when somebody else has it and is to keep it.
    async fn open_console(&self, take_over: bool) -> Result<Box<dyn ConsoleStream>, BmcError> {
        Err(unsupported(if take_over { "taking over the console" } else { "opening the console" }))
    }
}

fn unsupported(act: &str) -> BmcError {
    BmcError::Unsupported { act: act.to_owned(), why: "there is no such thing in this protocol".to_owned() }
}
