//! What is written for a boot override, in the words of one BMC, and whether it reads back. Pure.

use redfish_client::{Reference, Resource};
use serde_json::{Map, Value, json};

use super::order;
use crate::{BootDevice, BootFirmware, BootLifetime, BootOverride};

const HTTP_URI: &str = "HttpBootUri";

/// A change of one resource, and how it is known again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// `BootSourceOverride…`.
    Override(Override),
    /// The boot order, where there is no override.
    Order(Vec<String>),
    /// Attributes of the manager.
    Attributes(Map<String, Value>),
}

/// The boot override's fields; those that are none are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Override {
    enabled: &'static str,
    target: Option<String>,
    mode: Option<&'static str>,
    uri: Option<HttpUri>,
}

/// What `HttpBootUri` shall hold, where there is such a field and the boot is over http.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HttpUri {
    At(String),
    /// Nothing: the address that DHCP gives counts. It is written only over one that is left from before.
    Empty {
        left_over: bool,
    },
}

/// What reading back showed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Confirmed,
    Unverifiable(&'static str),
    /// The fields that read otherwise.
    Contradicted(String),
}

impl Wish {
    /// The body of the PATCH.
    pub(crate) fn body(&self) -> Value {
        match self {
            Self::Override(wish) => json!({ "Boot": wish.fields() }),
            Self::Order(order) => json!({"Boot": {"BootOrder": order}}),
            Self::Attributes(attributes) => json!({ "Attributes": attributes }),
        }
    }

    /// Whether `place` holds it.
    pub(crate) fn judge(&self, place: &Resource) -> Verdict {
        match self {
            Self::Override(wish) => wish.judge(place),
            Self::Order(wanted) => {
                let read = place.texts("Boot/BootOrder");
                let read = order::keys(&read);
                if read == order::keys(wanted) {
                    Verdict::Confirmed
                } else {
                    Verdict::Contradicted(format!("boot order {}", read.join(", ")))
                }
            }
            Self::Attributes(attributes) => {
                let read = |name: &String| place.value("Attributes").and_then(|all| all.get(name));
                let other = attributes.iter().find(|(name, value)| read(name) != Some(*value));
                other.map_or(Verdict::Confirmed, |(name, _)| {
                    Verdict::Contradicted(format!("{name} {}", read(name).unwrap_or(&Value::Null)))
                })
            }
        }
    }
}

impl Override {
    /// All three fields together: BMCs take one left out for a wish to change it (Supermicro), or ignore the others
    /// (ASRockRack).
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("BootSourceOverrideEnabled".to_owned(), self.enabled.into());
        for (name, value) in
            [("BootSourceOverrideTarget", self.target.as_deref()), ("BootSourceOverrideMode", self.mode)]
        {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value.into());
            }
        }
        let uri = match &self.uri {
            Some(HttpUri::At(uri)) => Some(uri.as_str().into()),
            Some(HttpUri::Empty { left_over: true }) => Some(Value::Null),
            Some(HttpUri::Empty { left_over: false }) | None => None,
        };
        fields.extend(uri.map(|uri| (HTTP_URI.to_owned(), uri)));
        fields
    }

    fn judge(&self, place: &Resource) -> Verdict {
        let read = |name: &str| place.text(&format!("Boot/BootSourceOverride{name}"));
        let (enabled, target, mode) = (read("Enabled"), read("Target"), read("Mode"));
        let contradicted = || {
            let show = |value: Option<&str>| value.unwrap_or("nothing").to_owned();
            let text = format!("enabled {}, target {}, mode {}", show(enabled), show(target), show(mode));
            Verdict::Contradicted(text)
        };
        // iDRAC 8 says `Once` of the target `None`.
        let off = enabled == Some("Disabled") || target == Some("None") || enabled.is_none() && target.is_none();
        if self.enabled == "Disabled" {
            return if off { Verdict::Confirmed } else { contradicted() };
        }
        if off || target != self.target.as_deref() || self.mode.is_some() && mode.is_some() && mode != self.mode {
            return contradicted();
        }
        // The address itself is not shown: it may hold a password.
        let other = match (&self.uri, http_uri(place)) {
            (Some(HttpUri::At(_)), None) => Some("no HttpBootUri"),
            (Some(HttpUri::At(wanted)), Some(read)) if wanted != read => Some("another HttpBootUri"),
            (Some(HttpUri::Empty { .. }), Some(_)) => Some("an HttpBootUri"),
            _ => None,
        };
        if let Some(other) = other {
            return Verdict::Contradicted(format!("{other}, target {}", target.unwrap_or("nothing")));
        }
        if enabled != Some(self.enabled) {
            // sushy's emulator and some BMCs keep one lifetime only.
            return Verdict::Unverifiable("the bmc reports the device with another lifetime");
        }
        Verdict::Confirmed
    }
}

