//! User data as it comes: plain, gzipped, or a MIME message of several parts, each of which is told by what it starts with rather than by its label.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::{Map, Value};

use crate::jinja::{self, JinjaError, Variables};
use crate::yaml::{self, Node, YamlError};

mod mime;

/// Longest user data and longest part after decompression, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// Why user data cannot be used. Quotes nothing of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// It is none of the forms that are known.
    #[error("user data starts with none of `#cloud-config`, `#!`, `## template: jinja`, and is no MIME message")]
    Unknown,
    /// Ignition's and cloud-init's ways do not mix.
    #[error("user data is Ignition's: only an image with Ignition can carry it out, delivered with its seed")]
    Ignition,
    /// Compressed data that is none or too much.
    #[error("user data: {0}")]
    Gzip(String),
    /// A message that is none.
    #[error("user data: MIME: {0}")]
    Mime(String),
    /// Not UTF-8.
    #[error("user data is no UTF-8 text")]
    NoText,
    /// See [`YamlError`].
    #[error("cloud-config: {0}")]
    Yaml(#[from] YamlError),
    /// A list or a word where keys are expected.
    #[error("cloud-config holds no keys at its top")]
    NoMapping,
    /// See [`JinjaError`].
    #[error(transparent)]
    Jinja(#[from] JinjaError),
    /// A kubeadm configuration with a mark in place of a value would join under a wrong name.
    #[error("jinja template: {0} not defined by the meta data, and kubeadm would take the mark for a value")]
    Missing(String),
}

/// What user data says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserData {
    /// All parts' cloud-config; of a key in several parts, the last part's value.
    pub config: Node,
    /// Scripts in the order of their parts, to be run by name after everything else. As with files, of several of one name the last is left.
    pub scripts: Vec<Script>,
    /// Parts that are left out, each in a sentence.
    pub warnings: Vec<String>,
}

/// A part that is a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its file's name, or its number among the parts.
    pub name: String,
    /// Its text.
    pub text: String,
}

impl Script {
    /// Whether it runs after `runcmd`: cloud-init makes a script of that name, and runs all by name.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.name.as_str() > "runcmd"
    }
}

/// Reads `data` for an instance with `meta_data`.
pub fn read(data: &[u8], meta_data: &Map<String, Value>) -> Result<UserData, UserDataError> {
    let variables = Variables::new(meta_data);
    let mut read = UserData { config: Node::Map(Vec::new()), scripts: Vec::new(), warnings: Vec::new() };
    let text = text(&gunzipped(data)?)?;
    if text.trim().is_empty() {
        return Ok(read);
    }
    if mime::is_message(&text) {
        for (number, part) in mime::parts(&text).map_err(UserDataError::Mime)?.into_iter().enumerate() {
            let content = self::text(&gunzipped(&part.content)?)?;
            // A label may say what the start does not; of a start that is known, the start is right.
            let content = match (kind(&content), part.kind.as_str()) {
                (None, "text/cloud-config") => format!("#cloud-config\n{content}"),
                _ => content,
            };
            let name = part.file.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("part-{:03}", number + 1));
            if !read.take(&name, &content, &variables)? {
                read.warnings.push(format!("part {} of the user data ({}) is left out", number + 1, part.kind));
            }
        }
        return Ok(read);
    }
    if is_ignition(&text) {
        return Err(UserDataError::Ignition);
    }
    if !read.take("part-001", &text, &variables)? {
        return match kind(&text) {
            Some(_) => Ok(read),
            None => Err(UserDataError::Unknown),
        };
    }
    Ok(read)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    CloudConfig,
    Script,
    Jinja,
    /// Known to cloud-init, not done here.
    Other(&'static str),
}

