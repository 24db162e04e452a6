//! The real Kubernetes that the tests run: built from its Go modules, pinned by the `go.mod` and
//! `go.sum` files in `tests/kubernetes`, and kept in the build cache. This room knows how each
//! program is compiled; what is done with the programs is for others.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use bessemer_images::cache::{Cache, Fingerprint};
use clap::ValueEnum;

use crate::{deadline, run};

/// Names a folder that holds every program already, to be used instead of building them.
pub(crate) const BINARIES_VARIABLE: &str = "BESSEMER_KUBE_BIN";

/// The same for the minor before.
pub(crate) const PREVIOUS_VARIABLE: &str = "BESSEMER_KUBE_BIN_PREVIOUS";

/// The slowest of the modules takes six minutes on two cores.
pub(crate) const BUILDS: Duration = Duration::from_secs(40 * 60);

/// Which Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Minor {
    /// What everything runs on
    #[value(name = "1.36")]
    Current,
    /// What upgrades begin with
    #[value(name = "1.35")]
    Previous,
}

impl Minor {
    /// The folder that pins a component of this minor; those that follow no Kubernetes are the same for both.
    fn folder(self, component: &str) -> &str {
        match (self, component) {
            (Self::Previous, "kubernetes") => "kubernetes-1.35",
            // the one that this kubeadm deploys
            (Self::Previous, "coredns") => "coredns-1.13",
            _ => component,
        }
    }

    fn variable(self) -> &'static str {
        match self {
            Self::Current => BINARIES_VARIABLE,
            Self::Previous => PREVIOUS_VARIABLE,
        }
    }

    /// The cache's shelf: each minor ages by itself.
    fn shelf(self) -> &'static str {
        match self {
            Self::Current => "kubernetes",
            Self::Previous => "kubernetes-previous",
        }
    }
}

/// A folder that holds the programs of one Kubernetes version, static and for this machine.
#[derive(Debug, Clone)]
pub(crate) struct KubeBinaries {
    /// The folder.
    pub(crate) dir: PathBuf,
    /// The version, as in `v1.36.3`.
    pub(crate) version: String,
}

/// Programs that are compiled together because one Go module pins them.
struct Component {
    /// The folder in `tests/kubernetes`.
    folder: &'static str,
    /// What it builds.
    programs: &'static [&'static str],
    /// What `go build` is asked for: the module's `tool` lines or its own program.
    target: &'static str,
    tags: &'static str,
    /// The module whose version is stamped into these variables of the programs.
    stamped: &'static str,
    stamps: &'static [&'static str],
}

/// `kubernetes` is first: the modules after it take much of theirs from what it has compiled.
const COMPONENTS: [Component; 6] = [
    Component {
        folder: "kubernetes",
        programs: &[
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kube-proxy",
            "kubelet",
            "kubeadm",
            "kubectl",
            "etcd",
        ],
        target: "tool",
        tags: "",
        stamped: "k8s.io/kubernetes",
        stamps: &["k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"],
    },
    Component {
        folder: "coredns",
        programs: &["coredns"],
        target: ".",
        tags: "",
        stamped: "github.com/coredns/coredns",
        stamps: &[],
    },
    Component {
        folder: "containerd",
        programs: &["containerd", "containerd-shim-runc-v2", "ctr"],
        target: "tool",
        tags: "no_btrfs,no_devmapper,no_zfs,no_tracing",
        stamped: "github.com/containerd/containerd/v2",
        stamps: &["github.com/containerd/containerd/v2/version.Version"],
    },
    Component {
        folder: "cni",
        programs: &["bridge", "host-local", "loopback", "portmap"],
        target: "tool",
        tags: "",
        stamped: "github.com/containernetworking/plugins",
        stamps: &["github.com/containernetworking/plugins/pkg/utils/buildversion.BuildVersion"],
    },
    Component {
        folder: "crictl",
        programs: &["crictl"],
        target: "tool",
        tags: "",
        stamped: "sigs.k8s.io/cri-tools",
        stamps: &["sigs.k8s.io/cri-tools/pkg/version.Version"],
    },
    Component { folder: "pause", programs: &["pause"], target: ".", tags: "", stamped: "", stamps: &[] },
];

