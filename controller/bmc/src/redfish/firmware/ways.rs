//! In which ways an update service takes firmware, and the request that starts an update in its words. Pure.

use redfish_client::{Action, Reference, Resource};
use serde_json::{Map, Value, json};

use super::super::quirks::wants_own_form;
use crate::{FirmwareApply, FirmwareImage, FirmwareWays};

/// What an update service offers.
#[derive(Debug)]
pub(in crate::redfish) struct Ways {
    pub(super) fetch: Option<Fetch>,
    /// Where forms of parameters and image are pushed.
    pub(super) form: Option<Reference>,
    /// Where images are pushed as they are.
    pub(super) raw: Option<Reference>,
    form_times: Vec<String>,
    pub(super) largest: Option<u64>,
}

/// The action `SimpleUpdate` and what it takes.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) action: Action,
    protocols: Vec<String>,
    /// Whether the protocol has to be named (AMI).
    protocol_required: bool,
    targets: Vec<String>,
    times: Vec<String>,
    /// What the user's name is called: AMI says `User`.
    user: &'static str,
}

impl Ways {
    /// What `service` offers; `info` describes the parameters of its action where it does not itself.
    pub(in crate::redfish) fn of(service: &Resource, info: Option<&Resource>) -> Self {
        let fetch = service.action("UpdateService.SimpleUpdate").map(|action| Fetch::of(service, action, info));
        let push = |name: &str| service.text(name).and_then(Reference::parse);
        Self {
            fetch,
            form: push("MultipartHttpPushUri"),
            raw: push("HttpPushUri").filter(|at| !wants_own_form(at)),
            form_times: service.texts("MultipartHttpPushUri@Redfish.OperationApplyTimeSupport/SupportedValues"),
            largest: service.value("MaxImageSizeBytes").and_then(Value::as_u64).filter(|bytes| *bytes > 0),
        }
    }

    pub(in crate::redfish) fn shown(&self) -> FirmwareWays {
        let fetch = self.fetch.as_ref();
        let list = |pick: fn(&Fetch) -> &Vec<String>| fetch.map(pick).cloned().unwrap_or_default();
        FirmwareWays {
            fetches: fetch.is_some(),
            protocols: list(|fetch| &fetch.protocols),
            takes_forms: self.form.is_some(),
            takes_files: self.raw.is_some(),
            targets: list(|fetch| &fetch.targets),
            apply_times: fetch.map_or_else(|| self.form_times.clone(), |fetch| fetch.times.clone()),
            largest: self.largest,
        }
    }

    /// The parameters that go with a pushed image.
    pub(super) fn form_parameters(&self, targets: &[String], apply: FirmwareApply) -> Result<Value, String> {
        let mut body = Map::from_iter([("Targets".to_owned(), json!(targets))]);
        if let Some(time) = apply_time(apply, &self.form_times)? {
            body.insert("@Redfish.OperationApplyTime".to_owned(), time.into());
        }
        Ok(Value::Object(body))
    }
}

impl Fetch {
    fn of(service: &Resource, action: Action, info: Option<&Resource>) -> Self {
        let described = info.and_then(|info| info.value("Parameters")).and_then(Value::as_array);
        let parameter = |name: &str| {
            described?.iter().find(|parameter| parameter.get("Name").and_then(Value::as_str) == Some(name))
        };
        let allowed = |name: &str| {
            let listed = parameter(name).and_then(|parameter| parameter.get("AllowableValues")?.as_array());
            let listed = listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
            action.values(name).map_or(listed, <[String]>::to_vec)
        };
        let required = parameter("TransferProtocol").and_then(|parameter| parameter.get("Required")?.as_bool());
        let times = "Actions/#UpdateService.SimpleUpdate/@Redfish.OperationApplyTimeSupport/SupportedValues";
        Self {
            protocols: allowed("TransferProtocol"),
            protocol_required: required.unwrap_or_default(),
            targets: allowed("Targets"),
            times: service.texts(times),
            user: if parameter("User").is_some() && parameter("Username").is_none() { "User" } else { "Username" },
            action,
        }
    }

    /// The request that starts an update from `image`; or why it cannot be made.
    pub(super) fn request(&self, image: &FirmwareImage) -> Result<Value, String> {
        let Some((scheme, _)) = image.url.split_once("://") else {
            return Err("the image's address has no scheme; give one such as https://HOST/PATH".to_owned());
        };
        let protocol = scheme.to_ascii_uppercase();
        let listed = self.protocols.contains(&protocol);
        if !listed && !self.protocols.is_empty() {
            return Err(format!("it fetches by {} only, not by {protocol}", self.protocols.join(", ")));
        }
        let mut body = Map::from_iter([("ImageURI".to_owned(), Value::from(image.url.as_str()))]);
        let mut add = |name: &str, value: Value| body.insert(name.to_owned(), value);
        if listed || self.protocol_required {
            add("TransferProtocol", protocol.into());
        }
        if !image.targets.is_empty() {
            add("Targets", json!(image.targets));
        }
        if let Some(time) = apply_time(image.apply, &self.times)? {
            add("@Redfish.OperationApplyTime", time.into());
        }
        if let Some(login) = &image.login {
            add(self.user, login.username().into());
            add("Password", login.expose_password().into());
        }
        Ok(Value::Object(body))
    }
}

