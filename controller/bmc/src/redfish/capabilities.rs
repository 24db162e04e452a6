//! What this BMC can do, from what it shows: nothing here is tried, and nothing is assumed from its maker.

use redfish_client::Resource;

use super::RedfishBmc;
use super::firmware::Ways;
use super::power::plan;
use super::quirks::Subject;
use super::survey::Survey;
use crate::{
    BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, Capabilities, Capability, MediaKind, PowerAction,
};

const ACT: &str = "finding out what it can do";

/// How the reason begins where something is not there, or is refused.
const NOT_SHOWN: &str = "it shows no";

impl RedfishBmc {
    pub(super) async fn find_capabilities(&self) -> Result<Capabilities, BmcError> {
        let system = self.system(ACT).await?;
        let mut found = self.power_capabilities(&system).await?;
        found.extend(self.boot_capabilities(&system).await?);
        found.push((Capability::VirtualCd, self.virtual_cd_capability().await?));
        found.push((Capability::Sensors, self.sensor_capability(&system).await?));
        let survey = Survey::new(self);
        let link = |resource: Option<&Resource>, path: &str| {
            let there = resource.is_some_and(|resource| resource.link(path).is_some());
            there.then_some(()).ok_or_else(|| format!("{NOT_SHOWN} {path}"))
        };
        let root = survey.find(&redfish_client::Reference::root()).await;
        let manager = self.manager(&survey, &system).await;
        let update = match &root {
            Some(root) => survey.follow(root, "UpdateService").await,
            None => None,
        };
        let events = match &root {
            Some(root) => survey.follow(root, "EventService").await,
            None => None,
        };
        let bios = survey.follow(&system, "Bios").await;
        let log = link(manager.as_ref(), "LogServices").or_else(|_| link(Some(&system), "LogServices"));
        found.extend([
            (Capability::Inventory, Ok(())),
            (Capability::SecureBoot, link(Some(&system), "SecureBoot")),
            (Capability::Bios, bios_capability(bios.as_ref())),
            (Capability::FirmwareUpdate, update_capability(update.as_ref())),
            (Capability::Events, events_capability(events.as_ref())),
            (Capability::Log, log),
            (Capability::Console, Err("redfish carries no console; use ipmi, ssh or the bmc's own page".to_owned())),
        ]);
        // What stumbles is not the same as what is missing.
        let refused = survey.finish_whole(ACT)?;
        if let Some(refused) = refused.first() {
            let no = found.iter_mut().filter_map(|(_, can)| can.as_mut().err());
            no.filter(|why| why.starts_with(NOT_SHOWN)).for_each(|why| *why = format!("{why} ({refused})"));
        }
        Ok(found.into_iter().collect())
    }

    async fn power_capabilities(&self, system: &Resource) -> Result<Vec<(Capability, Result<(), String>)>, BmcError> {
        let reset = system.action("ComputerSystem.Reset");
        let listed = match &reset {
            Some(reset) => self.reset_types(ACT, reset).await?,
            None => None,
        };
        let acts = [
            (Capability::PowerOn, PowerAction::On),
            (Capability::ForceOff, PowerAction::ForceOff),
            (Capability::GracefulOff, PowerAction::GracefulOff),
            (Capability::Reset, PowerAction::Reset),
            (Capability::Cycle, PowerAction::Cycle),
        ];
        let can = |action| match &reset {
            Some(_) => plan(action, listed.as_deref(), &Subject::of(system)).map(|_| ()),
            None => Err("it shows no action ComputerSystem.Reset".to_owned()),
        };
        Ok(acts.into_iter().map(|(capability, action)| (capability, can(action))).collect())
    }

    async fn boot_capabilities(&self, system: &Resource) -> Result<Vec<(Capability, Result<(), String>)>, BmcError> {
        let http = BootDevice::UefiHttp(Some("http://192.0.2.1/boot.efi".to_owned()));
        let once = |device| (device, BootLifetime::Once);
        let wishes = [
            (Capability::BootPxe, once(BootDevice::Pxe)),
            (Capability::BootUefiHttp, once(BootDevice::UefiHttp(None))),
            (Capability::BootHttpUri, once(http)),
            (Capability::BootCd, once(BootDevice::Cd)),
            (Capability::BootDisk, once(BootDevice::Disk)),
            (Capability::BootPersistent, (BootDevice::Pxe, BootLifetime::Persistent)),
        ];
        let mut found = Vec::new();
        for (capability, (device, lifetime)) in wishes {
            let wanted = BootOverride { device, lifetime, firmware: BootFirmware::Uefi };
            let can = match self.boot_shortfalls(&wanted).await {
                Ok(shortfalls) if shortfalls.is_empty() => Ok(()),
                Ok(shortfalls) => Err(shortfalls.join("; ")),
                Err(BmcError::Unsupported { why, .. }) => Err(why),
                Err(error) => return Err(error),
            };
            found.push((capability, can));
        }
        let mode = system.text("Boot/BootSourceOverrideMode").map(|_| ());
        found.push((Capability::BootMode, mode.ok_or_else(|| "it shows no boot mode".to_owned())));
        Ok(found)
    }

    async fn virtual_cd_capability(&self) -> Result<Result<(), String>, BmcError> {
        let slots = self.media_kinds().await?;
        Ok(slots.contains(&MediaKind::Cd).then_some(()).ok_or_else(|| "no slot takes a cd".to_owned()))
    }

    async fn sensor_capability(&self, system: &Resource) -> Result<Result<(), String>, BmcError> {
        let survey = Survey::new(self);
        let chassis = super::inventory::chassis_of(&survey, system).await;
        let has = |chassis: &Resource| ["Thermal", "Power", "Sensors"].iter().any(|path| chassis.link(path).is_some());
        // One that stumbles does not matter where another has some.
        if chassis.iter().any(has) {
            return Ok(Ok(()));
        }
        survey.finish_whole(ACT)?;
        Ok(Err("its chassis show no sensors".to_owned()))
    }
}

/// Some have the resource for its action alone (OpenBMC).
fn bios_capability(bios: Option<&Resource>) -> Result<(), String> {
    let Some(bios) = bios else { return Err(format!("{NOT_SHOWN} Bios")) };
    let has = bios.value("Attributes").is_some_and(serde_json::Value::is_object);
    has.then_some(()).ok_or_else(|| format!("{} shows no Attributes", bios.uri()))
}

fn update_capability(service: Option<&Resource>) -> Result<(), String> {
    let Some(service) = service else { return Err(format!("{NOT_SHOWN} UpdateService")) };
    if is_switched_off(service) {
        return Err(format!("{} is switched off (ServiceEnabled)", service.uri()));
    }
    let ways = Ways::of(service, None).shown();
    let any = ways.fetches || ways.takes_forms || ways.takes_files;
    any.then_some(()).ok_or_else(|| format!("{} shows no way to take an image", service.uri()))
}

fn events_capability(service: Option<&Resource>) -> Result<(), String> {
    let Some(service) = service else { return Err(format!("{NOT_SHOWN} EventService")) };
    if is_switched_off(service) {
        return Err(format!("{} is switched off (ServiceEnabled)", service.uri()));
    }
    Ok(())
}

fn is_switched_off(service: &Resource) -> bool {
    service.value("ServiceEnabled").and_then(serde_json::Value::as_bool) == Some(false)
}
