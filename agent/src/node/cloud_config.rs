//! The cloud-config that Cluster API's bootstrap providers write. What this agent cannot do yet is an error that names it: a key that is skipped
//! in silence makes a node that looks right and is not.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Why the bootstrap data cannot be applied.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum CloudConfigError {
    /// Not what the format says.
    #[error("bootstrap data does not start with `#cloud-config`")]
    NoHeader,
    /// See [`Self::NoHeader`]; YAML or types. The parser's words quote no values.
    #[error("bootstrap data is no cloud-config: {0}")]
    Yaml(String),
    /// Valid, but not for this agent.
    #[error("cloud-config {0} is not supported yet")]
    Unsupported(String),
}

/// What is applied.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct CloudConfig {
    /// Before all commands.
    #[serde(default)]
    pub(super) write_files: Vec<WriteFile>,
    /// In this order; the first that fails ends the bootstrap.
    #[serde(default)]
    pub(super) runcmd: Vec<RunCommand>,
    /// Time servers; the image's own time service is left as it is.
    #[serde(default)]
    pub(super) ntp: Option<serde_json::Value>,
    #[serde(flatten)]
    others: BTreeMap<String, serde_json::Value>,
}

/// One file.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct WriteFile {
    /// Absolute.
    pub(super) path: String,
    /// As encoded by `encoding`.
    #[serde(default)]
    pub(super) content: String,
    /// cloud-init's words, such as `gz+b64`; none is plain text.
    #[serde(default)]
    pub(super) encoding: Option<String>,
    /// `user:group`; root's when not given.
    #[serde(default)]
    pub(super) owner: Option<String>,
    /// Octal digits; `0644` when not given.
    #[serde(default)]
    pub(super) permissions: Option<String>,
    /// To the end of what is there.
    #[serde(default)]
    pub(super) append: bool,
}

/// One command.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenCommand")]
pub(super) enum RunCommand {
    /// For the shell.
    Shell(String),
    /// Program and arguments.
    Exec(Vec<String>),
}

/// As it stands in YAML, where an argument may look like a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenCommand {
    Shell(String),
    Exec(Vec<serde_json::Value>),
}

impl From<WrittenCommand> for RunCommand {
    fn from(written: WrittenCommand) -> Self {
        let word = |value: serde_json::Value| match value {
            serde_json::Value::String(word) => word,
            other => other.to_string(),
        };
        match written {
            WrittenCommand::Shell(words) => Self::Shell(words),
            WrittenCommand::Exec(words) => Self::Exec(words.into_iter().map(word).collect()),
        }
    }
}

/// Reads the bootstrap data.
pub(super) fn parse(data: &str) -> Result<CloudConfig, CloudConfigError> {
    let mut lines = data.lines().map(str::trim_end).skip_while(|line| line.is_empty());
    let mut first = lines.next();
    let template = first == Some("## template: jinja");
    if template {
        first = lines.find(|line| !line.is_empty());
    }
    if first != Some("#cloud-config") {
        return Err(CloudConfigError::NoHeader);
    }
    // Cluster API marks everything as a template and uses it as one only where a user wrote an expression.
    if template && (data.contains("{{") || data.contains("{%")) {
        return Err(CloudConfigError::Unsupported("with jinja expressions".to_owned()));
    }
    let config: Option<CloudConfig> =
        serde_saphyr::from_str(data).map_err(|error| CloudConfigError::Yaml(first_line(&error.to_string())))?;
    let config = config.unwrap_or_default();
    match config.others.keys().next() {
        Some(key) => Err(CloudConfigError::Unsupported(format!("key {key:?}"))),
        None => Ok(config),
    }
}

/// The parser shows the offending lines of its input after the first line, and the input is secret.
fn first_line(error: &str) -> String {
    error.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAPI: &str = r#"## template: jinja
#cloud-config

write_files:
-   path: /etc/kubernetes/pki/ca.crt
    owner: root:root
    permissions: '0640'
    content: |
      -----BEGIN CERTIFICATE-----
      abc
      -----END CERTIFICATE-----
-   path: /x
    permissions: 0600
    encoding: b64
    content: aGVsbG8=
    append: true
runcmd:
  - hostnamectl set-hostname "x"
  - 'kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/cluster-api/bootstrap-success.complete'
  - [ls, -l, 1]
ntp:
  enabled: true
  servers: [a]
"#;

    #[test]
    fn what_cluster_api_writes_is_read() {
        let config = parse(CAPI).unwrap();
        assert_eq!(config.write_files.len(), 2);
        assert_eq!(config.write_files[0].content, "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n");
        assert_eq!(config.write_files[0].permissions.as_deref(), Some("0640"));
        assert_eq!(config.write_files[1].permissions.as_deref(), Some("0600"), "unquoted digits are digits");
        assert!(config.write_files[1].append);
        assert_eq!(config.runcmd.len(), 3);
        assert_eq!(config.runcmd[2], RunCommand::Exec(vec!["ls".into(), "-l".into(), "1".into()]));
        assert!(config.ntp.is_some());
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        let table = [
            ("#cloud-config\nusers: [{name: a}]\n", "cloud-config key \"users\" is not supported yet"),
            ("#cloud-config\nwrite_files: 3\n", "bootstrap data is no cloud-config: "),
            ("#!/bin/sh\n", "bootstrap data does not start with `#cloud-config`"),
            (
                "## template: jinja\n#cloud-config\nruncmd: ['echo {{ ds.meta_data.name }}']\n",
                "cloud-config with jinja expressions",
            ),
        ];
        for (data, expected) in table {
            let error = parse(data).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
        assert_eq!(parse("#cloud-config\n"), Ok(CloudConfig::default()));
        assert!(parse("#cloud-config\nruncmd: ['echo {{x}}']\n").is_ok(), "braces are text outside templates");
    }

    #[test]
    fn an_error_quotes_no_secret() {
        let data = "#cloud-config\nwrite_files:\n- path: /x\n  content: [s3cr3t\n";
        assert!(!parse(data).unwrap_err().to_string().contains("s3cr3t"));
    }

    proptest! {
        #[test]
        fn hostile_data_is_an_error_and_no_panic(text in "[-\\[\\]{}:#&*!|>'\"% a-z0-9\n]{0,200}") {
            let _ = parse(&format!("#cloud-config\n{text}"));
        }
    }
}
