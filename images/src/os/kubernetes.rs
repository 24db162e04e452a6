//! What makes a Debian root a Kubernetes host: the programs, their units and settings, and the
//! container images of the control plane, unpacked beforehand so that no host pulls anything.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use super::oci::{self, Entry, Image};
use super::{Kubernetes, base, libraries, text};
use crate::cache::Fingerprint;
use crate::file::FileError;
use crate::tool::Tool;

/// Changes when this code builds another root from the same inputs.
const RECIPE: &str = "2";

/// Programs of the host and where they go.
const PROGRAMS: [(&str, &str); 11] = [
    ("kubeadm", "usr/bin"),
    ("kubectl", "usr/bin"),
    ("kubelet", "usr/bin"),
    ("containerd", "usr/local/bin"),
    ("containerd-shim-runc-v2", "usr/local/bin"),
    ("ctr", "usr/local/bin"),
    ("crictl", "usr/local/bin"),
    ("bridge", "opt/cni/bin"),
    ("host-local", "opt/cni/bin"),
    ("loopback", "opt/cni/bin"),
    ("portmap", "opt/cni/bin"),
];

/// Programs in container images: as kubeadm names the image, and as the pods call the program.
const IMAGES: [(&str, &str); 7] = [
    ("kube-apiserver", "/usr/local/bin/kube-apiserver"),
    ("kube-controller-manager", "/usr/local/bin/kube-controller-manager"),
    ("kube-scheduler", "/usr/local/bin/kube-scheduler"),
    ("kube-proxy", "/usr/local/bin/kube-proxy"),
    ("etcd", "/usr/local/bin/etcd"),
    ("coredns", "/coredns"),
    ("pause", "/pause"),
];

/// Settings and units, `@PAUSE@` standing for the name of the pause image.
const FILES: [(&str, &str); 8] = [
    ("etc/containerd/config.toml", include_str!("files/containerd.toml")),
    ("etc/systemd/system/containerd.service", include_str!("files/containerd.service")),
    ("etc/systemd/system/kubelet.service", include_str!("files/kubelet.service")),
    ("etc/systemd/system/kubelet.service.d/10-kubeadm.conf", include_str!("files/10-kubeadm.conf")),
    ("etc/cni/net.d/10-bridge.conflist", include_str!("files/10-bridge.conflist")),
    ("etc/modules-load.d/kubernetes.conf", include_str!("files/modules.conf")),
    ("etc/sysctl.d/90-kubernetes.conf", include_str!("files/sysctl.conf")),
    ("etc/crictl.yaml", "runtime-endpoint: unix:///run/containerd/containerd.sock\n"),
];

const PRELOAD: &str = include_str!("files/preload.sh");

const ENABLED: [&str; 3] = ["containerd", "kubelet", "systemd-resolved"];

const LIMIT: Duration = Duration::from_secs(300);

/// Adds what this is made from: the programs, the settings.
pub(super) fn add_to(kubernetes: &Kubernetes, fingerprint: &mut Fingerprint) -> Result<(), OsImageError> {
    fingerprint.add("kubernetes", RECIPE).add("preload", PRELOAD);
    for (path, content) in FILES {
        fingerprint.add(path, content);
    }
    for (program, place) in PROGRAMS.iter().chain(&IMAGES) {
        fingerprint.add("place", place).add_file(program, &kubernetes.programs.join(program))?;
    }
    Ok(())
}

/// Makes the Debian in `root` a Kubernetes host.
pub(super) fn install(kubernetes: &Kubernetes, root: &Path) -> Result<(), OsImageError> {
    let images = named_images(kubernetes)?;
    let pause = images.iter().find(|(_, program)| *program == "pause").map(|(name, _)| name.as_str());
    let pause = pause.ok_or_else(|| OsImageError::UnknownImage("pause".into()))?;
    for (path, content) in FILES {
        base::write(&root.join(path), &content.replace("@PAUSE@", pause), 0o644)?;
    }
    for (program, folder) in PROGRAMS {
        copy(&kubernetes.programs.join(program), &root.join(folder).join(program))?;
    }
    base::systemctl(root, "enable", &ENABLED)?;
    preload(kubernetes, root, &images)
}

/// The container images that this kubeadm will ask for, each with the program it stands for.
fn named_images(kubernetes: &Kubernetes) -> Result<Vec<(String, &'static str)>, OsImageError> {
    let kubeadm = kubernetes.programs.join("kubeadm");
    let list = Tool::new(&text(&kubeadm), Duration::from_secs(60))
        .args(["config", "images", "list", "--kubernetes-version", &kubernetes.version])
        .run()?;
    list.lines().map(|name| Ok((name.to_owned(), program_of(name)?))).collect()
}

fn program_of(image: &str) -> Result<&'static str, OsImageError> {
    let unknown = || OsImageError::UnknownImage(image.to_owned());
    let last = image.rsplit('/').next().ok_or_else(unknown)?;
    let (name, _tag) = last.split_once(':').ok_or_else(unknown)?;
    IMAGES.iter().map(|(program, _)| *program).find(|program| *program == name).ok_or_else(unknown)
}

/// Unpacks the container images into `root` with its own containerd.
fn preload(kubernetes: &Kubernetes, root: &Path, names: &[(String, &str)]) -> Result<(), OsImageError> {
    let mut images = Vec::new();
    for (name, program) in names {
        let path = IMAGES.iter().find(|(known, _)| known == program).map(|(_, path)| *path).unwrap_or_default();
        let mut entries = Vec::new();
        if *program == "kube-proxy" {
            entries = libraries::iptables(root)?;
        }
        entries.push(Entry::file(path, &kubernetes.programs.join(program)));
        images.push(Image { name: name.clone(), entries, entrypoint: path.to_owned() });
    }
    // Not in /tmp or /run: those are mounts of their own while the images are unpacked.
    let archive = root.join("preload.tar");
    oci::write(&archive, &images)?;
    let listed = Tool::new("unshare", LIMIT)
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child"])
        .arg(format!("--mount-proc={}", text(&root.join("proc"))))
        .args(["sh", "-c", PRELOAD, "preload.sh"])
        .arg(root)
        .arg("/preload.tar")
        .run()?;
    fs::remove_file(&archive).map_err(FileError::io("remove", &archive))?;
    match names.iter().find(|(name, _)| !listed.lines().any(|line| line == name)) {
        Some((name, _)) => Err(OsImageError::Absent(format!("container image {name} after the import"))),
        None => Ok(()),
    }
}

fn copy(source: &Path, target: &Path) -> Result<(), FileError> {
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder).map_err(FileError::io("create", folder))?;
    }
    fs::copy(source, target).map_err(FileError::io("copy", source))?;
    fs::set_permissions(target, fs::Permissions::from_mode(0o755)).map_err(FileError::io("make executable", target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_image_kubeadm_names_stands_for_one_program() {
        for (image, program) in [
            ("registry.k8s.io/kube-proxy:v1.36.3", "kube-proxy"),
            ("registry.k8s.io/coredns/coredns:v1.14.2", "coredns"),
            ("registry.k8s.io/etcd:3.6.8-0", "etcd"),
        ] {
            assert_eq!(program_of(image).unwrap(), program);
        }
        assert!(matches!(program_of("registry.k8s.io/other:v1"), Err(OsImageError::UnknownImage(_))));
    }
}
