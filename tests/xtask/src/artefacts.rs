//! Everything the rack runs that is built first: the controller, the agent, the ramdisk, Kubernetes, the OS image.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bessemer_images::cache::Cache;
use bessemer_images::os::{OsImage, OsImageSpec};
use bessemer_images::ramdisk::{RamdiskSpec, Variant};
use bessemer_images::{os, ramdisk};

use crate::deadline;
use crate::kubernetes::{self, KubeBinaries, Minor};
use crate::run;
use crate::say::say;
use crate::workspace::Workspace;

/// The agent is static and small; the host's own target, so that no other toolchain is needed.
const AGENT_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Tells tests where the agent is that [`agent`] built.
pub(crate) const AGENT_VARIABLE: &str = "BESSEMER_AGENT";

/// What was built.
#[derive(Debug)]
pub(crate) struct Artefacts {
    pub(crate) bessemer: PathBuf,
    /// Folder with `vmlinuz` and `initrd`.
    pub(crate) ramdisk: PathBuf,
    pub(crate) kubernetes: KubeBinaries,
    pub(crate) image: OsImage,
}

/// What the controller is compiled with. The features of its dependencies differ, and a build of one kind has nothing in
/// common with one of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum With {
    /// The tests of the whole workspace, as the lanes compile them.
    Tests,
    /// Nothing: the shortest way to the program.
    Nothing,
}

/// Builds what is not built yet, quick things first: what is wrong with our own code is known before the long wait.
pub(crate) fn build(workspace: &Workspace, with: With, until: Instant) -> Result<Artefacts> {
    let bessemer = controller(workspace, with, until)?;
    let agent = agent(workspace, until)?;
    let cache = Cache::from_env()?;

    let start = Instant::now();
    let folder = workspace.target.join("ramdisk");
    let spec = RamdiskSpec {
        // emulated hosts have nothing else, and every second of theirs is ten
        variant: Variant::Cloud,
        agent: agent.clone(),
        firmware: None,
        out_dir: folder.clone(),
        cache: cache.clone(),
    };
    let built = ramdisk::build(&spec)?;
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    say(format!(
        "ramdisk: {} ({} MiB) and {} MiB of agent in {}",
        built.kernel,
        mib(built.vmlinuz_size),
        mib(built.initrd_size),
        deadline::show(start.elapsed())
    ));

    let start = Instant::now();
    let kubernetes = kubernetes::ensure(&workspace.root, Minor::Current, until)?;
    say(format!("kubernetes: {} in {}", kubernetes.version, deadline::show(start.elapsed())));

    let start = Instant::now();
    let programs = (kubernetes.dir.clone(), kubernetes.version.clone());
    let spec = OsImageSpec::kubernetes(programs.0, programs.1, agent, Variant::Cloud, cache);
    let image = os::build(&spec, &mut |line| say(line))?;
    say(format!(
        "os image: {} MiB, {} MiB on the disk, in {}",
        mib(image.size),
        mib(image.raw_size),
        deadline::show(start.elapsed())
    ));
    Ok(Artefacts { bessemer, ramdisk: folder, kubernetes, image })
}

fn controller(workspace: &Workspace, with: With, until: Instant) -> Result<PathBuf> {
    let arguments: &[&str] = match with {
        With::Tests => &["build", "--workspace", "--lib", "--bins", "--tests"],
        With::Nothing => &["build", "--package", "bessemer"],
    };
    cargo(workspace.cargo(arguments), "controller", until)?;
    Ok(workspace.target.join("debug/bessemer"))
}

/// The agent as it is shipped: static, small.
pub(crate) fn agent(workspace: &Workspace, until: Instant) -> Result<PathBuf> {
    let mut build =
        workspace.cargo(&["build", "--profile", "agent", "--target", AGENT_TARGET, "--package", "bessemer-agent"]);
    build.env("RUSTFLAGS", "-Ctarget-feature=+crt-static");
    cargo(build, "agent", until)?;
    Ok(workspace.target.join(AGENT_TARGET).join("agent/bessemer-agent"))
}

fn cargo(command: Command, what: &str, until: Instant) -> Result<()> {
    let start = Instant::now();
    let mut crates = 0;
    run::must(command, until, |line| {
        if line.trim_start().starts_with("Compiling ") {
            crates += 1;
        }
    })
    .with_context(|| format!("{what} does not build"))?;
    say(format!("{what}: {crates} crates compiled in {}", deadline::show(start.elapsed())));
    Ok(())
}

/// What a build takes on two cores, for the estimate.
pub(crate) fn estimate(workspace: &Workspace) -> (Duration, &'static str) {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let compiled = agent_is_compiled(workspace);
    let cached = |kind: &str| Cache::from_env().is_ok_and(|cache| cache.root().join(kind).is_dir());
    let kubernetes = kubernetes_estimate();
    let mut sum = agent_estimate(workspace) + kubernetes;
    sum += if cached("os-disk") { minutes(1) } else { minutes(2) };
    let why = if compiled && kubernetes.is_zero() { "mostly built already" } else { "nothing is built yet" };
    (sum, why)
}

/// What compiling the agent takes.
pub(crate) fn agent_estimate(workspace: &Workspace) -> Duration {
    Duration::from_secs(60 * if agent_is_compiled(workspace) { 1 } else { 10 })
}

fn agent_is_compiled(workspace: &Workspace) -> bool {
    workspace.target.join(AGENT_TARGET).join("agent/bessemer-agent").exists()
}

/// What Kubernetes still takes.
pub(crate) fn kubernetes_estimate() -> Duration {
    let given = std::env::var_os(kubernetes::BINARIES_VARIABLE).is_some();
    let built = given || Cache::from_env().is_ok_and(|cache| cache.root().join("kubernetes").is_dir());
    if built { Duration::ZERO } else { Duration::from_secs(9 * 60) }
}
