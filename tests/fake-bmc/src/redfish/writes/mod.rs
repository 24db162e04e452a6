//! PATCH: what of each kind of resource can be written, what refuses, and what the write changes.

mod bios;
mod boot;

use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Value, json};

use super::answer::Answer;
use super::behaviour::Reply;
use super::faults::Twist;
use super::json::{kind, set};
use super::service::{Effect, Service};

/// Nobody may write these, on whatever resource.
const READ_ONLY: [&str; 10] =
    ["Id", "Name", "UUID", "SerialNumber", "Manufacturer", "Model", "PowerState", "Status", "Links", "Actions"];

impl Service {
    pub(super) fn patch(self: &Arc<Self>, path: &str, body: Value, headers: &HeaderMap, twist: &Twist) -> Answer {
        let Some(held) = self.read(path) else { return Answer::not_found(path) };
        let allow = self.allow(path, &held);
        if !allow.contains("PATCH") {
            return Answer::not_allowed("PATCH", allow);
        }
        if let Err(answer) = self.check_if_match(held.clone(), headers) {
            return answer;
        }
        let mut body = body;
        twist.bend(&mut body);
        // a settings resource may show less than it takes
        let owner = self.tree.facts.settings.get(path).and_then(|owner| self.tree.get(owner));
        let refused = match sift(&[&held, owner.unwrap_or(&Value::Null)], &mut body) {
            Ok(refused) => refused,
            Err(answer) => return answer,
        };
        let effect = match self.effect_of_patch(path, &held, body) {
            Ok(effect) => effect,
            Err(answer) => return answer,
        };
        let behaviour = self.behaviour();
        if behaviour.patch_reply == Reply::Task && !twist.ignore {
            return self.begin_task("Change", behaviour.task_time, effect);
        }
        match self.carry_out(effect, twist) {
            Ok(()) if behaviour.patch_reply == Reply::Body || !refused.is_empty() => {
                let mut body = self.read(path).unwrap_or_default();
                let etag = self.stamp(&mut body);
                if !refused.is_empty() {
                    set(&mut body, "@Message.ExtendedInfo", refused);
                }
                let answer = Answer::ok(body);
                if let Some(etag) = etag { answer.with("ETag", etag) } else { answer }
            }
            Ok(()) => Answer::no_content(),
            Err(answer) => answer,
        }
    }

    /// What a write will do, or why it is refused.
    fn effect_of_patch(&self, path: &str, held: &Value, patch: Value) -> Result<Effect, Answer> {
        let owner = self.tree.facts.settings.get(path).cloned();
        let of = match owner.as_ref().and_then(|owner| self.tree.get(owner)) {
            Some(owner) => kind(owner).to_owned(),
            None => kind(held).to_owned(),
        };
        let at = path.to_owned();
        match of.as_str() {
            "ComputerSystem" => self.write_system(path, owner, held, patch),
            "Bios" => self.write_bios(path, owner, held, patch),
            "SecureBoot" => {
                check(held, &patch)?;
                let Some(enable) = patch.get("SecureBootEnable") else { return Ok(plain(at, patch)) };
                let enable =
                    enable.as_bool().ok_or_else(|| Answer::wrong_type(&enable.to_string(), "SecureBootEnable"))?;
                let current = json!({ "SecureBootCurrentBoot": if enable { "Enabled" } else { "Disabled" } });
                Ok(Box::new(move |service| {
                    service.overlay().patch(&at, &patch);
                    service.stage_for_next_boot(&at, &current);
                    Ok(())
                }))
            }
            "VirtualMedia" => {
                let insertable = self
                    .tree
                    .facts
                    .actions
                    .values()
                    .any(|action| action.of == path && action.name == "VirtualMedia.InsertMedia");
                if insertable {
                    return Err(Answer::read_only("Image"));
                }
                match patch.get("Image") {
                    Some(Value::String(image)) if !image.is_empty() => self.insert(path, image, &patch, held),
                    Some(_) => Ok(self.eject(path)),
                    None if patch.get("Inserted") == Some(&json!(false)) => Ok(self.eject(path)),
                    None => Err(Answer::missing_parameter("PATCH", "Image")),
                }
            }
            "ManagerAccount" => Ok(Box::new(move |service| service.patch_account(&at, &patch))),
            "SessionService" => {
                check(held, &patch)?;
                Ok(Box::new(move |service| {
                    if let Some(seconds) = patch.get("SessionTimeout").and_then(Value::as_u64) {
                        service.change(|behaviour| {
                            behaviour.session_timeout = std::time::Duration::from_secs(seconds);
                        });
                    }
                    service.overlay().patch(&at, &patch);
                    Ok(())
                }))
            }
            _ => {
                check(held, &patch)?;
                let light = patch.get("LocationIndicatorActive").and_then(Value::as_bool);
                Ok(Box::new(move |service| {
                    if let Some(on) = light {
                        service.host.set_identify(on);
                    }
                    plain(at, patch)(service)
                }))
            }
        }
    }

    /// Makes a write true when the machine starts next.
    pub(super) fn stage_for_next_boot(&self, path: &str, patch: &Value) {
        let boots = self.host_of(path).map_or(0, |host| host.boots());
        self.stage().add(path, patch, boots);
    }
}

/// A write that is nothing but a write.
fn plain(path: String, patch: Value) -> Effect {
    Box::new(move |service| {
        service.overlay().patch(&path, &patch);
        Ok(())
    })
}

/// Takes out what the resource has not and what nobody may write, and gives what is to be said of each: the rest is
/// done all the same. Refuses if nothing is left.
fn sift(held: &[&Value], patch: &mut Value) -> Result<Vec<Value>, Answer> {
    let Some(patch) = patch.as_object_mut() else { return Err(Answer::malformed()) };
    let mut refused = Vec::new();
    patch.retain(|name, _| {
        let answer = if name.starts_with('@') || name == "Oem" {
            return true;
        } else if READ_ONLY.contains(&name.as_str()) {
            Answer::read_only(name)
        } else if held.iter().all(|held| held.get(name).is_none()) {
            Answer::unknown_property(name)
        } else {
            return true;
        };
        refused.push(answer);
        false
    });
    let left = patch.keys().any(|name| !name.starts_with('@') && name != "Oem");
    if left {
        return Ok(refused.iter().filter_map(|answer| answer.said().get(0).cloned()).collect());
    }
    let nothing = || Answer::error(400, "NoOperation", "the body changes nothing", &[]);
    Err(refused.into_iter().next().unwrap_or_else(nothing))
}

/// Refuses values of another type than the resource has, and those that its lists do not have.
fn check(held: &Value, patch: &Value) -> Result<(), Answer> {
    for (name, sent) in patch.as_object().into_iter().flatten() {
        let Some(value) = held.get(name) else { continue };
        let alike = std::mem::discriminant(value) == std::mem::discriminant(sent);
        if !alike && !value.is_null() && !sent.is_null() {
            return Err(Answer::wrong_type(&sent.to_string(), name));
        }
        let allowed = held.get(format!("{name}@Redfish.AllowableValues")).and_then(Value::as_array);
        if allowed.is_some_and(|allowed| !allowed.contains(sent)) {
            return Err(Answer::not_in_list(sent.as_str().unwrap_or_default(), name));
        }
    }
    Ok(())
}
