//! `hostname`, `fqdn` and `manage_etc_hosts`.

use serde_json::{Map, Value};

use super::{ConfigError, sections};
use crate::yaml::Node;
use crate::{ApplyError, System, jinja};

pub(super) const KEYS: [&str; 5] =
    ["hostname", "fqdn", "prefer_fqdn_over_hostname", "preserve_hostname", "manage_etc_hosts"];

/// Debian's own address for the host's name.
const OWN: &str = "127.0.1.1";

/// What the host is to be called, and where that is written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HostNames {
    /// To be the host's name; none when the one it has stays.
    name: Option<String>,
    short: String,
    full: String,
    hosts: Hosts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Hosts {
    #[default]
    Unmanaged,
    Template,
    Localhost,
}

impl HostNames {
    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none() && self.hosts == Hosts::Unmanaged
    }
}

pub(super) fn read(config: &Node, meta_data: &Map<String, Value>) -> Result<HostNames, ConfigError> {
    let given = |key: &str| match sections::text(config, key, key)? {
        Some(name) if !is_name(&name) => Err(ConfigError::new(key, "is no host name")),
        value => Ok(value),
    };
    let (hostname, fqdn) = (given("hostname")?, given("fqdn")?);
    let own = ["local-hostname", "hostname", "name"].iter().find_map(|key| meta_data.get(*key)?.as_str());
    let own = own.unwrap_or_default();
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let (short, full) = match (&hostname, &fqdn) {
        (Some(hostname), Some(fqdn)) => (hostname.clone(), fqdn.clone()),
        (None, Some(fqdn)) => (first(fqdn), fqdn.clone()),
        (Some(hostname), None) if hostname.contains('.') => (first(hostname), hostname.clone()),
        (Some(hostname), None) => (hostname.clone(), own.to_owned()),
        (None, None) => (first(own), own.to_owned()),
    };
    let preserved = sections::flag(config, "", "preserve_hostname", false)?;
    let prefers_full = sections::flag(config, "", "prefer_fqdn_over_hostname", false)?;
    let named = hostname.is_some() || fqdn.is_some();
    // the meta data's name is the Node's, and so is taken whole
    let from_meta_data = (!named && !own.is_empty()).then(|| own.to_owned());
    let hosts = match config.get("manage_etc_hosts") {
        None => Hosts::Unmanaged,
        Some(value) if value.text() == Some("localhost") => Hosts::Localhost,
        Some(value) if value.text() == Some("template") => Hosts::Template,
        Some(value) => match value.flag() {
            Some(true) => Hosts::Template,
            Some(false) => Hosts::Unmanaged,
            None => return Err(ConfigError::new("manage_etc_hosts", "is none of true, false, localhost")),
        },
    };
    let name = if prefers_full { &full } else { &short };
    let name = named.then(|| name.clone()).or(from_meta_data).filter(|_| !preserved);
    Ok(HostNames { name, short, full, hosts })
}

/// RFC 1123, section 2.1, and the underscores that are seen.
fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.split('.').all(label)
}

pub(super) fn apply(host: &HostNames, system: &mut System<'_>) -> Result<(), ApplyError> {
    if let Some(name) = &host.name {
        system.write("/etc/hostname", &format!("{name}\n"), 0o644)?;
        system.take_name(name);
    }
    let hosts = match host.hosts {
        Hosts::Unmanaged => return Ok(()),
        Hosts::Localhost => localhost(&system.read("/etc/hosts"), &host.full, &host.short),
        Hosts::Template => from_template(system, host)?,
    };
    system.write("/etc/hosts", &hosts, 0o644)
}

/// The image's own template if it has one.
fn from_template(system: &System<'_>, host: &HostNames) -> Result<String, ApplyError> {
    let template = ["debian", "redhat", "suse", "photon", "alpine", "arch"]
        .iter()
        .map(|family| system.read(&format!("/etc/cloud/templates/hosts.{family}.tmpl")))
        .find(|text| !text.is_empty());
    let Some(template) = template else {
        return Ok(format!(
            "{OWN} {} {}\n127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\nff02::1 ip6-allnodes\nff02::2 ip6-allrouters\n",
            host.full, host.short
        ));
    };
    let body = jinja::header(&template).unwrap_or(&template);
    let variables = jinja::Variables::plain(&[("hostname", &host.short), ("fqdn", &host.full)]);
    jinja::render(body, &variables).map(|(text, _)| text).map_err(|error| ApplyError(format!("/etc/hosts: {error}")))
}

/// One line of the host's own address with both names; other lines stay.
fn localhost(hosts: &str, full: &str, short: &str) -> String {
    let mut lines: Vec<String> = hosts.lines().map(str::to_owned).collect();
    let known = |line: &String| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        words.next() == Some(OWN) && words.next() == Some(full) && words.any(|name| name == short)
    };
    if !lines.iter().any(known) {
        lines.push(format!("{OWN} {full} {short}"));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml;

    fn names(text: &str) -> Result<HostNames, ConfigError> {
        let meta_data = serde_json::json!({"local-hostname": "own.example"});
        read(&yaml::parse(text).unwrap(), meta_data.as_object().unwrap())
    }

    #[test]
    fn names_are_chosen_as_cloud_init_does() {
        let table = [
            ("hostname: a", Some("a"), "own.example"),
            ("hostname: a.b", Some("a"), "a.b"),
            ("fqdn: a.b", Some("a"), "a.b"),
            ("{hostname: c, fqdn: a.b}", Some("c"), "a.b"),
            ("{fqdn: a.b, prefer_fqdn_over_hostname: yes}", Some("a.b"), "a.b"),
            ("{fqdn: a.b, preserve_hostname: true}", None, "a.b"),
            ("{}", Some("own.example"), "own.example"),
            ("preserve_hostname: true", None, "own.example"),
        ];
        for (text, name, full) in table {
            let names = names(text).unwrap();
            assert_eq!((names.name.as_deref(), names.full.as_str()), (name, full), "{text}");
        }
        for text in ["hostname: 'a b'", "hostname: \"a\\nb\"", "fqdn: -x", "manage_etc_hosts: maybe"] {
            assert!(names(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_own_line_is_added_once() {
        let once = localhost("127.0.0.1 localhost\n127.0.1.1 old\n", "a.b", "a");
        assert_eq!(once, "127.0.0.1 localhost\n127.0.1.1 old\n127.0.1.1 a.b a\n");
        assert_eq!(localhost(&once, "a.b", "a"), once);
    }
}
