//! POST to actions: found by their targets, told apart by their names.

mod media;
mod power;
mod update;

use std::sync::Arc;

use http::HeaderMap;
use http::header::IF_MATCH;
use serde_json::{Value, json};

use super::answer::Answer;
use super::behaviour::Reply;
use super::etag::precondition_failed;
use super::facts::Action;
use super::faults::Twist;
use super::json::text;
use super::service::{Effect, Service};

impl Service {
    pub(super) fn act(self: &Arc<Self>, action: &Action, body: Value, headers: &HeaderMap, twist: &Twist) -> Answer {
        let behaviour = self.behaviour();
        if behaviour.action_refuses_if_match && headers.contains_key(IF_MATCH) {
            return precondition_failed();
        }
        let mut body = body;
        twist.bend(&mut body);
        let effect = match self.effect_of_action(action, &body) {
            Ok(effect) => effect,
            Err(answer) => return answer,
        };
        let reply = match action.name.as_str() {
            "UpdateService.SimpleUpdate" => Reply::Task,
            "ComputerSystem.Reset" | "Chassis.Reset" | "Manager.Reset" => behaviour.reset_reply,
            _ => behaviour.action_reply,
        };
        if reply == Reply::Task {
            let effect: Effect = if twist.ignore { Box::new(|_| Ok(())) } else { effect };
            return self.begin_task(&action.name, behaviour.task_time, effect);
        }
        match self.carry_out(effect, twist) {
            Ok(()) if reply == Reply::Body => Answer::success(),
            Ok(()) => Answer::no_content(),
            Err(answer) => answer,
        }
    }

    /// What an action will do, or why it is refused.
    fn effect_of_action(&self, action: &Action, body: &Value) -> Result<Effect, Answer> {
        let held = self.read(&action.of).unwrap_or_default();
        match action.name.as_str() {
            "ComputerSystem.Reset" | "Chassis.Reset" => self.reset(action, body),
            "Manager.Reset" => Ok(Box::new(|service| {
                service.restart();
                Ok(())
            })),
            "VirtualMedia.InsertMedia" => {
                let image = text(body, "Image").filter(|image| !image.is_empty());
                let image = image.ok_or_else(|| Answer::missing_parameter(&action.name, "Image"))?;
                self.insert(&action.of, image, body, &held)
            }
            "VirtualMedia.EjectMedia" => Ok(self.eject(&action.of)),
            "UpdateService.SimpleUpdate" => self.simple_update(body),
            "Bios.ResetBios" => {
                let seeded = self.tree.get(&action.of).and_then(|bios| bios.get("Attributes")).cloned();
                let of = action.of.clone();
                let defaults = json!({ "Attributes": seeded.unwrap_or_else(|| json!({})) });
                Ok(Box::new(move |service| {
                    service.stage_for_next_boot(&of, &defaults);
                    Ok(())
                }))
            }
            "SecureBoot.ResetKeys" => {
                let wanted = text(body, "ResetKeysType");
                let wanted = wanted.ok_or_else(|| Answer::missing_parameter(&action.name, "ResetKeysType"))?;
                let mode = if wanted == "ResetAllKeysToDefault" { "UserMode" } else { "SetupMode" };
                let of = action.of.clone();
                Ok(Box::new(move |service| {
                    service.overlay().patch(&of, &json!({ "SecureBootMode": mode }));
                    Ok(())
                }))
            }
            "LogService.ClearLog" => Ok(Box::new(|service| {
                service.host.log().clear();
                Ok(())
            })),
            "EventService.SubmitTestEvent" => {
                let message = text(body, "Message").unwrap_or("test event").to_owned();
                Ok(Box::new(move |service| {
                    service.host.note("OK", message);
                    Ok(())
                }))
            }
            name => {
                let sentence = format!("{name} is not possible here");
                Err(Answer::error(501, "ActionNotSupported", &sentence, &[name]))
            }
        }
    }
}
