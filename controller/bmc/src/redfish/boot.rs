//! The boot override over Redfish (`ComputerSystem.Boot`): all its fields in one write, read back afterwards.

use redfish_client::{RedfishError, Resource};
use serde_json::{Value, json};

use super::RedfishBmc;
use crate::{BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, ReadBack};

const ACT: &str = "setting the boot override";

/// What is written, and how it is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Wish {
    enabled: &'static str,
    target: Option<String>,
    mode: Option<&'static str>,
}

impl Wish {
    /// All three fields together: BMCs take one left out for a wish to change it (Supermicro), or ignore the others
    /// (ASRockRack). The mode only where the BMC shows one, since those that do not refuse it.
    fn body(&self) -> Value {
        let mut boot = json!({"BootSourceOverrideEnabled": self.enabled});
        for (name, value) in [("Target", self.target.as_deref()), ("Mode", self.mode)] {
            if let (Some(value), Some(fields)) = (value, boot.as_object_mut()) {
                fields.insert(format!("BootSourceOverride{name}"), value.into());
            }
        }
        json!({ "Boot": boot })
    }

    fn is_met(&self, system: &Resource) -> bool {
        matches!(judge(self, system), Verdict::Confirmed)
    }
}

/// What to write for `wanted`, in this BMC's words.
fn wish(wanted: &BootOverride, boot: &Resource) -> Result<Wish, String> {
    if boot.value("Boot/BootSourceOverrideEnabled").is_none() && boot.value("Boot/BootSourceOverrideTarget").is_none() {
        return Err(format!("{} has no boot override", boot.uri()));
    }
    let words: &[&str] = match &wanted.device {
        // The target is left out: HPE refuses it beside Disabled.
        BootDevice::None => return Ok(Wish { enabled: "Disabled", target: None, mode: None }),
        BootDevice::Pxe => &["Pxe", "UefiPxe"],
        BootDevice::Disk => &["Hdd"],
        BootDevice::Cd => &["Cd", "UsbCd", "UefiCd", "CD/DVD"],
        BootDevice::UefiHttp(_) => &["UefiHttp"],
    };
    let listed = boot.texts("Boot/BootSourceOverrideTarget@Redfish.AllowableValues");
    let target = if listed.is_empty() {
        words.first()
    } else {
        words.iter().find(|word| listed.iter().any(|known| known == *word))
    };
    let target = target.ok_or_else(|| format!("it boots only from {}", listed.join(", ")))?;
    let mode = match wanted.firmware {
        BootFirmware::Uefi => "UEFI",
        BootFirmware::Legacy => "Legacy",
    };
    Ok(Wish {
        enabled: match wanted.lifetime {
            BootLifetime::Once => "Once",
            BootLifetime::Persistent => "Continuous",
        },
        target: Some((*target).to_owned()),
        mode: boot.text("Boot/BootSourceOverrideMode").map(|_| mode),
    })
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Confirmed,
    Unverifiable(&'static str),
    /// The fields that read otherwise.
    Contradicted(String),
}

fn judge(wish: &Wish, system: &Resource) -> Verdict {
    let read = |name: &str| system.text(&format!("Boot/BootSourceOverride{name}"));
    let (enabled, target, mode) = (read("Enabled"), read("Target"), read("Mode"));
    let off = enabled == Some("Disabled") || enabled.is_none() && matches!(target, None | Some("None"));
    if wish.enabled == "Disabled" {
        return if off { Verdict::Confirmed } else { Verdict::Contradicted(shown(enabled, target, mode)) };
    }
    if off || target != wish.target.as_deref() {
        return Verdict::Contradicted(shown(enabled, target, mode));
    }
    if wish.mode.is_some() && mode.is_some() && mode != wish.mode {
        return Verdict::Contradicted(shown(enabled, target, mode));
    }
    if enabled != Some(wish.enabled) {
        // sushy's emulator and some BMCs keep one lifetime only.
        return Verdict::Unverifiable("the bmc reports the device with another lifetime");
    }
    Verdict::Confirmed
}

fn shown(enabled: Option<&str>, target: Option<&str>, mode: Option<&str>) -> String {
    let show = |value: Option<&str>| value.unwrap_or("nothing").to_owned();
    format!("enabled {}, target {}, mode {}", show(enabled), show(target), show(mode))
}

impl RedfishBmc {
    pub(super) async fn write_boot_override(&self, wanted: &BootOverride) -> Result<ReadBack, BmcError> {
        let unsupported = |why: String| BmcError::Unsupported { act: format!("bmc {}, {ACT}", self.address), why };
        let system = self.system(ACT).await?;
        let settings = self.settings_with_boot(&system).await?;
        // Where the settings hold the boot fields, the system's own are read-only or only say what was used last.
        let place = settings.as_ref().unwrap_or(&system);
        let wish = wish(wanted, place).map_err(unsupported)?;
        if wish.is_met(place) {
            // Some firmware restores its whole boot order after any write (Lenovo).
            return Ok(ReadBack::Confirmed);
        }
        let (place, other) = match &settings {
            Some(settings) => (settings, Some(&system)),
            None => (&system, None),
        };
        let written = match (self.client.patch(place, &wish.body()).await, other) {
            (Err(error), Some(other)) if is_refused(&error) => {
                tracing::debug!(%error, "boot settings refuse the override, trying the system");
                self.client.patch(other, &wish.body()).await.map(|_| other)
            }
            (answer, _) => answer.map(|_| place),
        };
        let written = written.map_err(|error| self.explain(ACT, error))?;
        let read = self.client.read(written.uri()).await;
        let read = read.map_err(|error| self.explain("reading the boot override back", error))?;
        match judge(&wish, &read) {
            Verdict::Confirmed if written.uri() == system.uri() => Ok(ReadBack::Confirmed),
            Verdict::Confirmed => Ok(ReadBack::Pending(format!("{} holds it for the next boot", written.uri()))),
            Verdict::Unverifiable(why) => Ok(ReadBack::Unverifiable(why.to_owned())),
            Verdict::Contradicted(read) => Err(BmcError::Contradicted {
                address: self.address.to_string(),
                wrote: format!("boot override {wanted}"),
                read,
            }),
        }
    }

    /// The resource for later settings, if it holds the boot override: some BMCs have one without (and take the write
    /// at the system), others take it only there (iDRAC 10).
    async fn settings_with_boot(&self, system: &Resource) -> Result<Option<Resource>, BmcError> {
        let Some(at) = system.settings() else { return Ok(None) };
        let settings = self.client.find(&at).await.map_err(|error| self.explain(ACT, error))?;
        Ok(settings.filter(|settings| settings.value("Boot/BootSourceOverrideTarget").is_some()))
    }
}

fn is_refused(error: &RedfishError) -> bool {
    error.status().is_some_and(|status| matches!(status.as_u16(), 400 | 404 | 405))
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;

    use super::*;

    fn system(boot: Value) -> Resource {
        Resource::new(Reference::root().child("Systems").child("1"), None, json!({ "Boot": boot }))
    }

    #[test]
    fn wishes_in_the_words_of_the_bmc() {
        let pxe = BootOverride::once(BootDevice::Pxe);
        let body = |wanted: &BootOverride, boot| wish(wanted, &system(boot)).map(|wish| wish.body()["Boot"].clone());
        let plain = json!({"BootSourceOverrideEnabled": "Disabled", "BootSourceOverrideTarget": "None"});
        assert_eq!(
            body(&pxe, plain.clone()).unwrap(),
            json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"})
        );
        let mut moded = plain.clone();
        moded["BootSourceOverrideMode"] = "Legacy".into();
        assert_eq!(body(&pxe, moded).unwrap()["BootSourceOverrideMode"], "UEFI");
        let mut null = plain.clone();
        null["BootSourceOverrideMode"] = Value::Null;
        assert_eq!(body(&pxe, null).unwrap().get("BootSourceOverrideMode"), None);
        let mut x10 = plain.clone();
        x10["BootSourceOverrideTarget@Redfish.AllowableValues"] = json!(["None", "UefiPxe", "CD/DVD"]);
        assert_eq!(body(&pxe, x10.clone()).unwrap()["BootSourceOverrideTarget"], "UefiPxe");
        let disk = BootOverride::once(BootDevice::Disk);
        assert!(body(&disk, x10).unwrap_err().contains("it boots only from None, UefiPxe, CD/DVD"));
        let none = BootOverride::once(BootDevice::None);
        assert_eq!(body(&none, plain).unwrap(), json!({"BootSourceOverrideEnabled": "Disabled"}));
        assert!(body(&pxe, json!({"BootOrder": ["Boot0001"]})).unwrap_err().contains("no boot override"));
    }

    #[test]
    fn verdicts() {
        let wish = Wish { enabled: "Once", target: Some("Pxe".to_owned()), mode: Some("UEFI") };
        let read = |enabled: &str, target: &str, mode: Value| {
            system(json!({
                "BootSourceOverrideEnabled": enabled,
                "BootSourceOverrideTarget": target,
                "BootSourceOverrideMode": mode,
            }))
        };
        assert_eq!(judge(&wish, &read("Once", "Pxe", "UEFI".into())), Verdict::Confirmed);
        assert_eq!(judge(&wish, &read("Once", "Pxe", Value::Null)), Verdict::Confirmed);
        assert!(matches!(judge(&wish, &read("Continuous", "Pxe", "UEFI".into())), Verdict::Unverifiable(_)));
        for (enabled, target, mode) in [("Disabled", "Pxe", "UEFI"), ("Once", "Hdd", "UEFI"), ("Once", "Pxe", "Legacy")]
        {
            let verdict = judge(&wish, &read(enabled, target, mode.into()));
            assert!(matches!(verdict, Verdict::Contradicted(_)), "{verdict:?}");
        }
        let off = Wish { enabled: "Disabled", target: None, mode: None };
        assert_eq!(judge(&off, &read("Disabled", "Pxe", Value::Null)), Verdict::Confirmed);
        assert!(matches!(judge(&off, &read("Once", "Pxe", Value::Null)), Verdict::Contradicted(_)));
    }
}
