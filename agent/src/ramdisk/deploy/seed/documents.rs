//! The files of a seed as text, by path: OpenStack's config drive, or what cloud-init's `NoCloud` reads.

use bessemer_protocol::{BootstrapDelivery, Seed, SeedLayout};
use serde_json::{Map, Value, json};

/// OpenStack's versions that are written. `latest` is what Ignition and most others read; cloud-init takes the newest date that it knows, and this
/// is the first that has network data.
const VERSIONS: [&str; 2] = ["latest", "2015-10-15"];

/// Most bytes of all documents together: what the partition holds, with room for its tables.
const MOST_BYTES: usize = 48 << 20;

/// Paths and contents, or why there cannot be any. The error quotes no content.
pub(super) fn of(seed: &Seed) -> Result<Vec<(String, String)>, String> {
    if seed.delivery == BootstrapDelivery::Agent && seed.user_data.is_some() {
        return Err("the seed has user data, but the agent is to deliver it: kubeadm would run twice".to_owned());
    }
    let documents = match seed.layout {
        SeedLayout::ConfigDrive => config_drive(seed)?,
        SeedLayout::NoCloud => no_cloud(seed)?,
    };
    let bytes: usize = documents.iter().map(|(_, content)| content.len()).sum();
    if bytes > MOST_BYTES {
        return Err(format!("the seed takes {bytes} bytes, its partition holds {MOST_BYTES}"));
    }
    Ok(documents)
}

fn config_drive(seed: &Seed) -> Result<Vec<(String, String)>, String> {
    let mut meta_data = named(seed);
    meta_data.entry("uuid").or_insert_with(|| json!(seed.instance_id));
    let mut files = vec![("meta_data.json", Value::Object(meta_data).to_string())];
    if let Some(user_data) = &seed.user_data {
        files.push(("user_data", user_data.clone()));
    }
    if let Some(text) = &seed.network_data {
        files.push(("network_data.json", openstack_network(text)?));
    }
    if let Some(text) = &seed.vendor_data {
        files.push(("vendor_data.json", vendor_json(text)));
    }
    let paths = |version: &str| -> Vec<(String, String)> {
        files.iter().map(|(name, content)| (format!("openstack/{version}/{name}"), content.clone())).collect()
    };
    Ok(VERSIONS.into_iter().flat_map(paths).collect())
}

fn no_cloud(seed: &Seed) -> Result<Vec<(String, String)>, String> {
    let mut meta_data = named(seed);
    meta_data.insert("instance-id".to_owned(), json!(seed.instance_id));
    let mut files = vec![
        ("meta-data", Value::Object(meta_data).to_string()),
        // without this file the seed is none
        ("user-data", seed.user_data.clone().unwrap_or_default()),
    ];
    if let Some(text) = &seed.network_data {
        files.push(("network-config", cloud_init_network(text)?));
    }
    if let Some(text) = &seed.vendor_data {
        files.push(("vendor-data", text.clone()));
    }
    Ok(files.into_iter().map(|(path, content)| (path.to_owned(), content)).collect())
}

/// The host's name is always there: an image without one would call itself something else on every boot. A template may have
/// said otherwise.
fn named(seed: &Seed) -> Map<String, Value> {
    let mut meta_data = seed.meta_data.clone();
    for key in ["name", "hostname", "local-hostname"] {
        meta_data.entry(key).or_insert_with(|| json!(seed.hostname));
    }
    meta_data
}

/// cloud-init takes a list, a string, or an object with its own name as key; what is none of these in JSON is wrapped.
fn vendor_json(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_) | Value::Array(_)) => text.to_owned(),
        _ => json!({ "cloud-init": text }).to_string(),
    }
}

/// OpenStack's form as it is. There is no way from cloud-init's own forms to it.
fn openstack_network(text: &str) -> Result<String, String> {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(data)) if data.contains_key("links") || data.contains_key("networks") => Ok(text.to_owned()),
        Ok(Value::Object(data)) if data.is_empty() => Ok(text.to_owned()),
        _ => {
            Err("network data is not OpenStack's network_data.json, which a config drive needs; a NoCloud seed takes \
                  cloud-init's own forms"
                .to_owned())
        }
    }
}