/// Go names the program of `go.etcd.io/etcd/server/v3` after the module's folder.
const RENAMED: [(&str, &str); 1] = [("server", "etcd")];

/// No debugging data, neither made nor linked. The dates and trees of upstream's stamps are left
/// out: the same sources give the same bytes.
const FLAGS: [&str; 5] = ["build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-gcflags=all=-dwarf=false"];

/// Of builds of different recipes, so many are kept.
const KEPT: usize = 2;

/// The programs pinned in `tests/kubernetes` of the checkout `repo`: those in the folder
/// `BESSEMER_KUBE_BIN` (or, of the minor before, `BESSEMER_KUBE_BIN_PREVIOUS`) names, else the cached ones, else built
/// now (minutes; one line per part is printed). Errors if the named folder lacks a program or holds another version,
/// if there is no Go toolchain or no space, or if a build fails or takes too long.
pub(crate) fn ensure(repo: &Path, minor: Minor, until: Instant) -> Result<KubeBinaries> {
    let sources = repo.join("tests/kubernetes");
    let version = pinned(&sources, minor.folder("kubernetes"), "k8s.io/kubernetes")?;
    let variable = minor.variable();
    if let Some(dir) = env::var_os(variable).filter(|dir| !dir.is_empty()).map(PathBuf::from) {
        check(&dir, &version).with_context(|| {
            format!("cannot use {variable}={} (unset it to have the programs built)", dir.display())
        })?;
        return Ok(KubeBinaries { dir, version });
    }
    let go = go_version()?;
    let key = format!("{version}-{}", fingerprint(&sources, minor, &go)?);
    let until = until.min(deadline::after(BUILDS));
    let build = |partial: &Path| build(&sources, minor, &go, until, partial);
    let entry = Cache::from_env()?.entry(minor.shelf(), &key, KEPT, build)?;
    Ok(KubeBinaries { dir: entry.join("bin"), version })
}

fn build(sources: &Path, minor: Minor, go: &str, until: Instant, partial: &Path) -> Result<()> {
    let bin = partial.join("bin");
    fs::create_dir(&bin)?;
    println!("kubernetes: compiling {} programs with {go}, once; minutes", programs().count());
    let whole = Instant::now();
    for component in &COMPONENTS {
        let start = Instant::now();
        let folder = minor.folder(component.folder);
        let mut command = Command::new("go");
        command.current_dir(sources.join(folder)).env("CGO_ENABLED", "0").env("GOFLAGS", "");
        command.args(FLAGS).arg(format!("-tags={}", component.tags));
        command.arg("-ldflags").arg(link_flags(sources, folder, component)?);
        command.arg("-o").arg(format!("{}/", bin.display())).arg(component.target);
        let finished = run::run(command, until, |_| {}).with_context(|| format!("tests/kubernetes/{folder}"))?;
        if !finished.success {
            let lines: Vec<_> = finished.output.lines().filter(|line| !line.starts_with("go: downloading")).collect();
            let tail = lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n");
            bail!("go build in tests/kubernetes/{folder} failed:\n{tail}");
        }
        for (from, to) in RENAMED.iter().filter(|(from, _)| bin.join(from).exists()) {
            fs::rename(bin.join(from), bin.join(to))?;
        }
        let seconds = start.elapsed().as_secs();
        println!("kubernetes: {folder} ({}) in {seconds} s", component.programs.join(", "));
    }
    println!("kubernetes: compiled in {} s", whole.elapsed().as_secs());
    check(&bin, &pinned(sources, minor.folder("kubernetes"), "k8s.io/kubernetes")?)
}