/// The word for a time to apply; none is sent where none is asked for.
fn apply_time(apply: FirmwareApply, listed: &[String]) -> Result<Option<&'static str>, String> {
    let word = match apply {
        FirmwareApply::Default => return Ok(None),
        FirmwareApply::Immediate => "Immediate",
        FirmwareApply::OnReset => "OnReset",
    };
    if listed.iter().any(|known| known == word) {
        return Ok(Some(word));
    }
    let known = if listed.is_empty() { "nothing".to_owned() } else { listed.join(", ") };
    Err(format!("it cannot be asked to apply an image {word} (it lists {known}); leave the time to the bmc"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credentials;

    fn image(url: &str) -> FirmwareImage {
        FirmwareImage { url: url.to_owned(), targets: Vec::new(), apply: FirmwareApply::Default, login: None }
    }

    fn ways(service: Value, info: Option<Value>) -> Ways {
        let resource = |body| Resource::new(Reference::root(), None, body);
        Ways::of(&resource(service), info.map(resource).as_ref())
    }

    /// iDRAC 9: lists stand in place.
    #[test]
    fn in_the_words_of_dell() {
        let ways = ways(
            json!({
                "Actions": {"#UpdateService.SimpleUpdate": {
                    "@Redfish.OperationApplyTimeSupport": {"SupportedValues": ["Immediate", "OnReset"]},
                    "TransferProtocol@Redfish.AllowableValues": ["HTTP", "NFS", "HTTPS"],
                    "target": "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate",
                }},
                "HttpPushUri": "/redfish/v1/UpdateService/FirmwareInventory", "MaxImageSizeBytes": null,
                "MultipartHttpPushUri": "/redfish/v1/UpdateService/MultipartUpload",
            }),
            None,
        );
        let fetch = ways.fetch.as_ref().unwrap();
        let mut wanted = image("https://images.example/bios.exe");
        wanted.apply = FirmwareApply::OnReset;
        assert_eq!(
            fetch.request(&wanted).unwrap(),
            json!({
                "ImageURI": "https://images.example/bios.exe", "TransferProtocol": "HTTPS",
                "@Redfish.OperationApplyTime": "OnReset",
            })
        );
        let error = fetch.request(&image("tftp://images.example/bios.exe")).unwrap_err();
        assert_eq!(error, "it fetches by HTTP, NFS, HTTPS only, not by TFTP");
        let shown = ways.shown();
        // What is behind its HttpPushUri wants a form of Dell's own.
        assert!(shown.fetches && shown.takes_forms && !shown.takes_files && shown.largest.is_none());
        assert!(ways.form_parameters(&[], FirmwareApply::Immediate).unwrap_err().contains("it lists nothing"));
    }

    /// DGX H100 (AMI): parameters are described apart, the protocol must be named, and the user is a `User`.
    #[test]
    fn in_the_words_of_ami() {
        let service = json!({"Actions": {"#UpdateService.SimpleUpdate": {"target": "/update"}}});
        let info = json!({"Parameters": [
            {"DataType": "String", "Name": "ImageURI", "Required": true},
            {"AllowableValues": ["HTTP", "FTP", "HTTPS"], "Name": "TransferProtocol", "Required": true},
            {"Name": "User"}, {"Name": "Password"},
        ]});
        let ways = ways(service, Some(info));
        let mut wanted = image("http://images.example/bmc.fwpkg");
        wanted.login = Some(Credentials::new("u", "p"));
        assert_eq!(
            ways.fetch.as_ref().unwrap().request(&wanted).unwrap(),
            json!({
                "ImageURI": "http://images.example/bmc.fwpkg", "TransferProtocol": "HTTP", "User": "u", "Password": "p",
            })
        );
        wanted.apply = FirmwareApply::OnReset;
        assert!(ways.fetch.as_ref().unwrap().request(&wanted).unwrap_err().contains("leave the time to the bmc"));
    }

    #[test]
    fn a_service_that_says_nothing_is_taken_at_its_word() {
        let ways = ways(json!({"Actions": {"#UpdateService.SimpleUpdate": {"target": "/update"}}}), None);
        let mut wanted = image("http://images.example/x");
        wanted.targets = vec!["/redfish/v1/UpdateService/FirmwareInventory/BMC".to_owned()];
        assert_eq!(
            ways.fetch.as_ref().unwrap().request(&wanted).unwrap(),
            json!({
                "ImageURI": "http://images.example/x", "Targets": ["/redfish/v1/UpdateService/FirmwareInventory/BMC"],
            })
        );
        assert!(ways.fetch.as_ref().unwrap().request(&image("/bios.bin")).unwrap_err().contains("no scheme"));
    }
}
