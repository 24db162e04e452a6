//! Gives the kubelet its provider id through kubeadm's configuration, unless whoever wrote that has chosen one: kubeadm's flags file beats anything
//! else, and the kubelet sets the id only when it creates its Node.

use serde_json::{Map, Value, json};

const ARGUMENT: &str = "provider-id";

/// Why the configuration cannot be changed.
#[derive(Debug, thiserror::Error)]
#[error("kubeadm configuration: {0}")]
pub(super) struct ProviderIdError(String);

/// `content` with the provider id in every Init- and JoinConfiguration that has none. Anything that is not kubeadm's comes back as it is.
pub(super) fn add(content: &str, provider_id: &str) -> Result<String, ProviderIdError> {
    if !content.contains("kubeadm.k8s.io/") {
        return Ok(content.to_owned());
    }
    let documents = split(content).into_iter().map(|document| with_id(&document, provider_id));
    Ok(documents.collect::<Result<Vec<_>, _>>()?.join("---\n"))
}

/// As kubeadm does it: a line that starts with three dashes.
pub(super) fn split(content: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in content.split_inclusive('\n') {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(document) = documents.last_mut() {
            document.push_str(line);
        }
    }
    documents
}

fn with_id(document: &str, provider_id: &str) -> Result<String, ProviderIdError> {
    let plain = |error: &dyn std::fmt::Display| {
        ProviderIdError(error.to_string().lines().next().unwrap_or_default().to_owned())
    };
    let ours = document.contains("InitConfiguration") || document.contains("JoinConfiguration");
    if !ours {
        return Ok(document.to_owned());
    }
    let mut value: Value = serde_saphyr::from_str(document).map_err(|error| plain(&error))?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let version = text(&value, "apiVersion");
    let kind = text(&value, "kind");
    if !version.starts_with("kubeadm.k8s.io/") || !["InitConfiguration", "JoinConfiguration"].contains(&kind.as_str()) {
        return Ok(document.to_owned());
    }
    let as_list = match version.as_str() {
        "kubeadm.k8s.io/v1beta3" => false,
        "kubeadm.k8s.io/v1beta4" => true,
        other => return Err(ProviderIdError(format!("version {other} is not known"))),
    };
    let registration =
        object(&mut value).and_then(|root| object(root.entry("nodeRegistration").or_insert(Value::Null)));
    let arguments = registration.map(|registration| registration.entry("kubeletExtraArgs").or_insert(Value::Null));
    let Some(arguments) = arguments else {
        return Err(ProviderIdError(format!("nodeRegistration of {kind} is no object")));
    };
    let changed = if as_list { to_list(arguments, provider_id) } else { to_map(arguments, provider_id) };
    match changed {
        None => Err(ProviderIdError(format!("kubeletExtraArgs of {kind} is not of the form of {version}"))),
        Some(false) => Ok(document.to_owned()),
        Some(true) => serde_saphyr::to_string(&value).map_err(|error| plain(&error)),
    }
}

/// The object in `value`, which may be absent so far.
fn object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = json!({});
    }
    value.as_object_mut()
}

fn to_list(arguments: &mut Value, provider_id: &str) -> Option<bool> {
    if arguments.is_null() {
        *arguments = json!([]);
    }
    let list = arguments.as_array_mut()?;
    let chosen = list.iter().any(|argument| argument.get("name").and_then(Value::as_str) == Some(ARGUMENT));
    if !chosen {
        list.push(json!({ "name": ARGUMENT, "value": provider_id }));
    }
    Some(!chosen)
}

fn to_map(arguments: &mut Value, provider_id: &str) -> Option<bool> {
    let map = object(arguments)?;
    let chosen = map.contains_key(ARGUMENT);
    if !chosen {
        map.insert(ARGUMENT.to_owned(), json!(provider_id));
    }
    Some(!chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "metal3://metal/r1-u1/m0";

    fn parsed(content: &str) -> Vec<Value> {
        split(content).iter().map(|document| serde_saphyr::from_str(document).unwrap()).collect()
    }

    #[test]
    fn the_id_is_added_where_kubeadm_looks_for_it() {
        let table = [
            ("v1beta4", "InitConfiguration", "", json!([{"name": ARGUMENT, "value": ID}])),
            ("v1beta4", "JoinConfiguration", "nodeRegistration: {name: n}\n", json!([{"name": ARGUMENT, "value": ID}])),
            (
                "v1beta4",
                "InitConfiguration",
                "nodeRegistration:\n  kubeletExtraArgs:\n  - name: v\n    value: \"4\"\n",
                json!([{"name": "v", "value": "4"}, {"name": ARGUMENT, "value": ID}]),
            ),
            (
                "v1beta4",
                "InitConfiguration",
                "nodeRegistration:\n  kubeletExtraArgs:\n  - {name: provider-id, value: other://x}\n",
                json!([{"name": ARGUMENT, "value": "other://x"}]),
            ),
            (
                "v1beta3",
                "JoinConfiguration",
                "nodeRegistration:\n  kubeletExtraArgs: {v: \"4\"}\n",
                json!({"v": "4", ARGUMENT: ID}),
            ),
            (
                "v1beta3",
                "InitConfiguration",
                "nodeRegistration:\n  kubeletExtraArgs: {provider-id: x}\n",
                json!({ARGUMENT: "x"}),
            ),
        ];
        for (version, kind, rest, expected) in table {
            let content =
                format!("---\napiVersion: kubeadm.k8s.io/{version}\nkind: {kind}\n{rest}---\nkind: Other\nx: 1\n");
            let documents = parsed(&add(&content, ID).unwrap());
            assert_eq!(documents.len(), 3);
            assert_eq!(documents[1]["nodeRegistration"]["kubeletExtraArgs"], expected, "{version} {kind} {rest}");
            assert_eq!(documents[2]["x"], 1);
        }
    }

    #[test]
    fn what_looks_like_another_type_stays_text() {
        let content = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nbootstrapTokens:\n- token: \"123456.0123456789012345\"\n  ttl: 0s\nnodeRegistration:\n  name: \"007\"\n  criSocket: unix:///run/x.sock\n  taints: []\n  kubeletExtraArgs:\n  - name: node-labels\n    value: \"a=true,b=no\"\n  - name: x\n    value: \"true\"\n";
        let mut before: Value = serde_saphyr::from_str(content).unwrap();
        let after: Value = serde_saphyr::from_str(&add(content, ID).unwrap()).unwrap();
        before["nodeRegistration"]["kubeletExtraArgs"]
            .as_array_mut()
            .unwrap()
            .push(json!({"name": ARGUMENT, "value": ID}));
        assert_eq!(after, before);
    }

    #[test]
    fn files_that_are_not_kubeadms_are_untouched() {
        for content in [
            "",
            "InitConfiguration",
            "apiVersion: v1\nkind: InitConfiguration\n",
            "a: [",
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
        ] {
            assert_eq!(add(content, ID).unwrap(), content);
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let content = "apiVersion: kubeadm.k8s.io/v1beta9\nkind: InitConfiguration\n";
        assert!(add(content, ID).unwrap_err().to_string().contains("v1beta9"));
    }
}