/// The linker's: no symbols, and the version variables as upstream's own build sets them.
fn link_flags(sources: &Path, folder: &str, component: &Component) -> Result<String> {
    let mut flags = String::from("-s -w");
    if component.stamps.is_empty() {
        return Ok(flags);
    }
    let version = pinned(sources, folder, component.stamped)?;
    for stamp in component.stamps {
        flags += &format!(" -X {stamp}={version}");
        if let Some(package) = stamp.strip_suffix(".gitVersion") {
            let mut numbers = version.trim_start_matches('v').split('.');
            let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
            flags += &format!(" -X {package}.gitMajor={major} -X {package}.gitMinor={minor}");
            flags += &format!(" -X {package}.gitTreeState=clean");
        }
    }
    Ok(flags)
}

fn programs() -> impl Iterator<Item = &'static str> {
    COMPONENTS.iter().flat_map(|component| component.programs.iter().copied())
}

/// Everything the programs are made from.
fn fingerprint(sources: &Path, minor: Minor, go: &str) -> Result<String> {
    let mut fingerprint = Fingerprint::default();
    fingerprint.add("go", go).add("arch", env::consts::ARCH).add("flags", FLAGS.join(" "));
    for component in &COMPONENTS {
        let recipe = [component.target, component.tags, &component.programs.join(","), &component.stamps.join(",")];
        fingerprint.add(component.folder, recipe.join(" "));
        for name in ["go.mod", "go.sum", "main.go"] {
            let path = sources.join(minor.folder(component.folder)).join(name);
            if path.exists() {
                fingerprint.add_file(name, &path)?;
            }
        }
    }
    Ok(fingerprint.finish())
}

/// The version of `module` that the `go.mod` in `folder` requires.
fn pinned(sources: &Path, folder: &str, module: &str) -> Result<String> {
    let path = sources.join(folder).join("go.mod");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    version_in(&text, module).with_context(|| format!("{} requires no {module}", path.display()))
}

fn version_in(go_mod: &str, module: &str) -> Option<String> {
    go_mod.lines().find_map(|line| {
        let mut words = line.trim().trim_start_matches("require ").split_whitespace();
        (words.next() == Some(module))
            .then(|| words.next())
            .flatten()
            .filter(|word| word.starts_with('v'))
            .map(str::to_owned)
    })
}

fn go_version() -> Result<String> {
    let output = Command::new("go")
        .args(["env", "GOVERSION"])
        .output()
        .with_context(|| format!("cannot run go: install Go 1.26.8 or newer, or set {BINARIES_VARIABLE}"))?;
    ensure!(output.status.success(), "go env GOVERSION failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Every program is there and can be run, and `kubeadm` is of the wanted version.
fn check(dir: &Path, version: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let executable = |name: &&str| {
        fs::metadata(dir.join(name)).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let missing: Vec<_> = programs().filter(|name| !executable(name)).collect();
    ensure!(missing.is_empty(), "missing or not executable: {}", missing.join(", "));
    let kubeadm = dir.join("kubeadm");
    let output = Command::new(&kubeadm)
        .args(["version", "-o", "short"])
        .output()
        .with_context(|| format!("cannot run {}", kubeadm.display()))?;
    let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    ensure!(output.status.success() && found == version, "{} is {found:?}, not {version}", kubeadm.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_both_forms_of_require() {
        let cases = [
            ("require k8s.io/kubernetes v1.36.3\n", "k8s.io/kubernetes", Some("v1.36.3")),
            ("require (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n", "k8s.io/kubernetes", Some("v1.36.3")),
            ("tool (\n\ta/b\n)\nrequire a/b v2.0.0\n", "a/b", Some("v2.0.0")),
            ("require k8s.io/kubernetes-other v1.0.0\n", "k8s.io/kubernetes", None),
            ("replace (\n\ta/b => a/b v1.0.0\n)\n", "a/b", None),
        ];
        for (text, module, expected) in cases {
            assert_eq!(version_in(text, module).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_folder_without_the_programs_is_refused_by_name() {
        let error = check(Path::new("/nonexistent"), "v1.36.3").unwrap_err().to_string();
        assert!(error.contains("missing or not executable: kube-apiserver, "), "{error}");
    }
}