/// What to write for `wanted` to `place`, in this BMC's words; `beside` is where else it lists words.
///
/// # Errors
/// When it has none for it; says what it has.
pub(crate) fn wish(wanted: &BootOverride, place: &Resource, beside: Option<&Resource>) -> Result<Override, String> {
    if matches!(wanted.device, BootDevice::UefiHttp(_)) && wanted.firmware == BootFirmware::Legacy {
        return Err("legacy firmware does not boot over http; ask for uefi".to_owned());
    }
    let mode = takes_mode(place).then_some(match wanted.firmware {
        BootFirmware::Uefi => "UEFI",
        BootFirmware::Legacy => "Legacy",
    });
    let words = match &wanted.device {
        // The target is left out: HPE refuses it beside Disabled.
        BootDevice::None => return Ok(Override { enabled: "Disabled", target: None, mode: None, uri: None }),
        device => words(device, wanted.firmware, mode.is_some()),
    };
    let listed = |field: &str| -> Vec<String> {
        let path = format!("Boot/BootSourceOverride{field}@Redfish.AllowableValues");
        let mut all = place.texts(&path);
        all.extend(beside.map(|beside| beside.texts(&path)).unwrap_or_default());
        all
    };
    let (targets, lifetimes, modes) = (listed("Target"), listed("Enabled"), listed("Mode"));
    let enabled = match wanted.lifetime {
        BootLifetime::Once => "Once",
        BootLifetime::Persistent => "Continuous",
    };
    let has = |listed: &[String], word: &str| listed.is_empty() || listed.iter().any(|known| known == word);
    if !has(&lifetimes, enabled) {
        return Err(format!("it overrides the boot only {}", lifetimes.join(", ")));
    }
    if let Some(mode) = mode.filter(|mode| !has(&modes, mode)) {
        return Err(format!("it has no boot mode {mode}, only {}", modes.join(", ")));
    }
    let target = words.iter().find(|word| has(&targets, word));
    let target = target.ok_or_else(|| format!("it boots only from {}", targets.join(", ")))?;
    let uri = match &wanted.device {
        BootDevice::UefiHttp(uri) if takes_uri(place) => Some(match uri {
            Some(uri) => HttpUri::At(uri.clone()),
            None => HttpUri::Empty { left_over: http_uri(place).is_some() },
        }),
        _ => None,
    };
    Ok(Override { enabled, target: Some((*target).to_owned()), mode, uri })
}

/// The targets for `device`, best first. Where no mode can be said (not `moded`), the target that says UEFI says it; for
/// legacy firmware none that says UEFI is right.
fn words(device: &BootDevice, firmware: BootFirmware, moded: bool) -> &'static [&'static str] {
    use BootFirmware::{Legacy, Uefi};
    match (device, firmware, moded) {
        (BootDevice::None, ..) => &[],
        (BootDevice::Pxe, Uefi, _) => &["Pxe", "UefiPxe"],
        (BootDevice::Pxe, Legacy, _) => &["Pxe"],
        (BootDevice::Disk, Uefi, false) => &["UefiHdd", "Hdd"],
        (BootDevice::Disk, Uefi, true) => &["Hdd", "UefiHdd"],
        (BootDevice::Disk, Legacy, _) => &["Hdd"],
        // The virtual drive is a USB one, where the two are told apart (Supermicro).
        (BootDevice::Cd, Uefi, false) => &["UefiUsbCd", "UsbCd", "UefiCd", "Cd", "CD/DVD"],
        (BootDevice::Cd, Uefi, true) => &["UsbCd", "Cd", "CD/DVD", "UefiUsbCd", "UefiCd"],
        (BootDevice::Cd, Legacy, _) => &["UsbCd", "Cd", "CD/DVD"],
        (BootDevice::UefiHttp(_), ..) => &["UefiHttp"],
    }
}