fn kind(text: &str) -> Option<Kind> {
    const OTHERS: [&str; 6] =
        ["#include", "#include-once", "#cloud-boothook", "#part-handler", "#cloud-config-archive", "#upstart-job"];
    if jinja::header(text).is_some() {
        return Some(Kind::Jinja);
    }
    if let Some(other) = OTHERS.iter().rev().find(|start| text.starts_with(*start)) {
        return Some(Kind::Other(other));
    }
    if text.starts_with("#cloud-config") {
        return Some(Kind::CloudConfig);
    }
    text.starts_with("#!").then_some(Kind::Script)
}

impl UserData {
    /// False when this part is nothing that is done.
    fn take(&mut self, name: &str, text: &str, variables: &Variables) -> Result<bool, UserDataError> {
        let text = text.trim_start_matches(['\r', '\n', '\u{feff}']);
        match kind(text) {
            Some(Kind::Jinja) => {
                let template = jinja::header(text).unwrap_or_default();
                let (rendered, missing) = jinja::render(template, variables)?;
                if !missing.is_empty() && rendered.contains("kubeadm") {
                    let verb = if missing.len() == 1 { "is" } else { "are" };
                    return Err(UserDataError::Missing(format!("{} {verb}", missing.join(", "))));
                }
                for name in missing {
                    self.warnings.push(format!("jinja template: {name} is not defined by the meta data"));
                }
                let rendered = rendered.trim_start_matches(['\r', '\n']);
                if kind(rendered) == Some(Kind::Jinja) { Ok(false) } else { self.take(name, rendered, variables) }
            }
            Some(Kind::CloudConfig) => {
                let Node::Map(entries) = some_map(yaml::parse(text)?)? else { return Err(UserDataError::NoMapping) };
                let Node::Map(known) = &mut self.config else { return Err(UserDataError::NoMapping) };
                for (key, value) in entries {
                    known.retain(|(other, _)| *other != key);
                    known.push((key, value));
                }
                Ok(true)
            }
            Some(Kind::Script) => {
                self.scripts.retain(|script| script.name != name);
                self.scripts.push(Script { name: name.to_owned(), text: text.to_owned() });
                Ok(true)
            }
            Some(Kind::Other(what)) => {
                self.warnings.push(format!("user data of the kind {what} is not carried out"));
                Ok(false)
            }
            None => Ok(false),
        }
    }
}

fn some_map(node: Node) -> Result<Node, UserDataError> {
    match node {
        Node::Map(_) => Ok(node),
        null if null.is_null() => Ok(Node::Map(Vec::new())),
        _ => Err(UserDataError::NoMapping),
    }
}

fn is_ignition(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("ignition").is_some())
}

fn text(bytes: &[u8]) -> Result<String, UserDataError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| UserDataError::NoText)
}

