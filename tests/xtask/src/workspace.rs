//! The checkout: where it is, where cargo builds, and that the arrows between its rooms point one way.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Tells the tests where their data is.
pub(crate) const TEST_DATA_VARIABLE: &str = "BESSEMER_TEST_DATA";

/// The checkout this program was built from.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Where cargo builds.
    pub(crate) target: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().with_context(|| {
            format!("the checkout that xtask was built from is gone: {}", env!("CARGO_MANIFEST_DIR"))
        })?;
        let mut workspace = Self { root, target: PathBuf::new() };
        let target = workspace.metadata()?.get("target_directory").and_then(Value::as_str).map(PathBuf::from);
        workspace.target = target.context("cargo metadata names no target directory")?;
        Ok(workspace)
    }

    /// A cargo command in the checkout.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.root).args(arguments);
        // of this program's own run; build scripts would take them for theirs
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" {
                cargo.env_remove(name);
            }
        }
        cargo
    }

    /// The name of each package by the path of its manifest.
    pub(crate) fn packages(&self) -> Result<BTreeMap<PathBuf, String>> {
        let metadata = self.metadata()?;
        let packages =
            metadata.get("packages").and_then(Value::as_array).context("cargo metadata names no packages")?;
        let text = |package: &Value, key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
        let named = packages
            .iter()
            .filter_map(|package| Some((PathBuf::from(text(package, "manifest_path")?), text(package, "name")?)));
        Ok(named.collect())
    }

    /// Data of others for the tests, which is no part of the project; none if it is not to be had or the tests are told
    /// already where it is.
    pub(crate) fn test_data(&self) -> Option<PathBuf> {
        let beside = self.root.parent()?.join("shared/data");
        (std::env::var_os(TEST_DATA_VARIABLE).is_none() && beside.is_dir()).then_some(beside)
    }

    fn metadata(&self) -> Result<Value> {
        let output = self.cargo(&["metadata", "--no-deps", "--format-version", "1", "--offline"]).output();
        let output = output.context("cannot run cargo: install Rust 1.95 or newer and have it in PATH")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    /// Who may use whom (`docs/architecture.md`). Development dependencies may go anywhere.
    const ARROWS: &[(&str, &[&str])] = &[
        (
            "bessemer",
            &[
                "bessemer-agents",
                "bessemer-api",
                "bessemer-apiserver",
                "bessemer-bmc",
                "bessemer-images",
                "bessemer-protocol",
                "bessemer-pxe",
                "bessemer-reconcilers",
            ],
        ),
        ("bessemer-reconcilers", &["bessemer-api", "bessemer-bmc", "bessemer-protocol"]),
        // the traits of its `outside`
        ("bessemer-agents", &["bessemer-reconcilers", "bessemer-protocol"]),
        ("bessemer-bmc", &["ipmi-client", "redfish-client"]),
        // the image formats
        ("bessemer-agent", &["bessemer-cloud-config", "bessemer-protocol", "bessemer-image-formats"]),
        ("bessemer-api", &["bessemer-api-macros"]),
        ("bessemer-api-macros", &[]),
        ("bessemer-apiserver", &[]),
        ("bessemer-pxe", &[]),
        ("ipmi-client", &[]),
        ("redfish-client", &[]),
        ("bessemer-protocol", &[]),
        ("bessemer-images", &["bessemer-image-formats"]),
        ("bessemer-image-formats", &[]),
        ("bessemer-cloud-config", &["bessemer-image-formats"]),
        ("bessemer-conformance", &["bessemer-apiserver"]),
        ("bessemer-rack", &[]),
        ("bessemer-bmc-peers", &["bessemer-rack"]),
        ("bessemer-fake-bmc", &[]),
        ("bessemer-kube-peer", &[]),
        ("bessemer-bench", &[]),
        ("bench-api", &["bessemer-apiserver", "bessemer-bench", "bessemer-kube-peer"]),
        ("bench-image", &["bessemer-bench"]),
        ("bench-bmc", &["bessemer-bench", "bessemer-bmc", "bessemer-fake-bmc"]),
        ("bench-boot", &["bessemer-bench", "bessemer-pxe"]),
        ("bessemer-kubectl-script", &[]),
        ("xtask", &["bessemer-rack", "bessemer-kube-peer", "bessemer-bench", "bessemer-images"]),
    ];

    /// The costliest crate to compile stays out of these.
    const WITHOUT_KUBERNETES: &[&str] = &[
        "bessemer-agent",
        "ipmi-client",
        "redfish-client",
        "bessemer-pxe",
        "bessemer-images",
        "bessemer-rack",
        "bessemer-fake-bmc",
        "bessemer-kube-peer",
        "xtask",
    ];

    /// Rustdoc takes seconds for each crate, also for one without examples: those say so with `doctest = false`.
    #[test]
    fn examples_in_the_documentation_are_run_where_there_are_any() {
        let metadata = Workspace::find().unwrap().metadata().unwrap();
        for package in metadata["packages"].as_array().unwrap() {
            let libraries = package["targets"].as_array().unwrap().iter().filter(|target| {
                target["kind"].as_array().unwrap().iter().any(|kind| kind == "lib" || kind == "proc-macro")
            });
            for library in libraries {
                let sources = PathBuf::from(library["src_path"].as_str().unwrap());
                let examples = has_examples(sources.parent().unwrap());
                assert_eq!(library["doctest"], examples, "doctest in Cargo.toml of {}", package["name"]);
            }
        }
    }

    fn has_examples(folder: &Path) -> bool {
        std::fs::read_dir(folder).unwrap().flatten().any(|entry| {
            let path = entry.path();
            if path.is_dir() {
                return has_examples(&path);
            }
            let is_fence = |line: &str| {
                let line = line.trim_start();
                ["///", "//!"]
                    .iter()
                    .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.trim().starts_with("```")))
            };
            path.extension().is_some_and(|end| end == "rs")
                && std::fs::read_to_string(&path).unwrap().lines().any(is_fence)
        })
    }

    fn dependencies(package: &Value) -> BTreeSet<&str> {
        let all = package["dependencies"].as_array().unwrap().iter();
        all.filter(|dependency| dependency["kind"] != "dev")
            .map(|dependency| dependency["name"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn arrows_between_rooms_go_one_way() {
        let metadata = Workspace::find().unwrap().metadata().unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let rooms: BTreeMap<&str, &Value> =
            packages.iter().map(|package| (package["name"].as_str().unwrap(), package)).collect();
        let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
        assert_eq!(rooms.keys().collect::<Vec<_>>(), allowed.keys().collect::<Vec<_>>(), "every room has its arrows");
        for (name, package) in &rooms {
            let used: Vec<&str> = dependencies(package).into_iter().filter(|used| rooms.contains_key(used)).collect();
            for used in used {
                assert!(allowed[name].contains(&used), "{name} must not use {used}: docs/architecture.md");
            }
        }
        for name in WITHOUT_KUBERNETES {
            let used = dependencies(rooms[name]);
            assert!(!used.contains("k8s-openapi") && !used.contains("kube"), "{name} must not know Kubernetes types");
        }
    }
}
