//! Writes to a system: the boot override goes to the shared state, the rest where it is.

use serde_json::{Map, Value};

use super::super::answer::Answer;
use super::super::json::text;
use super::super::service::{Effect, Service};
use super::check;
use crate::host::boot::{BootMode, BootOverride, Persistence};

const ENABLED: &str = "BootSourceOverrideEnabled";
const TARGET: &str = "BootSourceOverrideTarget";
const MODE: &str = "BootSourceOverrideMode";
const HTTP: &str = "HttpBootUri";
const UEFI: &str = "UefiTargetBootSourceOverride";

impl Service {
    /// `owner` is the system when `path` is its settings resource.
    pub(super) fn write_system(
        &self,
        path: &str,
        owner: Option<String>,
        held: &Value,
        patch: Value,
    ) -> Result<Effect, Answer> {
        check(held, &patch)?;
        let behaviour = self.behaviour();
        let boot = patch.get("Boot").and_then(Value::as_object).cloned().unwrap_or_default();
        let overrides = boot.keys().any(|name| [ENABLED, TARGET, MODE, HTTP, UEFI].contains(&name.as_str()));
        if overrides && owner.is_none() && behaviour.boot_in_settings_only {
            return Err(Answer::read_only("Boot"));
        }
        check_boot(held.get("Boot").unwrap_or(&Value::Null), &boot)?;
        let mut rest = patch;
        if let Some(boot) = rest.get_mut("Boot").and_then(Value::as_object_mut) {
            boot.retain(|name, _| ![ENABLED, TARGET, MODE, HTTP, UEFI].contains(&name.as_str()));
        }
        let path = path.to_owned();
        let light = rest.get("LocationIndicatorActive").and_then(Value::as_bool);
        Ok(Box::new(move |service| {
            let Some(host) = service.host_of(&path) else { return Ok(()) };
            let complete = [ENABLED, TARGET, MODE].iter().all(|name| boot.contains_key(*name));
            if overrides && (complete || !behaviour.boot_needs_all) {
                let mut held = host.boot_override();
                apply(&mut held, &boot);
                if behaviour.boot_forgets_mode && !boot.contains_key(MODE) {
                    held.mode = BootMode::Legacy;
                }
                if behaviour.boot_falls_to_once && !boot.contains_key(ENABLED) {
                    held.enabled = Persistence::Once;
                }
                host.set_boot_override(held);
            }
            if let Some(on) = light {
                host.set_identify(on);
            }
            match &owner {
                Some(owner) => service.stage_for_next_boot(owner, &rest),
                None => service.overlay().patch(&path, &rest),
            }
            Ok(())
        }))
    }
}

fn check_boot(held: &Value, boot: &Map<String, Value>) -> Result<(), Answer> {
    for (name, value) in boot {
        let listed = held.get(format!("{name}@Redfish.AllowableValues")).and_then(Value::as_array);
        // some models take a URI that they never show
        let known = held.get(name).is_some() || (name == HTTP && offers_http(held));
        if !known {
            return Err(Answer::unknown_property(name));
        }
        let word = value.as_str().unwrap_or_default();
        let fits = match name.as_str() {
            ENABLED => Persistence::parse(word).is_some(),
            MODE => BootMode::parse(word).is_some(),
            TARGET => listed.is_none_or(|listed| listed.contains(value)),
            _ => true,
        };
        let listed_too = name == UEFI || listed.is_none_or(|listed| listed.contains(value));
        if !fits || !listed_too {
            return Err(Answer::not_in_list(word, name));
        }
    }
    Ok(())
}

fn offers_http(held: &Value) -> bool {
    let targets = held.get(format!("{TARGET}@Redfish.AllowableValues")).and_then(Value::as_array);
    targets.into_iter().flatten().any(|target| target == "UefiHttp")
}

fn apply(held: &mut BootOverride, boot: &Map<String, Value>) {
    let boot = Value::Object(boot.clone());
    if let Some(target) = text(&boot, TARGET) {
        target.clone_into(&mut held.target);
    }
    if let Some(enabled) = text(&boot, ENABLED).and_then(Persistence::parse) {
        held.enabled = enabled;
        if enabled == Persistence::Disabled {
            "None".clone_into(&mut held.target);
        }
    }
    if let Some(mode) = text(&boot, MODE).and_then(BootMode::parse) {
        held.mode = mode;
    }
    if let Some(uri) = boot.get(HTTP) {
        held.http_uri = uri.as_str().map(str::to_owned);
    }
    if let Some(target) = boot.get(UEFI) {
        held.uefi_target = target.as_str().map(str::to_owned);
    }
}
