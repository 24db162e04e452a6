//! What this BMC can do, from what it shows: nothing here is tried, and nothing is assumed from its maker.

use redfish_client::Resource;

use super::RedfishBmc;
use super::power::plan;
use super::quirks::Subject;
use super::survey::Survey;
use crate::{
    BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, Capabilities, Capability, MediaKind, PowerAction,
};

const ACT: &str = "finding out what it can do";

impl RedfishBmc {
    pub(super) async fn find_capabilities(&self) -> Result<Capabilities, BmcError> {
        let system = self.system(ACT).await?;
        let mut found = self.power_capabilities(&system).await?;
        found.extend(self.boot_capabilities(&system).await?);
        let slots = self.media_kinds().await?;
        let slot = slots.contains(&MediaKind::Cd).then_some(()).ok_or_else(|| "no slot takes a cd".to_owned());
        found.push((Capability::VirtualCd, slot));
        let survey = Survey::new(self);
        let link = |resource: Option<&Resource>, path: &str| {
            let there = resource.is_some_and(|resource| resource.link(path).is_some());
            there.then_some(()).ok_or_else(|| format!("it shows no {path}"))
        };
        let root = survey.find(&redfish_client::Reference::root()).await;
        let manager = self.manager(&survey, &system).await;
        let update = match &root {
            Some(root) => survey.follow(root, "UpdateService").await,
            None => None,
        };
        let simple = update.as_ref().is_some_and(|update| update.action("UpdateService.SimpleUpdate").is_some());
        let log = link(manager.as_ref(), "LogServices").or_else(|_| link(Some(&system), "LogServices"));
        found.extend([
            (Capability::Inventory, Ok(())),
            (Capability::Sensors, self.sensor_capability(&survey, &system).await),
            (Capability::SecureBoot, link(Some(&system), "SecureBoot")),
            (Capability::Bios, link(Some(&system), "Bios")),
            (
                Capability::FirmwareUpdate,
                simple.then_some(()).ok_or_else(|| "it shows no action UpdateService.SimpleUpdate".to_owned()),
            ),
            (Capability::Events, link(root.as_ref(), "EventService")),
            (Capability::Log, log),
            (Capability::Console, Err("redfish carries no console; use ipmi, ssh or the bmc's own page".to_owned())),
        ]);
        survey.finish(ACT)?;
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

    async fn sensor_capability(&self, survey: &Survey<'_>, system: &Resource) -> Result<(), String> {
        let chassis = super::inventory::chassis_of(survey, system).await;
        let has = |chassis: &Resource| ["Thermal", "Power", "Sensors"].iter().any(|path| chassis.link(path).is_some());
        chassis.iter().any(has).then_some(()).ok_or_else(|| "its chassis show no sensors".to_owned())
    }
}
