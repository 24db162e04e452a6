//! `spec.machineTemplate` of a control plane.

use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::Value;

use super::foreign::Mismatch;
use super::{Contract, FieldError, Foreign};
use crate::ContractReference;
use crate::cluster::{ConditionGate, MachineDeletion, MachineTaint, TemplateMetadata};

/// What a control plane's machines are made from, read by its contract.
#[derive(Debug, Clone, Copy)]
pub struct ControlPlaneMachines<'a>(pub Foreign<'a>);

/// Every accessor fails with [`FieldError`] if its field has another shape than the contract's.
#[expect(clippy::missing_errors_doc, reason = "said once for all of them")]
impl ControlPlaneMachines<'_> {
    /// Labels and annotations.
    pub fn metadata(&self) -> Result<TemplateMetadata, FieldError> {
        Ok(self.0.read("spec.machineTemplate.metadata")?.unwrap_or_default())
    }

    /// Template of the infrastructure. The older contract refers to it with a version, which is left out here.
    pub fn infrastructure_ref(&self) -> Result<Option<ContractReference>, FieldError> {
        match self.0.contract() {
            Contract::V1Beta2 => self.0.read("spec.machineTemplate.spec.infrastructureRef"),
            Contract::V1Beta1 => {
                let found: Option<ObjectReference> = self.0.read("spec.machineTemplate.infrastructureRef")?;
                Ok(found.map(|reference| {
                    let api_version = reference.api_version.unwrap_or_default();
                    ContractReference {
                        api_group: api_version.split_once('/').map_or("", |(group, _)| group).to_owned(),
                        kind: reference.kind.unwrap_or_default(),
                        name: reference.name.unwrap_or_default(),
                    }
                }))
            }
        }
    }

    /// Further conditions that must hold before one counts as ready.
    pub fn readiness_gates(&self) -> Result<Vec<ConditionGate>, FieldError> {
        let path =
            self.0.contract().pick("spec.machineTemplate.readinessGates", "spec.machineTemplate.spec.readinessGates");
        Ok(self.0.read(path)?.unwrap_or_default())
    }

    /// Taints of their Nodes.
    pub fn taints(&self) -> Result<Vec<MachineTaint>, FieldError> {
        let path = self.0.contract().pick("spec.machineTemplate.taints", "spec.machineTemplate.spec.taints");
        Ok(self.0.read(path)?.unwrap_or_default())
    }

    /// How they go.
    pub fn deletion(&self) -> Result<MachineDeletion, FieldError> {
        match self.0.contract() {
            Contract::V1Beta2 => Ok(self.0.read("spec.machineTemplate.spec.deletion")?.unwrap_or_default()),
            Contract::V1Beta1 => Ok(MachineDeletion {
                node_drain_timeout_seconds: self.duration("spec.machineTemplate.nodeDrainTimeout")?,
                node_volume_detach_timeout_seconds: self.duration("spec.machineTemplate.nodeVolumeDetachTimeout")?,
                node_deletion_timeout_seconds: self.duration("spec.machineTemplate.nodeDeletionTimeout")?,
            }),
        }
    }

    /// Seconds of a duration as Go writes it.
    fn duration(&self, path: &str) -> Result<Option<i32>, FieldError> {
        let Some(value) = self.0.value(path) else { return Ok(None) };
        let seconds = value.as_str().and_then(go_seconds);
        let wrong = |value: &Value| self.0.mismatch(path, Mismatch::Value(format!("{value} is no duration")));
        seconds.map(Some).ok_or_else(|| wrong(value))
    }
}

/// Whole seconds of `1h2m3.5s`, `300ms` and their like.
fn go_seconds(text: &str) -> Option<i32> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut nanoseconds = 0.0;
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?);
        let (unit, after) = after.split_at(after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len()));
        let scale = match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "m" => 60e9,
            "h" => 3600e9,
            _ => return None,
        };
        nanoseconds += number.parse::<f64>().ok()? * scale;
        rest = after;
    }
    let seconds = (nanoseconds / 1e9).trunc();
    #[expect(clippy::cast_possible_truncation, reason = "between the bounds of i32")]
    (!text.is_empty() && seconds <= f64::from(i32::MAX)).then_some(seconds as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (text, seconds) in [
            ("10s", Some(10)),
            ("1h2m3s", Some(3723)),
            ("1.5h", Some(5400)),
            ("1500ms", Some(1)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("", None),
            ("10", None),
            ("s", None),
            ("10d", None),
            ("-5s", None),
        ] {
            assert_eq!(go_seconds(text), seconds, "{text:?}");
        }
    }
}
