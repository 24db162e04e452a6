//! The tests, in lanes: each with a hard deadline, together within a budget, and a count at the end of each and of
//! the whole. A test that was skipped for a reason nobody has allowed counts as failed. Everything is compiled once,
//! before the first lane that needs it; then two lanes run at a time, because each waits for machines and peers half of
//! its time.

mod lint;
mod plan;
mod programs;
mod rack;
mod reader;
mod skips;
mod tally;

use std::collections::VecDeque;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::ValueEnum;
use rustix::process::Signal;

use crate::kubernetes::Minor;
use crate::say::say;
use crate::workspace::{TEST_DATA_VARIABLE, Workspace};
use crate::{artefacts, deadline, demo, kubernetes, prerequisites, python};
use programs::{Built, How};
use skips::Allowed;
use tally::Tally;

/// A group of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lane {
    /// Format, clippy, dependencies' licences
    Lint,
    /// The tests in every crate's sources, and the examples in its documentation
    Unit,
    /// The embedded Kubernetes API and the kinds, beside a real kube-apiserver
    Api,
    /// Management controllers: our clients beside other people's BMCs, our BMC beside other people's clients
    Bmc,
    /// The boot server, with captures and real firmware
    Boot,
    /// The agent, its protocol, and the images
    Agent,
    /// Whole lives of emulated machines with our agent: ramdisk, disk, the system booted from it
    Machines,
    /// Reconcilers of hosts
    Hosts,
    /// Reconcilers of clusters
    Capi,
    /// A virtual server from power-off to a Ready node, and three ways in which that fails
    Rack,
}

/// In order of value, and of two that are worth the same the longer one first: it is not to be what all wait for at the
/// end.
const ALL: [Lane; 10] = [
    Lane::Unit,
    Lane::Api,
    Lane::Rack,
    Lane::Machines,
    Lane::Hosts,
    Lane::Capi,
    Lane::Agent,
    Lane::Bmc,
    Lane::Boot,
    Lane::Lint,
];

/// How many lanes run at a time where there are as many processors.
const TRACKS: usize = 2;

/// What a lane's own deadline leaves it when the machine is slow; beyond it, it is ended.
const WATCHDOG_GRACE: Duration = Duration::from_secs(60);

/// Compiling everything once, and what it takes on two cores.
const BUILD_LIMIT: Duration = Duration::from_secs(30 * 60);
const BUILD_ESTIMATE: Duration = Duration::from_secs(6 * 60);

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// All when none is named.
    pub(crate) lanes: Vec<Lane>,
    pub(crate) budget: Option<Duration>,
    /// The full forms of tests that have a short one, and those that are left out otherwise.
    pub(crate) long: bool,
}

impl Lane {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The longest it may take.
    fn limit(self, long: bool) -> Duration {
        let minutes = match self {
            Self::Unit | Self::Lint => 15,
            // twenty, and Kubernetes from nothing
            Self::Api | Self::Agent => 40,
            // ten, and the agent from nothing
            Self::Bmc => 20,
            // fifteen, the agent, and systems from nothing
            Self::Machines => 40,
            Self::Boot | Self::Hosts | Self::Capi => 10,
            Self::Rack => 65,
        };
        Duration::from_secs(60 * if long { 4 * minutes } else { minutes })
    }

    /// What it takes on two cores, with what is built by now.
    fn estimate(self, workspace: &Workspace) -> Duration {
        match self {
            Self::Lint => Duration::from_secs(4 * 60),
            Self::Api => Duration::from_secs(4 * 60) + artefacts::kubernetes_estimate(),
            Self::Unit => Duration::from_secs(2 * 60),
            Self::Agent => Duration::from_secs(3 * 60) + artefacts::kubernetes_estimate(),
            Self::Machines => Duration::from_secs(8 * 60) + artefacts::agent_estimate(workspace),
            Self::Bmc => Duration::from_secs(5 * 60),
            Self::Boot | Self::Hosts | Self::Capi => Duration::from_secs(60),
            Self::Rack => artefacts::estimate(workspace).0 + demo::PATH_ESTIMATE + rack::FAILURES_ESTIMATE,
        }
    }

    /// Runs what is compiled by cargo's own means, or needs nothing compiled.
    fn needs_tests(self) -> bool {
        self != Self::Lint
    }

