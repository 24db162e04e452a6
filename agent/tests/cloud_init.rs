//! The node role beside Debian's own cloud-init: each document of `cloud_init/documents` is carried out by both, each in a copy of the same Debian, and
//! what is on disk afterwards is compared: files with content, permissions and owner, users, groups, what commands left. What may differ is in
//! `cloud_init/differences.txt`, each with its reason; a difference that is not there fails, and so does one that is gone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[path = "support/debian.rs"]
mod debian;
#[path = "support/tree.rs"]
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use tree::Tree;

const META_DATA: &str = r#"{"instance-id": "i-0001", "local-hostname": "r1-u1", "rack": "r1", "zone-name": "z-1",
    "nics": [{"name": "eth0", "address": "192.0.2.11"}], "public-keys": {"ops": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMeta ops@example"}}"#;

/// cloud-init, but for what is ours to decide on a host: nothing about networks, growing, packages and the image's own default user.
const CLOUD_CFG: &str = "datasource_list: [NoCloud]
network: {config: disabled}
users: []
ssh_deletekeys: false
ssh_genkeytypes: []
cloud_init_modules: [bootcmd, write-files, disk_setup, mounts, set_hostname, update_etc_hosts, users-groups, ssh]
cloud_config_modules: [set-passwords, ntp, timezone, runcmd]
cloud_final_modules: [write-files-deferred, scripts-user]
";

/// Says that it was called, and how.
const KUBEADM: &str = "#!/bin/sh\n[ \"$1\" != version ] || exec echo v1.36.3\nmkdir -p /etc/kubernetes\necho \"kubeadm $*\" >> /etc/kubernetes/called\ncat \"$3\" >> /etc/kubernetes/called\n";

/// Beside it, where our preflight looks for it.
const KUBELET: &str = "#!/bin/sh\necho Kubernetes v1.36.3\n";

/// Listens where a container runtime would, as our preflight asks for one; ends with the copy.
const RUNTIME: &str = "import os, socket, time
os.makedirs('/run/containerd', exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind('/run/containerd/containerd.sock')
listener.listen()
time.sleep(600)
";

/// State of either program, caches, and what the test itself puts there.
const IGNORED: [&str; 26] = [
    "/dev",
    "/etc/.pwd.lock",
    "/etc/cloud",
    "/etc/passwd-",
    "/etc/group-",
    "/etc/shadow-",
    "/etc/gshadow-",
    "/etc/subuid-",
    "/etc/subgid-",
    "/proc",
    "/run/bessemer",
    "/run/blkid",
    "/run/cloud-init",
    "/run/containerd",
    "/run/lock",
    "/run/systemd",
    "/sys",
    "/tmp",
    "/usr/lib/python3",
    "/usr/local/bin",
    "/var/lib/bessemer",
    "/var/lib/cloud",
    "/var/log",
    "/var/cache",
    "/var/lib/apt",
    "/var/lib/dpkg",
];

const OURS: &str = "python3 /usr/local/bin/runtime.py & /usr/local/bin/bessemer-agent apply --user-data /var/lib/cloud/seed/nocloud/user-data --meta-data /var/lib/cloud/seed/nocloud/meta-data";
const THEIRS: &str = "python3 /usr/local/bin/all_stages.py > /dev/null; cat /run/cloud-init/result.json /run/cloud-init/status.json; true";

/// What all copies have in common beyond Debian.
fn programs() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, content: &[u8], mode: u32| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    put("etc/cloud/cloud.cfg.d/99_test.cfg", CLOUD_CFG.as_bytes(), 0o644);
    put("usr/local/bin/kubeadm", KUBEADM.as_bytes(), 0o755);
    put("usr/local/bin/kubelet", KUBELET.as_bytes(), 0o755);
    put("usr/local/bin/runtime.py", RUNTIME.as_bytes(), 0o644);
    put("usr/local/bin/bessemer-agent", &fs::read(env!("CARGO_BIN_EXE_bessemer-agent")).unwrap(), 0o755);
    put("usr/local/bin/all_stages.py", include_bytes!("cloud_init/all_stages.py"), 0o644);
    // a temporary folder is nobody else's, and this one becomes the root
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn carried_out(layers: &[&Path], document: &[u8], script: &str) -> (Tree, String) {
    let copy = debian::Copy::of(layers);
    copy.put("/var/lib/cloud/seed/nocloud/user-data", document, 0o600);
    copy.put("/var/lib/cloud/seed/nocloud/meta-data", META_DATA.as_bytes(), 0o600);
    // what a running systemd shows itself by
    copy.put("/run/systemd/system/.there", b"", 0o644);
    let output = copy.run(script);
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let mut tree = tree::read(&copy.upper(), &IGNORED);
    normalise(&mut tree, &String::from_utf8_lossy(document));
    (tree, said)
}

/// Takes out what cannot be the same and does not matter. All else that differs must be in the list.
fn normalise(tree: &mut Tree, document: &str) {
    // folders that only hold what changed are as they were
    tree.retain(|path, entry| {
        entry.kind != "folder"
            || !["/", "/etc", "/run", "/var", "/var/lib", "/usr", "/usr/local", "/root"].contains(&path.as_str())
    });
    for (path, entry) in tree.iter_mut() {
        let lines = entry.content.lines();
        match path.as_str() {
            // a salt of its own at each turn
            "/etc/shadow" => {
                entry.content = lines
                    .map(|line| {
                        let mut fields: Vec<&str> = line.split(':').collect();
                        let bare = fields[1].trim_start_matches('!');
                        if bare.starts_with('$') && !document.contains(bare) {
                            fields[1] = if fields[1].starts_with('!') { "!SALTED" } else { "SALTED" };
                        }
                        fields.join(":") + "\n"
                    })
                    .collect();
            }
            // each says who wrote it
            "/etc/sudoers.d/90-cloud-init-users"
            | "/etc/chrony/chrony.conf"
            | "/etc/systemd/timesyncd.conf.d/cloud-init.conf" => {
                entry.content = lines
                    .filter(|line| !line.starts_with('#') && !line.is_empty())
                    .map(|line| line.trim_end().to_owned() + "\n")
                    .collect();
            }
            "/etc/hosts" => {
                let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
                entry.content = lines.filter(|line| !line.starts_with('#') && !line.is_empty()).map(words).collect();
            }
            "/etc/fstab" => {
                entry.content = entry.content.replace("x-systemd.requires=cloud-init.service,", "");
            }
            // the order of a set
            _ if path.ends_with("/authorized_keys") => {
                let mut lines: Vec<&str> = lines.collect();
                lines.sort_unstable();
                entry.content = lines.join("\n");
            }
            _ => {}
        }
    }
}

struct Allowed {
    document: String,
    path: String,
}

fn allowed() -> Vec<Allowed> {
    let text = include_str!("cloud_init/differences.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            assert!(fields.len() == 3 && !fields[2].is_empty(), "document | path | reason: {line}");
            Allowed { document: fields[0].to_owned(), path: fields[1].to_owned() }
        })
        .collect()
}

fn documents() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cloud_init/documents");
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let only = std::env::var("BESSEMER_DOCUMENT").unwrap_or_default();
    paths.retain(|path| path.to_string_lossy().contains(&only));
    paths
}

