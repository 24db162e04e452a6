//! What matters before kubeadm runs, out of the configuration that it is given.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// Largest configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// What kubeadm is told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::node) struct Config {
    /// `kubernetesVersion` of a ClusterConfiguration.
    pub(in crate::node) version: Option<String>,
    /// `nodeRegistration.criSocket`, without its scheme.
    pub(in crate::node) runtime: Option<String>,
    /// `nodeRegistration.ignorePreflightErrors` in lower case, kubeadm's own words.
    pub(in crate::node) ignored: Vec<String>,
    /// Whether this becomes a control plane.
    pub(in crate::node) control_plane: bool,
    /// The API server's port on this host.
    pub(in crate::node) api_port: Option<u16>,
    /// Whether the kubelet is told to run with swap.
    pub(in crate::node) swap_is_wanted: bool,
    /// Where a join looks for its cluster.
    pub(in crate::node) endpoint: Option<String>,
}

impl Config {
    /// Of a command such as `kubeadm init --config FILE`. Whatever cannot be read is left to kubeadm, which will say so.
    pub(in crate::node) fn of_command(words: &str) -> Self {
        let mut words = words.split_whitespace();
        let mut path = None;
        while let Some(word) = words.next() {
            if word == "--config" {
                path = words.next();
            } else if let Some(value) = word.strip_prefix("--config=") {
                path = Some(value);
            }
        }
        let readable = |path: &&str| fs::metadata(path).is_ok_and(|found| found.len() <= MAX_CONFIG);
        let text = path.filter(readable).and_then(|path| fs::read_to_string(Path::new(path)).ok());
        text.map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Of the documents of such a file.
    pub(in crate::node) fn parse(text: &str) -> Self {
        let mut config = Self::default();
        for document in crate::node::provider_id::split(text) {
            let Ok(value) = serde_saphyr::from_str::<Value>(&document) else { continue };
            config.take(&value);
        }
        config
    }

    fn take(&mut self, document: &Value) {
        let at = |pointer: &str| document.pointer(pointer);
        let text = |pointer: &str| at(pointer).and_then(Value::as_str).map(str::to_owned);
        match text("/kind").as_deref() {
            Some("ClusterConfiguration") => self.version = text("/kubernetesVersion"),
            Some("KubeletConfiguration") => {
                self.swap_is_wanted |= at("/failSwapOn").and_then(Value::as_bool) == Some(false);
            }
            Some("InitConfiguration") => {
                self.control_plane = true;
                self.take_port(at("/localAPIEndpoint/bindPort"));
                self.take_registration(document);
            }
            Some("JoinConfiguration") => {
                self.control_plane = at("/controlPlane").is_some_and(|value| !value.is_null());
                self.take_port(at("/controlPlane/localAPIEndpoint/bindPort"));
                self.endpoint = text("/discovery/bootstrapToken/apiServerEndpoint");
                self.take_registration(document);
            }
            _ => {}
        }
    }

    fn take_port(&mut self, port: Option<&Value>) {
        self.api_port = port.and_then(Value::as_u64).and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
    }

    fn take_registration(&mut self, document: &Value) {
        let Some(registration) = document.get("nodeRegistration") else { return };
        let socket = registration.get("criSocket").and_then(Value::as_str).unwrap_or_default();
        let path = socket.strip_prefix("unix://").unwrap_or(socket);
        self.runtime = (!path.is_empty()).then(|| path.to_owned());
        let ignored = registration.get("ignorePreflightErrors").and_then(Value::as_array).into_iter().flatten();
        self.ignored = ignored.filter_map(Value::as_str).map(str::to_lowercase).collect();
        let no = |value: Option<&Value>| value.and_then(Value::as_str) == Some("false");
        self.swap_is_wanted |= match registration.get("kubeletExtraArgs") {
            Some(Value::Array(list)) => list.iter().any(|argument| {
                argument.get("name").and_then(Value::as_str) == Some("fail-swap-on") && no(argument.get("value"))
            }),
            Some(map) => no(map.get("fail-swap-on")),
            None => false,
        };
    }

    /// Whether kubeadm is told not to mind this check.
    pub(in crate::node) fn ignores(&self, check: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored == "all" || ignored.eq_ignore_ascii_case(check))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_found_in_both_versions() {
        let init = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.3\n---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {bindPort: 7443}\nnodeRegistration:\n  criSocket: unix:///run/x.sock\n  ignorePreflightErrors: [Swap, Port-10250]\n  kubeletExtraArgs:\n  - {name: fail-swap-on, value: \"false\"}\n";
        let config = Config::parse(init);
        assert_eq!((config.version.as_deref(), config.api_port), (Some("v1.36.3"), Some(7443)));
        assert_eq!(config.runtime.as_deref(), Some("/run/x.sock"));
        assert!(config.control_plane && config.swap_is_wanted);
        assert!(config.ignores("port-10250") && !config.ignores("Port-6443"));
        let join = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\ndiscovery: {bootstrapToken: {apiServerEndpoint: 'a:6443'}}\nnodeRegistration: {kubeletExtraArgs: {fail-swap-on: \"false\"}}\n";
        let config = Config::parse(join);
        assert_eq!(config.endpoint.as_deref(), Some("a:6443"));
        assert!(!config.control_plane && config.swap_is_wanted && config.version.is_none());
        assert_eq!(Config::parse("a: ["), Config::default());
        assert_eq!(Config::of_command("kubeadm init"), Config::default());
    }

    #[test]
    fn the_file_is_the_one_of_the_command() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "kind: ClusterConfiguration\nkubernetesVersion: v1.30.0\n").unwrap();
        for words in ["kubeadm init --config PATH  && echo", "kubeadm init --config=PATH"] {
            let config = Config::of_command(&words.replace("PATH", file.path().to_str().unwrap()));
            assert_eq!(config.version.as_deref(), Some("v1.30.0"), "{words}");
        }
    }
}