    fn run(self, run: &Run<'_>, until: Instant, tally: &mut Tally) -> Result<()> {
        if self == Self::Lint {
            return lint::run(run.workspace, until, tally);
        }
        let parts = plan::parts(self, &run.built.programs);
        if parts.is_empty() && self != Self::Rack {
            tally.skip(&self.name(), "holds no tests yet");
            return Ok(());
        }
        say(format!("lane {} holds {}", self.name(), plan::contents(&parts)));
        let mut how = How { long: run.long, ..How::default() };
        how.environment.extend(run.workspace.test_data().map(|data| (TEST_DATA_VARIABLE, data)));
        if self == Self::Api || run.long {
            let programs = kubernetes::ensure(&run.workspace.root, Minor::Current, until)?.dir;
            how.environment.extend([
                ("BESSEMER_KUBECTL", programs.join("kubectl")),
                ("BESSEMER_TEST_KUBERNETES", programs.clone()),
                (kubernetes::BINARIES_VARIABLE, programs),
            ]);
        }
        if self == Self::Agent && !run.long {
            // for hosts in namespaces; those in machines take ten minutes more
            let programs = kubernetes::ensure(&run.workspace.root, Minor::Current, until)?.dir;
            how.environment.push((kubernetes::BINARIES_VARIABLE, programs));
        }
        if self == Self::Api && run.long {
            let previous = kubernetes::ensure(&run.workspace.root, Minor::Previous, until)?.dir;
            how.environment.push((kubernetes::PREVIOUS_VARIABLE, previous));
        }
        if matches!(self, Self::Agent | Self::Machines | Self::Bmc) {
            // what machines boot; built once
            how.environment.push((artefacts::AGENT_VARIABLE, artefacts::agent(run.workspace, until)?));
        }
        if self == Self::Bmc {
            // without them their tests are skipped and say so, and all the others still tell something
            match python::ensure(run.workspace, until) {
                Ok(peers) => how.environment.push((python::PEERS_VARIABLE, peers)),
                Err(error) => {
                    say(format!("Python peers of BMCs: {error:#}"));
                    tally.fail("Python peers of BMCs");
                }
            }
        }
        programs::run_parts(&parts, &how, until, tally)?;
        match self {
            Self::Unit => programs::run_doc_tests(run.workspace, until, tally),
            Self::Rack => rack::run(run.workspace, until, tally),
            _ => Ok(()),
        }
    }
}

/// What the lanes of one run share.
struct Run<'run> {
    workspace: &'run Workspace,
    built: Built,
    long: bool,
    /// When the budget is spent.
    end: Option<Instant>,
    allowed: Allowed,
    /// Those that have not begun.
    waiting: Mutex<VecDeque<Lane>>,
    whole: Mutex<Tally>,
}

/// Runs the lanes; true if nothing failed.
pub(crate) fn run(workspace: &Workspace, wanted: &Wanted) -> Result<bool> {
    let lanes = if wanted.lanes.is_empty() { &ALL[..] } else { &wanted.lanes };
    let end = wanted.budget.map(deadline::after);
    // first of all: nothing is worse than a line with a remedy after half an hour
    if lanes.contains(&Lane::Rack) {
        prerequisites::for_rack(workspace)?;
    } else if lanes.iter().any(|lane| lane.needs_tests()) {
        prerequisites::for_unit_tests()?;
    }
    if lanes.contains(&Lane::Bmc) {
        prerequisites::for_bmcs()?;
    }
    let mut run = Run {
        workspace,
        built: Built::default(),
        long: wanted.long,
        end,
        allowed: Allowed::read(&workspace.root.join("tests/allowed-skips.txt"))?,
        waiting: Mutex::new(lanes.iter().copied().collect()),
        whole: Mutex::default(),
    };
    if lanes.iter().any(|lane| lane.needs_tests()) {
        say(format!("compiling all tests: about {} from nothing", deadline::show(BUILD_ESTIMATE)));
        let limit = deadline::after(BUILD_LIMIT);
        run.built = programs::build(workspace, end.map_or(limit, |end| end.min(limit)))?;
    }
    let tracks = std::thread::available_parallelism().map_or(1, usize::from).min(TRACKS);
    std::thread::scope(|scope| {
        for _ in 0..tracks {
            scope.spawn(|| run.track());
        }
    });
    let mut whole = run.whole.into_inner().unwrap_or_else(PoisonError::into_inner);
    run.built.broken.iter().for_each(|target| whole.fail(target));
    for failure in &whole.failures {
        println!("FAILED {failure}");
    }
    for promise in &whole.unproven {
        println!("NOT PROVEN HERE {promise}");
    }
    println!("{}", whole.counts());
    Ok(whole.failures.is_empty())
}

impl Run<'_> {
    /// Runs one lane after the other until all have begun.
    fn track(&self) {
        loop {
            let lane = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(lane) = lane else { return };
            let mut tally = Tally::default();
            let estimate = lane.estimate(self.workspace);
            if self.end.is_some_and(|end| deadline::left(end) < estimate) {
                tally.skip(&lane.name(), "no time left in the budget");
            } else {
                say(format!("lane {}: about {}", lane.name(), deadline::show(estimate)));
                one(lane, self, &mut tally);
            }
            // held while it tells: what two lanes have to say is not to be mixed
            let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
            tally.settle(&lane.name(), &self.allowed);
            say(format!("lane {}: {}", lane.name(), tally.counts()));
            whole.add(tally);
        }
    }
}

fn one(lane: Lane, run: &Run<'_>, tally: &mut Tally) {
    let limit = deadline::after(lane.limit(run.long));
    let until = run.end.map_or(limit, |end| end.min(limit));
    // what a lane calls in this process cannot be interrupted, only ended with it
    let (done, waiting) = channel::<()>();
    std::thread::spawn(move || {
        if waiting.recv_timeout(deadline::left(until) + WATCHDOG_GRACE) == Err(RecvTimeoutError::Timeout) {
            println!("FAILED lane {}: over its deadline", lane.name());
            let own = bessemer_rack::Process::current();
            own.into_iter().flat_map(|own| own.descendants()).for_each(|process| process.signal(Signal::KILL));
            std::process::exit(1);
        }
    });
    if let Err(error) = lane.run(run, until, tally) {
        say(format!("lane {}: {error:#}", lane.name()));
        tally.fail(&format!("lane {}", lane.name()));
    }
    drop(done);
}
