//! Network data as it is written for systemd-networkd, netplan and NetworkManager, beside what Debian's cloud-init writes of the same data, in the sense
//! of each program: sections without their order, names in place of ids. What we write is also in `cloud_init/networks/golden`, to be read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "support/debian.rs"]
mod debian;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use bessemer_cloud_config::network::detect::Renderer;
use bessemer_cloud_config::network::{self, Nic};

const RENDERERS: [(&str, Renderer); 3] =
    [("netplan", Renderer::Netplan), ("networkmanager", Renderer::NetworkManager), ("networkd", Renderer::Networkd)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloud_init/networks")
}

fn inputs() -> BTreeMap<String, String> {
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let named =
        files.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()));
    named.filter(|(name, _)| !name.starts_with("differences")).collect()
}

/// By the file's name.
fn ours(name: &str, text: &str, renderer: Renderer) -> BTreeMap<String, String> {
    let nics: Vec<Nic> = (0..8).map(|n| Nic { name: format!("eth{n}"), mac: format!("52:54:00:00:00:0{n}") }).collect();
    let mut network = network::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    if network.is_openstack() {
        network = network.on_host(&nics).unwrap();
    }
    let base = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    renderer.files(&network).into_iter().map(|file| (base(&file.path), file.content)).collect()
}

#[test]
fn what_is_written_is_what_was_read_before() {
    let update = std::env::var_os("BESSEMER_UPDATE_GOLDEN").is_some();
    for (name, text) in inputs() {
        for (kind, renderer) in RENDERERS {
            let files = ours(&name, &text, renderer);
            let all: String = files.iter().map(|(name, content)| format!("==> {name}\n{content}\n")).collect();
            let golden = folder().join("golden").join(format!("{name}.{kind}"));
            if update {
                fs::create_dir_all(golden.parent().unwrap()).unwrap();
                fs::write(&golden, &all).unwrap();
            }
            assert_eq!(all, fs::read_to_string(&golden).unwrap_or_default(), "{}", golden.display());
        }
    }
}

/// Section and line, ids replaced by names.
fn lines(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let ids: Vec<(String, String)> = files
        .iter()
        .filter_map(|(name, text)| {
            let id = text.lines().find_map(|line| line.strip_prefix("uuid="))?;
            Some((id.to_owned(), name.clone()))
        })
        .collect();
    let mut all = BTreeSet::new();
    for (name, text) in files {
        // a section that comes several times is one thing each time
        for section in text.split('[').skip(1) {
            let (head, body) = section.split_once(']').unwrap();
            let mut body: Vec<String> = body
                .lines()
                .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
                .map(str::to_owned)
                .collect();
            for line in &mut body {
                for (id, name) in &ids {
                    *line = line.replace(id.as_str(), name);
                }
            }
            // a default route by any name
            body.retain(|line| !["Destination=0.0.0.0/0", "Destination=::/0"].contains(&line.as_str()));
            body.sort();
            if ["Route", "Address"].contains(&head) {
                all.insert(format!("{name} [{head}] {}", body.join(" ")));
            } else {
                all.extend(body.into_iter().map(|line| format!("{name} [{head}] {}", plain(head, &line))));
            }
        }
    }
    all
}

/// One way to say each thing.
fn plain(section: &str, line: &str) -> String {
    match (section, line) {
        ("ipv4", line) if line.starts_with("route") && line.contains("=0.0.0.0/0,") => {
            format!("gateway={}", line.rsplit(',').next().unwrap())
        }
        ("connection", line) if line.starts_with("uuid=") => "uuid".to_owned(),
        ("Network", "IPv6AcceptRA=True") => "IPv6AcceptRA=yes".to_owned(),
        ("Network", "IPv6AcceptRA=False") => "IPv6AcceptRA=no".to_owned(),
        _ => line.to_owned(),
    }
}

/// netplan's YAML as lines `a.b.c = value`, with gateways as routes.
fn netplan(text: &str) -> BTreeSet<String> {
    fn walk(place: &str, value: &serde_json::Value, all: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(entries) => {
                for (key, value) in entries {
                    match key.as_str() {
                        "gateway4" => walk(
                            &format!("{place}.routes"),
                            &serde_json::json!([{"to": "0.0.0.0/0", "via": value}]),
                            all,
                        ),
                        "gateway6" => {
                            walk(&format!("{place}.routes"), &serde_json::json!([{"to": "::/0", "via": value}]), all)
                        }
                        _ => walk(&format!("{place}.{key}"), value, all),
                    }
                }
            }
            serde_json::Value::Array(items) => all.extend(items.iter().map(|item| format!("{place} += {item}"))),
            other => drop(all.insert(format!("{place} = {}", other.to_string().trim_matches('"')))),
        }
    }
    let mut all = BTreeSet::new();
    walk("", &bessemer_cloud_config::yaml::parse(text).unwrap().to_json(), &mut all);
    all
}

fn read_files(folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_files(&path, found);
        } else {
            found.insert(path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap());
        }
    }
}

/// `input | renderer | a part of the lines that differ | reason`.
fn allowed() -> Vec<[String; 3]> {
    let text = include_str!("cloud_init/networks/differences.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
            assert!(fields.len() == 4 && !fields[3].is_empty(), "{line}");
            [0, 1, 2].map(|index| fields[index].to_owned())
        })
        .collect()
}

#[test]
fn cloud_inits_renderers_say_the_same() {
    if let Some(reason) = debian::missing() {
        println!("SKIP {reason}");
        return;
    }
    let copy = debian::Copy::of(&[&debian::root()]);
    let inputs = inputs();
    for (name, text) in &inputs {
        copy.put(&format!("/in/{name}"), text.as_bytes(), 0o644);
    }
    copy.put("/render.py", include_bytes!("cloud_init/render.py"), 0o644);
    let output = copy.run("python3 /render.py");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let allowed = allowed();
    let (mut met, mut bad) = (BTreeSet::new(), Vec::new());
    for (name, text) in &inputs {
        for (kind, renderer) in RENDERERS {
            let mut theirs = BTreeMap::new();
            let out = copy.upper().join("out").join(name);
            let refused = fs::read_to_string(out.join(format!("{kind}.error"))).ok();
            read_files(&out.join(kind), &mut theirs);
            let ours = ours(name, text, renderer);
            let (ours, theirs) = if kind == "netplan" {
                let all = |files: &BTreeMap<String, String>| netplan(files.values().next().map_or("", String::as_str));
                (all(&ours), all(&theirs))
            } else {
                (lines(&ours), lines(&theirs))
            };
            let refused = refused.map(|why| format!("it refuses: {why}"));
            let differ = ours.difference(&theirs).map(|line| format!("only ours: {line}"));
            let differ =
                differ.chain(theirs.difference(&ours).map(|line| format!("only cloud-init's: {line}"))).chain(refused);
            for line in differ {
                let is = |allowed: &[String; 3]| {
                    (allowed[0] == "*" || allowed[0] == *name) && allowed[1] == kind && line.contains(&allowed[2])
                };
                match allowed.iter().position(is) {
                    Some(index) => drop(met.insert(index)),
                    None => bad.push(format!("{name} {kind}: {line}")),
                }
            }
        }
    }
    println!("{} network data by {} renderers", inputs.len(), RENDERERS.len());
    assert!(bad.is_empty(), "{}", bad.join("\n"));
    let gone: Vec<_> =
        allowed.iter().enumerate().filter(|(index, _)| !met.contains(index)).map(|(_, allowed)| allowed).collect();
    assert!(gone.is_empty(), "these differences are gone: {gone:?}");
}