/// Whether `place` can be told an address to boot from, also when it holds none now.
pub(crate) fn takes_uri(place: &Resource) -> bool {
    place.value("Boot").is_some_and(|boot| boot.get(HTTP_URI).is_some())
}

/// Whether `place` can be told for which firmware interface an override is.
pub(crate) fn takes_mode(place: &Resource) -> bool {
    place.text("Boot/BootSourceOverrideMode").is_some()
}

fn http_uri(place: &Resource) -> Option<&str> {
    place.text("Boot/HttpBootUri")
}

/// Whether `resource` has a boot override at all.
pub(crate) fn has_override(resource: &Resource) -> bool {
    ["Enabled", "Target"].iter().any(|name| resource.value(&format!("Boot/BootSourceOverride{name}")).is_some())
}

/// Where a plan goes, for people.
pub(crate) fn no_override(at: &Reference) -> String {
    format!("{at} has neither a boot override nor a boot order")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(boot: Value) -> Resource {
        Resource::new(Reference::root().child("Systems").child("1"), None, json!({ "Boot": boot }))
    }

    fn fields(wanted: &BootOverride, boot: Value) -> Result<Value, String> {
        wish(wanted, &system(boot), None).map(|wish| Wish::Override(wish).body()["Boot"].clone())
    }

    fn target(device: BootDevice, listed: &[&str], mode: Option<&str>) -> String {
        let boot = json!({
            "BootSourceOverrideEnabled": "Disabled",
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideMode": mode,
            "BootSourceOverrideTarget@Redfish.AllowableValues": listed,
        });
        let fields = fields(&BootOverride::once(device), boot).unwrap();
        fields["BootSourceOverrideTarget"].as_str().unwrap().to_owned()
    }

    #[test]
    fn q37_q38_q40_the_three_fields_come_together() {
        let moded = json!({
            "BootSourceOverrideEnabled": "Continuous",
            "BootSourceOverrideTarget": "Hdd",
            "BootSourceOverrideMode": "Legacy",
        });
        let lasting = BootOverride { lifetime: BootLifetime::Persistent, ..BootOverride::once(BootDevice::Pxe) };
        let wanted = json!({
            "BootSourceOverrideEnabled": "Continuous",
            "BootSourceOverrideTarget": "Pxe",
            "BootSourceOverrideMode": "UEFI",
        });
        assert_eq!(fields(&lasting, moded).unwrap(), wanted);
    }

    #[test]
    fn q41_q56_the_mode_is_sent_only_where_one_is_read() {
        for mode in [json!({}), json!({"BootSourceOverrideMode": null}), json!({"BootSourceOverrideMode": ""})] {
            let mut boot = mode.clone();
            boot["BootSourceOverrideEnabled"] = "Disabled".into();
            boot["BootSourceOverrideTarget"] = "".into();
            let sent = fields(&BootOverride::once(BootDevice::Pxe), boot).unwrap();
            assert_eq!(sent, json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}), "{mode}");
        }
    }

    #[test]
    fn q44_disabled_comes_without_a_target() {
        let boot = json!({"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"});
        let sent = fields(&BootOverride::once(BootDevice::None), boot).unwrap();
        assert_eq!(sent, json!({"BootSourceOverrideEnabled": "Disabled"}));
    }

    #[test]
    fn q45_the_virtual_drive_has_the_name_that_is_listed() {
        let uefi = Some("UEFI");
        assert_eq!(target(BootDevice::Cd, &["None", "Pxe", "Cd", "Hdd"], uefi), "Cd");
        assert_eq!(target(BootDevice::Cd, &["None", "Pxe", "UsbCd"], uefi), "UsbCd");
        assert_eq!(target(BootDevice::Cd, &["None", "Cd", "Usb", "UsbCd"], uefi), "UsbCd");
        assert_eq!(target(BootDevice::Cd, &[], uefi), "UsbCd");
    }

    #[test]
    fn q46_words_of_ones_own_are_read_and_used() {
        let x10 = ["None", "UefiPxe", "CD/DVD", "UsbKey", "UefiCd", "FloppyRemovableMedia", "UefiHdd", "Hdd"];
        assert_eq!(target(BootDevice::Pxe, &x10, None), "UefiPxe");
        assert_eq!(target(BootDevice::Cd, &x10, None), "UefiCd");
        assert_eq!(target(BootDevice::Disk, &x10, None), "UefiHdd");
        assert_eq!(target(BootDevice::Disk, &x10, Some("UEFI")), "Hdd");
        assert_eq!(target(BootDevice::Cd, &["CD/DVD"], None), "CD/DVD");
        let boot = json!({
            "BootSourceOverrideTarget": "FloppyRemovableMedia",
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["UsbKey"],
        });
        let error = fields(&BootOverride::once(BootDevice::Disk), boot).unwrap_err();
        assert!(error.contains("it boots only from UsbKey"), "{error}");
    }

    #[test]
    fn q50_a_lifetime_or_mode_that_is_not_listed_is_not_asked_for() {
        // Lenovo XCC overrides once only; no plan ever says UefiTarget, which Dell refuses to keep.
        let xcc = json!({
            "BootSourceOverrideTarget": "None",
            "BootSourceOverrideEnabled@Redfish.AllowableValues": ["Once", "Disabled"],
            "BootSourceOverrideTarget@Redfish.AllowableValues": ["None", "Pxe", "UefiTarget"],
            "BootSourceOverrideMode": "UEFI",
            "BootSourceOverrideMode@Redfish.AllowableValues": ["UEFI"],
        });
        let once = BootOverride::once(BootDevice::Pxe);
        assert_eq!(fields(&once, xcc.clone()).unwrap()["BootSourceOverrideEnabled"], "Once");
        let lasting = BootOverride { lifetime: BootLifetime::Persistent, ..once.clone() };
        assert_eq!(fields(&lasting, xcc.clone()).unwrap_err(), "it overrides the boot only Once, Disabled");
        let legacy = BootOverride { firmware: BootFirmware::Legacy, ..once };
        assert_eq!(fields(&legacy, xcc.clone()).unwrap_err(), "it has no boot mode Legacy, only UEFI");
        let disk = BootOverride::once(BootDevice::Disk);
        assert_eq!(fields(&disk, xcc).unwrap_err(), "it boots only from None, Pxe, UefiTarget");
    }

    #[test]
    fn q60_the_address_goes_where_there_is_a_place_for_it() {
        let uri = "http://10.0.0.1/boot.efi";
        let wanted = BootOverride::once(BootDevice::UefiHttp(Some(uri.to_owned())));
        let boot = json!({"BootSourceOverrideTarget": "None", "HttpBootUri": null});
        assert_eq!(fields(&wanted, boot).unwrap()["HttpBootUri"], uri);
        let without = json!({"BootSourceOverrideTarget": "None"});
        assert_eq!(fields(&wanted, without).unwrap().get("HttpBootUri"), None);
    }

    #[test]
    fn an_address_counts_only_as_it_was_asked_for() {
        let place = |uri: Value| {
            system(json!({
                "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "HttpBootUri": uri,
            }))
        };
        let (here, there) = ("http://10.0.0.1/boot.efi", "http://user:secret@10.0.0.2/boot.efi");
        let at = |uri: Option<&str>| BootOverride::once(BootDevice::UefiHttp(uri.map(str::to_owned)));
        let judged =
            |wanted: &BootOverride, read: Value| wish(wanted, &place(Value::Null), None).unwrap().judge(&place(read));
        assert_eq!(judged(&at(Some(here)), here.into()), Verdict::Confirmed);
        assert_eq!(judged(&at(None), "".into()), Verdict::Confirmed);
        for (wanted, read, shown) in [
            (at(Some(here)), Value::Null, "no HttpBootUri, target UefiHttp"),
            (at(Some(here)), there.into(), "another HttpBootUri, target UefiHttp"),
            (at(None), there.into(), "an HttpBootUri, target UefiHttp"),
        ] {
            assert_eq!(judged(&wanted, read), Verdict::Contradicted(shown.to_owned()));
        }
        // One that is left from before is taken away.
        let written = |before: Value| wish(&at(None), &place(before), None).unwrap().fields();
        assert_eq!(written(there.into())["HttpBootUri"], Value::Null);
        assert_eq!(written(Value::Null).get("HttpBootUri"), None);
    }

    #[test]
    fn legacy_firmware_is_given_no_target_of_uefi() {
        let boot = |mode: Value, targets: &[&str]| {
            json!({
                "BootSourceOverrideTarget": "None", "BootSourceOverrideMode": mode,
                "BootSourceOverrideTarget@Redfish.AllowableValues": targets,
            })
        };
        let legacy = |device| BootOverride { firmware: BootFirmware::Legacy, ..BootOverride::once(device) };
        for mode in [Value::Null, "UEFI".into()] {
            for (device, targets) in [
                (BootDevice::Pxe, &["UefiPxe"][..]),
                (BootDevice::Disk, &["UefiHdd"]),
                (BootDevice::Cd, &["UefiUsbCd", "UefiCd"]),
            ] {
                let error = fields(&legacy(device), boot(mode.clone(), targets)).unwrap_err();
                assert_eq!(error, format!("it boots only from {}", targets.join(", ")));
            }
            let sent = fields(&legacy(BootDevice::Disk), boot(mode, &["UefiHdd", "Hdd"])).unwrap();
            assert_eq!(sent["BootSourceOverrideTarget"], "Hdd");
        }
    }

    #[test]
    fn q36_what_reads_back_otherwise_is_found_out() {
        let wish = |enabled, target: Option<&str>, mode| Override {
            enabled,
            target: target.map(str::to_owned),
            mode,
            uri: None,
        };
        let read = |enabled: &str, target: &str, mode: Value| {
            system(json!({
                "BootSourceOverrideEnabled": enabled,
                "BootSourceOverrideTarget": target,
                "BootSourceOverrideMode": mode,
            }))
        };
        let once = wish("Once", Some("Pxe"), Some("UEFI"));
        assert_eq!(once.judge(&read("Once", "Pxe", "UEFI".into())), Verdict::Confirmed);
        assert_eq!(once.judge(&read("Once", "Pxe", Value::Null)), Verdict::Confirmed);
        assert!(matches!(once.judge(&read("Continuous", "Pxe", "UEFI".into())), Verdict::Unverifiable(_)));
        for (enabled, target, mode) in [("Disabled", "Pxe", "UEFI"), ("Once", "Hdd", "UEFI"), ("Once", "Pxe", "Legacy")]
        {
            let verdict = once.judge(&read(enabled, target, mode.into()));
            let wanted = format!("enabled {enabled}, target {target}, mode {mode}");
            assert_eq!(verdict, Verdict::Contradicted(wanted));
        }
        let off = wish("Disabled", None, None);
        assert_eq!(off.judge(&read("Disabled", "Pxe", Value::Null)), Verdict::Confirmed);
        assert_eq!(off.judge(&read("Once", "None", Value::Null)), Verdict::Confirmed);
        assert!(matches!(off.judge(&read("Once", "Pxe", Value::Null)), Verdict::Contradicted(_)));
    }
}