fn gunzipped(bytes: &[u8]) -> Result<Vec<u8>, UserDataError> {
    let too_much = || UserDataError::Gzip(format!("it has more than {MOST_BYTES} bytes"));
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return if bytes.len() > MOST_BYTES { Err(too_much()) } else { Ok(bytes.to_vec()) };
    }
    let mut plain = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(MOST_BYTES as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|_| UserDataError::Gzip("it starts like gzip and is none".to_owned()))?;
    if plain.len() > MOST_BYTES { Err(too_much()) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<UserData, UserDataError> {
        let meta_data = serde_json::json!({"local-hostname": "n1"});
        super::read(text.as_bytes(), meta_data.as_object().unwrap())
    }

    fn zipped(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    const MESSAGE: &str = "Content-Type: multipart/mixed; boundary=\"==B==\"\nMIME-Version: 1.0\n\npreamble\n--==B==\nContent-Type: text/cloud-config\n\n#cloud-config\na: 1\nb: [x]\n\n--==B==\nContent-Type: text/x-shellscript; charset=\"us-ascii\"\nContent-Transfer-Encoding: base64\n\nIyEvYmluL3NoCmVjaG8gaGkK\n--==B==\nContent-Type: text/x-shellscript\n\n#cloud-config\nb: [y]\n--==B==--\n";

    #[test]
    fn parts_are_joined_and_the_last_value_of_a_key_counts() {
        let data = read(MESSAGE).unwrap();
        assert_eq!(data.config.to_json(), serde_json::json!({"a": 1, "b": ["y"]}));
        assert_eq!(data.scripts, [Script { name: "part-002".into(), text: "#!/bin/sh\necho hi\n".into() }]);
        let zipped = super::read(&zipped(MESSAGE.as_bytes()), &Map::new()).unwrap();
        assert_eq!(zipped, data);
    }

    #[test]
    fn of_scripts_of_one_name_the_last_is_run_once() {
        let part = |name: &str, text: &str| {
            format!(
                "--b\nContent-Type: text/x-shellscript\nContent-Disposition: attachment; filename=\"{name}\"\n\n#!/bin/sh\n{text}\n"
            )
        };
        let parts = [part("a.sh", "one"), part("b.sh", "two"), part("a.sh", "three")].concat();
        let data = read(&format!("Content-Type: multipart/mixed; boundary=\"b\"\n\n{parts}--b--\n")).unwrap();
        let scripts: Vec<_> =
            data.scripts.iter().map(|script| (script.name.as_str(), script.text.trim_end())).collect();
        assert_eq!(scripts, [("b.sh", "#!/bin/sh\ntwo"), ("a.sh", "#!/bin/sh\nthree")]);
    }

    #[test]
    fn c142_a_script_part_that_is_cloud_config_is_taken_by_its_content() {
        let data = read(MESSAGE).unwrap();
        assert!(data.scripts.iter().all(|script| !script.text.contains("#cloud-config")));
        assert_eq!(data.config.get("b").unwrap().items()[0].text(), Some("y"));
    }

    #[test]
    fn templates_are_rendered_and_what_is_missing_is_never_kubeadms() {
        let data = read("## template: jinja\n#cloud-config\nhostname: '{{ local_hostname }}'\n").unwrap();
        assert_eq!(data.config.get("hostname").unwrap().text(), Some("n1"));
        let lost = read("## template: jinja\n#cloud-config\nruncmd: ['echo {{ ds.meta_data.nope }}']\n").unwrap();
        assert_eq!(lost.warnings, ["jinja template: nope is not defined by the meta data"]);
        let error = read("## template: jinja\n#cloud-config\nruncmd: ['kubeadm init {{ ds.meta_data.nope }}']\n");
        assert!(error.unwrap_err().to_string().contains("nope is not defined"));
        assert_eq!(read("#cloud-config\nruncmd: ['echo {{x}}']\n").unwrap().warnings, Vec::<String>::new());
    }

    #[test]
    fn what_is_not_done_is_said() {
        assert_eq!(read("hello"), Err(UserDataError::Unknown));
        assert_eq!(read(r#"{"ignition": {"version": "3.4.0"}}"#), Err(UserDataError::Ignition));
        assert_eq!(read("#cloud-config\n- a\n"), Err(UserDataError::NoMapping));
        assert_eq!(read("#include https://example.net/x\n").unwrap().warnings.len(), 1);
        assert!(read("").unwrap().config.entries().next().is_none());
        assert!(read("#cloud-config\n# only words\n").unwrap().config.entries().next().is_none());
        assert_eq!(super::read(&[0xff, 0xfe], &Map::new()), Err(UserDataError::NoText));
    }

    #[test]
    fn a_gzip_bomb_is_a_reason() {
        let bomb = zipped(&vec![b'#'; MOST_BYTES + 10]);
        assert!(super::read(&bomb, &Map::new()).unwrap_err().to_string().contains("more than"));
        let mut cut = zipped(b"#cloud-config\n");
        cut.truncate(15);
        assert!(super::read(&cut, &Map::new()).is_err());
    }

    proptest! {
        #[test]
        fn hostile_data_is_an_error_and_no_panic(text in "(Content-Type: multipart/mixed; boundary=b\n)?[-b#:=\"a-c \n{}%]{0,200}") {
            let _ = read(&text);
            let _ = read(&format!("#cloud-config\n{text}"));
        }
    }
}
