//! Builds the OS image: `os_image KUBERNETES_FOLDER VERSION AGENT`.
use bessemer_images::{cache::Cache, os};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what: &str| arguments.next().ok_or_else(|| format!("missing argument: {what}"));
    let spec = os::OsImageSpec {
        kubernetes: next("folder of the Kubernetes programs")?.into(),
        kubernetes_version: next("their version")?,
        agent: next("the agent")?.into(),
        cache: Cache::from_env()?,
    };
    let image = os::build(&spec, &mut |line| println!("{line}"))?;
    println!("{image:#?}");
    Ok(())
}
