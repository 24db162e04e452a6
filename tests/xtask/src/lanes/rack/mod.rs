//! The whole way with real firmware, a real BMC's protocol and a real kubeadm, and the ways in which it fails.

mod discovery;
mod failures;
mod small_image;

use std::time::{Duration, Instant};

use anyhow::Result;

use super::tally::Tally;
use crate::artefacts::With;
use crate::say::{elapsed, say};
use crate::workspace::Workspace;
use crate::{artefacts, deadline, demo};

/// Two network boots and a little writing.
pub(super) const FAILURES_ESTIMATE: Duration = Duration::from_secs(4 * 60);

pub(super) fn run(workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
    let artefacts = artefacts::build(workspace, With::Tests, until)?;
    let mut count = |name: &str, result: Result<()>| match result {
        Ok(()) => {
            say(format!("ok: {name}"));
            tally.pass(1);
        }
        Err(error) => {
            say(format!("FAILED: {name}: {error:#}"));
            tally.fail(name);
        }
    };
    // the cheaper ones first: they tell sooner what is broken
    failures::run(workspace, &artefacts, &mut count)?;
    let mut phases = demo::Phases::default();
    phases.reach("built and failure tests done", elapsed());
    let start = Instant::now();
    let walked = demo::first_light(workspace, &artefacts, phases, false);
    say(format!("first light took {}", deadline::show(start.elapsed())));
    count("first_light", walked);
    Ok(())
}
