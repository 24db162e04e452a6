//! The bootstrap data itself: cloud-config as Cluster API writes it. Pure.
//!
//! After its first line it is JSON, which every YAML reader reads, and which leaves nothing to a writer's idea of when a
//! string needs quotes.

use bessemer_api::bootstrap::{BootstrapFile, BootstrapFormat, BootstrapUser, FileContentFormat, KubeadmConfigSpec};
use bessemer_api::cluster::Cluster;
use serde_json::{Map, Value, json};

use super::kubeadm;
use super::observe::Observed;

/// Where kubeadm reads its configuration.
const KUBEADM_CONFIG: &str = "/run/kubeadm/kubeadm.yaml";
/// Its directory is thereby made.
const PLACEHOLDER: &str = "/run/cluster-api/placeholder";
/// Cluster API's sign that bootstrapping went well.
const SENTINEL: &str = "/run/cluster-api/bootstrap-success.complete";
/// kubeadm's own default.
const CERTIFICATES_DIR: &str = "/etc/kubernetes/pki";

/// The data for the first control plane machine, or what is missing.
pub(super) fn render(seen: &Observed, cluster: &Cluster, version: &str) -> Result<String, String> {
    let spec = &seen.config.spec;
    if let Some(field) = unsupported(spec) {
        return Err(format!("spec.{field} is not supported yet: remove it"));
    }
    if spec.format.is_some_and(|format| format != BootstrapFormat::CloudConfig) {
        return Err("only the format cloud-config is supported yet".to_owned());
    }
    let configuration = spec.cluster_configuration.clone().unwrap_or_default();
    let init = spec.init_configuration.clone().unwrap_or_default();
    let directory = configuration.certificates_dir.clone().unwrap_or_else(|| CERTIFICATES_DIR.to_owned());
    let mut files = certificates(seen, &directory);
    for file in &spec.files {
        files.push(own_file(file, seen)?);
    }
    let documents = kubeadm::init_documents(cluster, version, &configuration, &init);
    files.push(file(KUBEADM_CONFIG, "0640", &documents));
    files.push(file(PLACEHOLDER, "0640", "This placeholder file makes the directory.\n"));

    let verbosity = spec.verbosity.map_or_else(String::new, |level| format!(" --v {level}"));
    let mut commands = spec.pre_kubeadm_commands.clone();
    commands.push(format!("kubeadm init --config {KUBEADM_CONFIG}{verbosity} && echo success > {SENTINEL}"));
    commands.extend(spec.post_kubeadm_commands.iter().cloned());

    let mut document = Map::new();
    document.insert("write_files".to_owned(), Value::Array(files));
    document.insert("runcmd".to_owned(), commands.into());
    if !spec.boot_commands.is_empty() {
        document.insert("bootcmd".to_owned(), spec.boot_commands.clone().into());
    }
    if !spec.users.is_empty() {
        let users = spec.users.iter().map(|found| user(found, seen)).collect::<Result<Vec<Value>, String>>()?;
        document.insert("users".to_owned(), Value::Array(users));
    }
    Ok(format!("#cloud-config\n{:#}\n", Value::Object(document)))
}

/// What upstream can do and we cannot yet: refused rather than left out in silence.
fn unsupported(spec: &KubeadmConfigSpec) -> Option<&'static str> {
    let there = [
        ("diskSetup", spec.disk_setup.is_some()),
        ("ignition", spec.ignition.is_some()),
        ("mounts", !spec.mounts.is_empty()),
        ("ntp", spec.ntp.is_some()),
    ];
    there.into_iter().find(|(_, there)| *there).map(|(field, _)| field)
}

fn certificates(seen: &Observed, directory: &str) -> Vec<Value> {
    let mut files = Vec::new();
    for (purpose, pair) in &seen.certificates {
        let (certificate, key) = purpose.files();
        files.push(file(&format!("{directory}/{certificate}"), "0640", &pair.certificate));
        files.push(file(&format!("{directory}/{key}"), "0600", &pair.key));
    }
    files
}

fn file(path: &str, permissions: &str, content: &str) -> Value {
    json!({ "path": path, "owner": "root:root", "permissions": permissions, "content": content })
}

fn own_file(file: &BootstrapFile, seen: &Observed) -> Result<Value, String> {
    let content = match &file.content_from {
        Some(from) => referred(seen, &from.secret.name, &from.secret.key)?,
        None => file.content.clone().unwrap_or_default(),
    };
    if file.content_format == Some(FileContentFormat::Template) {
        return Err(format!("contentFormat of file {} is not supported yet: only Raw is", file.path));
    }
    let mut map = Map::new();
    map.insert("path".to_owned(), file.path.clone().into());
    map.insert("content".to_owned(), content.into());
    let encoding = file.encoding.map(|encoding| encoding.to_string());
    for (key, value) in [("owner", &file.owner), ("permissions", &file.permissions), ("encoding", &encoding)] {
        if let Some(value) = value.as_ref().filter(|value| !value.is_empty()) {
            map.insert(key.to_owned(), value.clone().into());
        }
    }
    if file.append == Some(true) {
        map.insert("append".to_owned(), true.into());
    }
    Ok(Value::Object(map))
}

fn user(user: &BootstrapUser, seen: &Observed) -> Result<Value, String> {
    let passwd = match &user.passwd_from {
        Some(from) => Some(referred(seen, &from.secret.name, &from.secret.key)?),
        None => user.passwd.clone(),
    };
    let mut map = Map::new();
    map.insert("name".to_owned(), user.name.clone().into());
    for (key, value) in [
        ("passwd", &passwd),
        ("gecos", &user.gecos),
        ("groups", &user.groups),
        ("homedir", &user.home_dir),
        ("shell", &user.shell),
        ("primary_group", &user.primary_group),
        ("sudo", &user.sudo),
    ] {
        if let Some(value) = value {
            map.insert(key.to_owned(), value.clone().into());
        }
    }
    for (key, value) in [("inactive", user.inactive), ("lock_passwd", user.lock_password)] {
        if let Some(value) = value {
            map.insert(key.to_owned(), value.into());
        }
    }
    if !user.ssh_authorized_keys.is_empty() {
        map.insert("ssh_authorized_keys".to_owned(), user.ssh_authorized_keys.clone().into());
    }
    Ok(Value::Object(map))
}

fn referred(seen: &Observed, secret: &str, key: &str) -> Result<String, String> {
    let found = seen.referred.get(&(secret.to_owned(), key.to_owned())).cloned().flatten();
    found.ok_or_else(|| format!("key {key} of Secret {secret} does not exist: create it"))
}
