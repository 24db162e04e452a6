//! Power and boot of a system, as far as its model shows them.

use serde_json::{Value, json};

use super::super::json::{replace, set};
use super::super::service::Service;
use crate::host::boot::{BootMode, BootOverride};
use crate::host::power::PowerState;

impl Service {
    /// A system, or its settings resource.
    pub(super) fn show_system(&self, path: &str, body: &mut Value) {
        let Some(host) = self.host_of(path) else { return };
        let power = host.power();
        replace(body, "PowerState", power.name());
        if body.get("LocationIndicatorActive").is_some_and(|held| !held.is_null()) {
            set(body, "LocationIndicatorActive", host.identify());
        }
        if let Some(progress) = body.get_mut("BootProgress") {
            let state = if power == PowerState::On { "OSRunning" } else { "None" };
            replace(progress, "LastState", state);
        }
        if let Some(boot) = body.get_mut("Boot") {
            show_boot(boot, &host.boot_override());
        }
    }

    /// A chassis has the power state of the system in it.
    pub(super) fn show_chassis(&self, body: &mut Value) {
        if body.get("PowerState").is_some_and(|held| !held.is_null()) {
            let on = self.host.power() != PowerState::Off;
            set(body, "PowerState", if on { "On" } else { "Off" });
        }
        if body.get("LocationIndicatorActive").is_some_and(|held| !held.is_null()) {
            set(body, "LocationIndicatorActive", self.host.identify());
        }
    }
}

fn show_boot(boot: &mut Value, held: &BootOverride) {
    replace(boot, "BootSourceOverrideEnabled", held.enabled.name());
    replace(boot, "BootSourceOverrideTarget", held.target.as_str());
    // a model that shows null here shows it always
    if boot.get("BootSourceOverrideMode").is_some_and(|mode| !mode.is_null()) {
        let mode = match held.mode {
            BootMode::Legacy => "Legacy",
            BootMode::Uefi => "UEFI",
        };
        set(boot, "BootSourceOverrideMode", mode);
    }
    if let Some(uri) = &held.http_uri {
        set(boot, "HttpBootUri", uri.as_str());
    } else {
        replace(boot, "HttpBootUri", Value::Null);
    }
    if let Some(target) = &held.uefi_target {
        set(boot, "UefiTargetBootSourceOverride", json!(target));
    }
}
