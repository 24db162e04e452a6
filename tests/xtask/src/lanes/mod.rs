//! The tests, in lanes: each with a hard deadline, together within a budget, and a count at the end of each and of
//! the whole. A test that was skipped for a reason nobody has allowed counts as failed.

mod lint;
mod rack;
mod skips;
mod tally;
mod unit;

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use rustix::process::Signal;

use crate::say::say;
use crate::workspace::Workspace;
use crate::{artefacts, deadline, demo, prerequisites};
use skips::Allowed;
use tally::Tally;

/// A group of tests, in order of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lane {
    /// Format, clippy, dependencies' licences
    Lint,
    /// Every crate's own tests
    Unit,
    /// A virtual server from power-off to a Ready node, and three ways in which that fails
    Rack,
}

const ALL: [Lane; 3] = [Lane::Unit, Lane::Rack, Lane::Lint];

/// What a lane's own deadline leaves it when the machine is slow; beyond it, it is ended.
const WATCHDOG_GRACE: Duration = Duration::from_secs(60);

impl Lane {
    fn name(self) -> &'static str {
        match self {
            Self::Lint => "lint",
            Self::Unit => "unit",
            Self::Rack => "rack",
        }
    }

    /// The longest it may take.
    fn limit(self) -> Duration {
        let minutes = match self {
            Self::Lint => 15,
            Self::Unit => 25,
            Self::Rack => 65,
        };
        Duration::from_secs(60 * minutes)
    }

    /// What it takes on two cores, with what is built by now.
    fn estimate(self, workspace: &Workspace) -> Duration {
        match self {
            Self::Lint => Duration::from_secs(4 * 60),
            Self::Unit => Duration::from_secs(5 * 60),
            Self::Rack => artefacts::estimate(workspace).0 + demo::PATH_ESTIMATE + rack::FAILURES_ESTIMATE,
        }
    }

    fn run(self, workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
        match self {
            Self::Lint => lint::run(workspace, until, tally),
            Self::Unit => unit::run(workspace, until, tally),
            Self::Rack => rack::run(workspace, until, tally),
        }
    }
}

/// Runs `lanes`, or all when none is named; true if nothing failed.
pub(crate) fn run(workspace: &Workspace, lanes: &[Lane], budget: Option<Duration>) -> Result<bool> {
    let lanes = if lanes.is_empty() { &ALL } else { lanes };
    let end = budget.map(deadline::after);
    // first of all: nothing is worse than a line with a remedy after half an hour
    if lanes.contains(&Lane::Rack) {
        prerequisites::for_rack(workspace)?;
    } else if lanes.contains(&Lane::Unit) {
        prerequisites::for_unit_tests()?;
    }
    let allowed = Allowed::read(&workspace.root.join("tests/allowed-skips.txt"))?;
    let mut whole = Tally::default();
    for lane in lanes {
        let mut tally = Tally::default();
        let estimate = lane.estimate(workspace);
        if end.is_some_and(|end| deadline::left(end) < estimate) {
            tally.skip(lane.name(), "no time left in the budget");
        } else {
            say(format!("lane {}: about {}", lane.name(), deadline::show(estimate)));
            one(*lane, workspace, end, &mut tally);
        }
        tally.settle(lane.name(), &allowed);
        say(format!("lane {}: {}", lane.name(), tally.counts()));
        whole.add(tally);
    }
    for failure in &whole.failures {
        println!("FAILED {failure}");
    }
    println!("{}", whole.counts());
    Ok(whole.failures.is_empty())
}

fn one(lane: Lane, workspace: &Workspace, end: Option<Instant>, tally: &mut Tally) {
    let limit = deadline::after(lane.limit());
    let until = end.map_or(limit, |end| end.min(limit));
    // what a lane calls in this process cannot be interrupted, only ended with it
    let (done, waiting) = channel::<()>();
    std::thread::spawn(move || {
        if waiting.recv_timeout(deadline::left(until) + WATCHDOG_GRACE) == Err(RecvTimeoutError::Timeout) {
            println!("FAILED lane {}: over its deadline", lane.name());
            let own = bessemer_rack::Process::current();
            own.into_iter().flat_map(|own| own.descendants()).for_each(|process| process.signal(Signal::TERM));
            std::process::exit(1);
        }
    });
    if let Err(error) = lane.run(workspace, until, tally) {
        say(format!("lane {}: {error:#}", lane.name()));
        tally.fail(&format!("lane {}", lane.name()));
    }
    drop(done);
}
