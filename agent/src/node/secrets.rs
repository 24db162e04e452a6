//! Which values of the bootstrap data are secret: what its keys call so, password or token, and what its files keep from others. The masker learns
//! them before anything is carried out.

use bessemer_cloud_config::modules::WriteFile;
use bessemer_cloud_config::{CloudConfig, user_data};
use serde_json::{Map, Value};

use super::provider_id;

/// Ends of keys, in lower case and without `-` and `_`, whose values are secret.
const SECRET_KEYS: [&str; 6] = ["token", "password", "passwd", "certificatekey", "secret", "privatekey"];

/// Largest file that is looked into for keys, in bytes.
const LARGEST: usize = 1 << 20;

/// All secrets of a cloud-config and of the files that it writes.
pub(super) fn of(config: &Value, files: &[WriteFile]) -> Vec<String> {
    let mut secrets = Vec::new();
    walk(config, &mut secrets);
    for file in files {
        of_file(file, &mut secrets);
    }
    secrets
}

/// All secrets of user data that somebody else carries out. Of what cannot be read as such, all that could be one.
pub(super) fn of_user_data(data: &[u8], meta_data: &Map<String, Value>) -> Vec<String> {
    let read = user_data::read(data, meta_data).ok().and_then(|read| {
        let said = read.config.to_json();
        Some(of(&said, &CloudConfig::new(read, meta_data).ok()?.write_files))
    });
    read.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(data);
        let values = |line: &str| line.split(['=', ' ', ',']).map(unquoted).collect::<Vec<_>>();
        text.lines().flat_map(values).filter(|value| value.len() >= SHORTEST_UNREAD).collect()
    })
}

/// Of user data that cannot be read, shorter words are those of every sentence, in bytes.
const SHORTEST_UNREAD: usize = 16;

fn of_file(file: &WriteFile, secrets: &mut Vec<String>) {
    let Ok(text) = std::str::from_utf8(&file.content) else { return };
    if file.mode & 0o077 == 0 || text.contains("PRIVATE KEY-----") {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("-----")) {
            secrets.push(line.to_owned());
            secrets.extend(line.split_once('=').map(|(_, value)| unquoted(value)));
        }
    }
    if text.len() <= LARGEST {
        for document in provider_id::split(text) {
            if let Ok(value) = serde_saphyr::from_str::<Value>(&document) {
                walk(&value, secrets);
            }
        }
    }
}

fn walk(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let plain: String = key.chars().filter(|c| !"-_".contains(*c)).collect::<String>().to_lowercase();
                if SECRET_KEYS.iter().any(|end| plain.ends_with(end)) {
                    take(value, secrets);
                }
                walk(value, secrets);
            }
            // `chpasswd: {list: "name:password"}`, and as a list.
            if let Some(list) = entries.get("chpasswd").and_then(|section| section.get("list")) {
                take(list, secrets);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, secrets)),
        _ => {}
    }
}

/// A scalar or several, or lines of `name:secret`.
fn take(value: &Value, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            for line in text.lines().map(str::trim) {
                secrets.push(line.to_owned());
                secrets.extend(line.split_once(':').map(|(_, secret)| secret.to_owned()));
            }
        }
        Value::Number(number) => secrets.push(number.to_string()),
        Value::Array(items) => items.iter().filter(|item| !item.is_object()).for_each(|item| take(item, secrets)),
        _ => {}
    }
}

fn unquoted(value: &str) -> String {
    value.trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mode: u32, content: &str) -> WriteFile {
        let content = content.as_bytes().to_vec();
        WriteFile { path: "/f".into(), content, owner: None, mode, append: false, defer: false }
    }

    #[test]
    fn what_is_secret_is_found_and_the_rest_is_not() {
        let config = serde_json::json!({
            "users": [{"name": "admin-name", "hashed_passwd": "hash-of-admin"}],
            "chpasswd": {"list": "root:root-password\nops:ops-password", "expire": false},
            "runcmd": ["plain-command"],
        });
        let files = [
            file(
                0o640,
                "apiVersion: v1\nkind: A\ncertificateKey: certificate-key\n---\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken: {token: boot-token, apiServerEndpoint: endpoint:6443}\n",
            ),
            file(0o644, "-----BEGIN RSA PRIVATE KEY-----\nshort-rest==\n-----END RSA PRIVATE KEY-----\n"),
            file(0o600, "REGISTRY=\"registry-login\"\n"),
            file(0o644, "public-line\n"),
        ];
        let secrets = of(&config, &files);
        let expected = [
            "hash-of-admin",
            "root-password",
            "ops-password",
            "certificate-key",
            "boot-token",
            "short-rest==",
            "registry-login",
        ];
        for secret in expected {
            assert!(secrets.iter().any(|found| found == secret), "{secret}: {secrets:?}");
        }
        for plain in ["admin-name", "plain-command", "public-line", "endpoint:6443", "v1", "JoinConfiguration"] {
            assert!(!secrets.iter().any(|found| found == plain), "{plain}: {secrets:?}");
        }
    }

    #[test]
    fn user_data_that_cannot_be_read_is_taken_for_secret_word_by_word() {
        let nothing = Map::new();
        let good = b"#cloud-config\nmy_password: pw-of-the-good-one\nruncmd: [a-command-that-is-plain]\n";
        assert_eq!(of_user_data(good, &nothing), ["pw-of-the-good-one"]);
        let bad = b"## template: jinja\n#cloud-config\nruncmd: ['kubeadm join {{ ds.missing }} --token=abcdef.0123456789abcdef']\n  token: \"a-secret-with-quotes\"\n";
        let found = of_user_data(bad, &nothing);
        for secret in ["a-secret-with-quotes", "abcdef.0123456789abcdef"] {
            assert!(found.iter().any(|found| found.contains(secret)), "{secret}: {found:?}");
        }
    }
}
