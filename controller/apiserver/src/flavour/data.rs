//! Secrets and config maps: their keys, their size, what each type of secret must hold, and that immutable ones stay.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::object;
use crate::status::Cause;

/// Most bytes of data.
const LARGEST: usize = 1024 * 1024;
const LONGEST_KEY: usize = 253;
/// What an error shows instead of a secret.
const HIDDEN: &str = "<secret contents redacted>";
const ACCOUNT: &str = "kubernetes.io/service-account.name";

pub(super) fn complete_secret(object: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    take_plain(object);
    if object.get("type").and_then(Value::as_str).is_none_or(str::is_empty) {
        object::set_field(object, "type", "Opaque".into());
    }
    let mut causes = Vec::new();
    let kind = object.get("type").cloned().unwrap_or_default();
    if let Some(old) = old {
        if old.get("type").is_some_and(|before| *before != kind) {
            causes.push(Cause::invalid("type", &kind, "field is immutable"));
        }
        causes.extend(changed_though_immutable(object, old, &["data"]));
    }
    causes.extend(check_secret(object, kind.as_str().unwrap_or_default()));
    causes
}

/// `stringData` goes into `data` and is never shown again.
fn take_plain(object: &mut Value) {
    if let Some(Value::Object(plain)) = object::remove_field(object, "stringData")
        && let Some(fields) = object.as_object_mut()
    {
        let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()).into());
            }
        }
    }
}

fn check_secret(secret: &Value, kind: &str) -> Vec<Cause> {
    let empty = Map::new();
    let data = secret.get("data").and_then(Value::as_object).unwrap_or(&empty);
    let mut causes: Vec<Cause> = data.keys().filter_map(|key| bad_key("data", key)).collect();
    if data.values().map(decoded_length).sum::<usize>() > LARGEST {
        causes.push(Cause::too_long("data", LARGEST as u64));
    }
    let missing = |key: &str| (!data.contains_key(key)).then(|| Cause::required(&format!("data[{key}]")));
    match kind {
        "kubernetes.io/service-account-token" => {
            let account = secret.pointer("/metadata/annotations").and_then(|found| found.get(ACCOUNT));
            if account.and_then(Value::as_str).is_none_or(str::is_empty) {
                causes.push(Cause::required(&format!("metadata.annotations[{ACCOUNT}]")));
            }
        }
        "kubernetes.io/dockercfg" => causes.extend(docker(data, ".dockercfg")),
        "kubernetes.io/dockerconfigjson" => causes.extend(docker(data, ".dockerconfigjson")),
        "kubernetes.io/basic-auth" => {
            // One of the two is enough.
            if let (Some(user), Some(password)) = (missing("username"), missing("password")) {
                causes.extend([user, password]);
            }
        }
        "kubernetes.io/ssh-auth" => {
            let key = data.get("ssh-privatekey").and_then(Value::as_str).unwrap_or_default();
            causes.extend(key.is_empty().then(|| Cause::required("data[ssh-privatekey]")));
        }
        "kubernetes.io/tls" => causes.extend(missing("tls.crt").into_iter().chain(missing("tls.key"))),
        _ => {}
    }
    causes
}

fn docker(data: &Map<String, Value>, key: &str) -> Option<Cause> {
    let field = format!("data[{key}]");
    let Some(encoded) = data.get(key).and_then(Value::as_str) else { return Some(Cause::required(&field)) };
    let bytes = STANDARD.decode(encoded).unwrap_or_default();
    let problem = crate::body::json(&bytes).err()?;
    Some(Cause::invalid(&field, &HIDDEN.into(), &problem))
}

pub(super) fn complete_config_map(object: &Value, old: Option<&Value>) -> Vec<Cause> {
    let empty = Map::new();
    let map = |field: &str| object.get(field).and_then(Value::as_object).unwrap_or(&empty);
    let (data, binary) = (map("data"), map("binaryData"));
    let mut causes = Vec::new();
    if let Some(old) = old {
        causes.extend(changed_though_immutable(object, old, &["data", "binaryData"]));
    }
    for key in data.keys() {
        causes.extend(bad_key("data", key));
        if binary.contains_key(key) {
            let field = format!("data[{key}]");
            causes.push(Cause::invalid(&field, &key.as_str().into(), "duplicate of key present in binaryData"));
        }
    }
    causes.extend(binary.keys().filter_map(|key| bad_key("binaryData", key)));
    let plain = data.values().map(|value| value.as_str().unwrap_or_default().len()).sum::<usize>();
    if plain + binary.values().map(decoded_length).sum::<usize>() > LARGEST {
        // A path without a name, as upstream writes it.
        causes.push(Cause::too_long("[]", LARGEST as u64));
    }
    causes
}

fn decoded_length(value: &Value) -> usize {
    value.as_str().unwrap_or_default().trim_end_matches('=').len() * 3 / 4
}

fn bad_key(field: &str, key: &str) -> Option<Cause> {
    const SHAPE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  \
                         or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let problem = if key.len() > LONGEST_KEY {
        "must be no more than 253 characters"
    } else if key.is_empty() || !key.chars().all(fits) {
        SHAPE
    } else if key == "." {
        "must not be '.'"
    } else if key == ".." {
        "must not be '..'"
    } else if key.starts_with("..") {
        "must not start with '..'"
    } else {
        return None;
    };
    Some(Cause::invalid(&format!("{field}[{key}]"), &key.into(), problem))
}

/// An object marked immutable keeps its data and the mark.
fn changed_though_immutable(object: &Value, old: &Value, fields: &[&str]) -> Vec<Cause> {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let changed = |field: &&str| object.get(*field) != old.get(*field);
    let fields = std::iter::once("immutable").chain(fields.iter().copied()).filter(|f| changed(f));
    fields.map(|field| Cause::forbidden(field, "field is immutable when `immutable` is set")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_take_plain_text_and_keep_their_type() {
        let mut object = json!({"stringData": {"a": "x"}, "data": {"b": "eQ=="}});
        assert!(complete_secret(&mut object, None).is_empty());
        assert_eq!(object, json!({"data": {"a": "eA==", "b": "eQ=="}, "type": "Opaque"}));
        let mut changed = json!({"type": "other"});
        assert_eq!(complete_secret(&mut changed, Some(&object)).len(), 1);
    }

    #[test]
    fn types_of_secrets_say_what_must_be_in_them() {
        let lines = |secret: Value| {
            let mut secret = secret;
            complete_secret(&mut secret, None).iter().map(Cause::line).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(json!({"type": "kubernetes.io/tls"})),
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"]
        );
        assert_eq!(lines(json!({"type": "kubernetes.io/basic-auth", "data": {"username": "eA=="}})), [""; 0]);
        let docker = json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": "eA=="}});
        assert_eq!(
            lines(docker),
            [
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for beginning of value"
            ]
        );
        assert_eq!(lines(json!({"data": {"..": ""}})), ["data[..]: Invalid value: \"..\": must not be '..'"]);
    }

    #[test]
    fn immutable_data_stays() {
        let old = json!({"immutable": true, "data": {"a": "x"}});
        let causes = complete_config_map(&json!({"immutable": true, "data": {"a": "y"}}), Some(&old));
        assert_eq!(causes.len(), 1);
        assert!(complete_config_map(&old, Some(&old)).is_empty());
    }
}