#[test]
fn the_node_role_and_cloud_init_leave_the_same_on_disk() {
    if let Some(reason) = debian::missing() {
        println!("SKIP {reason}");
        return;
    }
    let started = Instant::now();
    let root = debian::root();
    let ours = programs();
    let layers = [ours.path(), root.as_path()];
    println!("root: {:.1} s", started.elapsed().as_secs_f32());
    let documents = documents();
    let allowed = allowed();
    let (queue, failures, met) = (Mutex::new(documents.iter()), Mutex::new(Vec::new()), Mutex::new(BTreeSet::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from).min(4) {
            scope.spawn(|| {
                while let Some(path) = { queue.lock().unwrap().next() } {
                    let name = path.file_name().unwrap().to_string_lossy().into_owned();
                    let document = fs::read(path).unwrap();
                    let (ours, said) = carried_out(&layers, &document, OURS);
                    let (theirs, they_said) = carried_out(&layers, &document, THEIRS);
                    let mut bad = Vec::new();
                    for difference in tree::differences(&ours, &theirs) {
                        let place = difference.split(": ").next().unwrap();
                        match allowed.iter().position(|allowed| allowed.document == name && allowed.path == place) {
                            Some(index) => drop(met.lock().unwrap().insert(index)),
                            None => bad.push(difference),
                        }
                    }
                    if theirs.is_empty() {
                        bad.push("cloud-init changed nothing".to_owned());
                    }
                    println!("{name}: {} changed, {} differ", theirs.len(), bad.len());
                    if !bad.is_empty() {
                        let text =
                            format!("== {name}\n{}\nours said:\n{said}\ncloud-init said:\n{they_said}", bad.join("\n"));
                        failures.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f32();
    println!("{} documents in {seconds:.1} s", documents.len());
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    let met = met.into_inner().unwrap();
    let gone = allowed.iter().enumerate().filter(|(index, _)| !met.contains(index));
    let gone: Vec<String> = gone.map(|(_, allowed)| format!("{} | {}", allowed.document, allowed.path)).collect();
    if std::env::var("BESSEMER_DOCUMENT").is_err() {
        assert!(gone.is_empty(), "these differences are gone: {gone:?}");
        assert!(documents.len() >= 30, "{} documents", documents.len());
    }
}