/// cloud-init's forms as they are, OpenStack's as version 2.
fn cloud_init_network(text: &str) -> Result<String, String> {
    let network = bessemer_cloud_config::network::parse(text).map_err(|error| format!("network data: {error}"))?;
    if network.is_openstack() {
        Ok(bessemer_cloud_config::network::netplan::render(&network))
    } else {
        Ok(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed() -> Seed {
        let mut seed = Seed {
            hostname: "r1-u1".into(),
            instance_id: "i-1".into(),
            delivery: BootstrapDelivery::CloudInit,
            user_data: Some("#cloud-config\n".into()),
            network_data: Some(r#"{"links":[],"networks":[],"services":[]}"#.into()),
            vendor_data: Some("#cloud-config\nruncmd: []\n".into()),
            ..Seed::default()
        };
        seed.meta_data.insert("rack".into(), json!("r1"));
        seed.meta_data.insert("hostname".into(), json!("another"));
        seed
    }

    #[test]
    fn a_config_drive_has_every_file_under_latest_and_a_date() {
        let documents = of(&seed()).unwrap();
        let names = ["meta_data.json", "user_data", "network_data.json", "vendor_data.json"];
        for version in VERSIONS {
            for name in names {
                assert!(documents.iter().any(|(path, _)| *path == format!("openstack/{version}/{name}")), "{name}");
            }
        }
        let meta_data: Value = serde_json::from_str(&documents[0].1).unwrap();
        assert_eq!(
            (&meta_data["rack"], &meta_data["hostname"], &meta_data["name"], &meta_data["uuid"]),
            (&json!("r1"), &json!("another"), &json!("r1-u1"), &json!("i-1"))
        );
    }

    #[test]
    fn ignition_passes_unchanged() {
        let ignition = r#"{"ignition":{"version":"3.4.0"},"storage":{}}"#;
        let documents = of(&Seed { user_data: Some(ignition.into()), ..seed() }).unwrap();
        assert!(documents.contains(&("openstack/latest/user_data".into(), ignition.into())));
    }

    #[test]
    fn one_runner_of_kubeadm() {
        let error = of(&Seed { delivery: BootstrapDelivery::Agent, ..seed() }).unwrap_err();
        assert!(error.contains("kubeadm would run twice"), "{error}");
        let documents = of(&Seed { delivery: BootstrapDelivery::Agent, user_data: None, ..seed() }).unwrap();
        assert!(documents.iter().all(|(path, _)| !path.contains("user_data")));
    }

    #[test]
    fn what_does_not_fit_is_refused_without_being_quoted() {
        let large = of(&Seed { user_data: Some("x".repeat(30 << 20)), ..seed() }).unwrap_err();
        assert!(large.contains("its partition holds"), "{large}");
        let other =
            of(&Seed { network_data: Some("version: 2\nethernets: {s3cr3t: {}}\n".into()), ..seed() }).unwrap_err();
        assert!(other.contains("NoCloud") && !other.contains("s3cr3t"), "{other}");
    }

    #[test]
    fn no_cloud_gets_its_own_form_of_network() {
        let openstack = r#"{"links":[{"id":"a","type":"phy","ethernet_mac_address":"52:54:00:00:00:01"}],
            "networks":[{"link":"a","type":"ipv4_dhcp"}]}"#;
        let documents =
            of(&Seed { layout: SeedLayout::NoCloud, network_data: Some(openstack.into()), ..seed() }).unwrap();
        let text = |name: &str| &documents.iter().find(|(path, _)| path == name).unwrap().1;
        assert!(text("network-config").contains("version: 2"), "{}", text("network-config"));
        assert!(text("meta-data").contains("instance-id"));
        assert_eq!(text("user-data"), "#cloud-config\n");
        let empty = of(&Seed { layout: SeedLayout::NoCloud, user_data: None, ..seed() }).unwrap();
        assert!(empty.contains(&("user-data".into(), String::new())), "without user-data NoCloud sees no seed");
    }
}
