//! One command of the bootstrap, from the look at the host before kubeadm to the reason why it failed. All output goes to a file on the host,
//! the end of it and what it means into the report.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bessemer_protocol::{NodePhase, PhaseDuration};
use tracing::{info, warn};

use super::Reporter;
use super::journal::Journal;
use super::kubeadm::config::Config;
use super::kubeadm::{self, cause};
use super::preflight;
use super::run::{self, Place, Process};
use crate::mask::Masker;

/// Lines of output that are reported.
const TAIL: usize = 20;

/// Lines of output in which the cause is looked for.
const MEMORY: usize = 400;

/// Most durations that are reported: kubeadm has about twenty phases, and few bootstraps have as many commands.
const MOST_DURATIONS: usize = 128;

/// Longest log, in bytes; what is over is lost.
const LONGEST_LOG: u64 = 8 << 20;

/// The file of it, beside the journal.
const LOG: &str = "bootstrap.log";

/// How a part of the bootstrap failed.
#[derive(Debug)]
pub(super) struct Failed {
    /// Step, or kubeadm's command and phase.
    pub(super) step: String,
    /// One sentence.
    pub(super) cause: String,
    /// The last lines of output, masked.
    pub(super) tail: Vec<String>,
    /// Where all of it is.
    pub(super) log: Option<String>,
}

impl Failed {
    /// Without any output.
    pub(super) fn new(step: &str, cause: impl std::fmt::Display) -> Self {
        Self { step: step.to_owned(), cause: cause.to_string(), tail: Vec::new(), log: None }
    }
}

/// One command.
#[derive(Debug)]
pub(super) struct Order<'a> {
    /// Its name in the journal.
    pub(super) step: &'a str,
    /// The command's own words, for people and to see whether it is kubeadm.
    pub(super) words: &'a str,
    /// What the shell runs.
    pub(super) line: &'a str,
    /// What an earlier agent started for it.
    pub(super) process: Option<Process>,
}

/// Has the shell run a command, or goes on with it.
pub(super) async fn carry_out(
    order: Order<'_>,
    journal: &mut Journal,
    place: &Place,
    reporter: &Reporter,
) -> Result<(), Failed> {
    let Order { step, words, .. } = order;
    let first_line = Masker::default().mask(words.lines().next().unwrap_or_default());
    let again = if order.process.is_some() { " (the agent was restarted; its output from the beginning)" } else { "" };
    info!("{step}: {first_line}{again}");
    let mut log = Log::open(journal.folder());
    log.line(&format!("# {step}: {first_line}{again}"));
    let Some(kubeadm) = kubeadm::command(words) else {
        set(reporter, NodePhase::Applying { step: step.to_owned() });
        let began = Instant::now();
        let (result, lines) = listen(&order, journal, place, &mut log, |_| {}).await;
        took(reporter, step.to_owned(), began);
        return result.map_err(|how| Failed {
            step: step.to_owned(),
            cause: format!("{}: {how}", words.split_whitespace().next().unwrap_or("command")),
            tail: tail(lines.iter()),
            log: log.path(),
        });
    };
    let config = Config::of_command(words);
    if order.process.is_none() {
        look(kubeadm, &config, reporter, &mut log).await?;
    }
    let mut phases = Phases::new(kubeadm, reporter);
    let (result, lines) = listen(&order, journal, place, &mut log, |line| phases.hear(line)).await;
    let current = phases.end();
    let Err(how) = result else { return Ok(()) };
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let found = cause::find(&lines, &config, &how);
    let phase = found.phase.or(current).unwrap_or_default();
    let more = if found.of_kubelet { kubeadm::kubelet_log::last_error().await } else { None };
    Err(Failed {
        step: format!("kubeadm {kubeadm} {phase}").trim_end().to_owned(),
        cause: more
            .map_or_else(|| found.sentence.clone(), |more| format!("{}; the kubelet says: {more}", found.sentence)),
        tail: tail(lines.iter().filter(|line| !cause::is_noise(line))),
        log: log.path(),
    })
}

/// The look at the host before kubeadm.
async fn look(kubeadm: &str, config: &Config, reporter: &Reporter, log: &mut Log) -> Result<(), Failed> {
    const STEP: &str = "preflight";
    set(reporter, NodePhase::Kubeadm { command: kubeadm.to_owned(), kubeadm_phase: STEP.to_owned() });
    let began = Instant::now();
    let found = Box::pin(preflight::check(config)).await;
    took(reporter, STEP.to_owned(), began);
    for warning in &found.warnings {
        warn!("preflight: {warning}");
        log.line(&format!("# warning: {warning}"));
    }
    reporter.send_if_modified(|report| {
        let new: Vec<String> =
            found.warnings.iter().filter(|warning| !report.warnings.contains(warning)).cloned().collect();
        report.warnings.extend(new.iter().cloned());
        !new.is_empty()
    });
    if found.fatal.is_empty() {
        return Ok(());
    }
    for fatal in &found.fatal {
        log.line(&format!("# {fatal}"));
    }
    Err(Failed { log: log.path(), ..Failed::new(STEP, found.fatal.join("; ")) })
}

/// Runs a command or goes on with it; gives how it ended badly and its last lines.
async fn listen(
    order: &Order<'_>,
    journal: &mut Journal,
    place: &Place,
    log: &mut Log,
    mut heard: impl FnMut(&str),
) -> (Result<(), String>, VecDeque<String>) {
    let mut lines = VecDeque::new();
    let hear = |line: &str| {
        if !cause::is_noise(line) {
            info!("{line}");
        }
        log.line(line);
        heard(line);
        if !line.trim().is_empty() {
            lines.push_back(line.to_owned());
        }
        if lines.len() > MEMORY {
            lines.pop_front();
        }
    };
    let result = match &order.process {
        Some(process) => run::go_on(process, place, hear).await,
        None => run::run(order.line, place, |process| journal.runs(process), hear).await,
    };
    (result, lines)
}

fn tail<T: ToString>(lines: impl Iterator<Item = T>) -> Vec<String> {
    let mut last: VecDeque<T> = VecDeque::new();
    for line in lines {
        last.push_back(line);
        if last.len() > TAIL {
            last.pop_front();
        }
    }
    last.iter().map(T::to_string).collect()
}

/// The phases of a running kubeadm, by the first word of its lines.
struct Phases<'a> {
    command: &'static str,
    reporter: &'a Reporter,
    current: Option<String>,
    since: Instant,
}

impl<'a> Phases<'a> {
    fn new(command: &'static str, reporter: &'a Reporter) -> Self {
        set(reporter, NodePhase::Kubeadm { command: command.to_owned(), kubeadm_phase: "starting".to_owned() });
        Self { command, reporter, current: None, since: Instant::now() }
    }

    fn hear(&mut self, line: &str) {
        let Some(phase) = kubeadm::phase(line).filter(|phase| self.current.as_deref() != Some(phase)) else { return };
        self.finish();
        self.current = Some(phase.to_owned());
        let (command, kubeadm_phase) = (self.command.to_owned(), phase.to_owned());
        set(self.reporter, NodePhase::Kubeadm { command, kubeadm_phase });
    }

    fn finish(&mut self) {
        let phase = self.current.take().unwrap_or_else(|| "starting".to_owned());
        took(self.reporter, format!("kubeadm {} {phase}", self.command), self.since);
        self.since = Instant::now();
    }

    /// The phase in which it ended.
    fn end(mut self) -> Option<String> {
        let last = self.current.clone();
        self.finish();
        last
    }
}

fn took(reporter: &Reporter, phase: String, since: Instant) {
    let milliseconds = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
    reporter.send_modify(|report| {
        if report.durations.len() < MOST_DURATIONS {
            report.durations.push(PhaseDuration { phase, milliseconds });
        }
    });
}

/// Puts the phase into the report, which is told if it is another one.
pub(super) fn set(reporter: &Reporter, phase: NodePhase) {
    reporter.send_if_modified(|report| {
        let changed = report.phase != phase;
        report.phase = phase;
        changed
    });
}

/// All output, masked, for root alone. That it cannot be written is no reason to fail: what is reported does not need it.
struct Log {
    path: PathBuf,
    file: Option<File>,
    left: u64,
}

impl Log {
    fn open(folder: &Path) -> Self {
        let path = folder.join(LOG);
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        let file = file.map_err(|error| warn!("{}: {error}", path.display())).ok();
        let length = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |found| found.len());
        Self { path, file, left: LONGEST_LOG.saturating_sub(length) }
    }

    fn line(&mut self, line: &str) {
        let Some(file) = self.file.as_mut() else { return };
        let length = line.len() as u64 + 1;
        let written: io::Result<()> = match self.left.checked_sub(length) {
            Some(left) => {
                self.left = left;
                writeln!(file, "{line}")
            }
            None => Err(io::Error::other("the log is full")),
        };
        if let Err(error) = written {
            warn!("{}: {error}", self.path.display());
            self.file = None;
        }
    }

    fn path(&self) -> Option<String> {
        self.file.as_ref().map(|_| self.path.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bessemer_protocol::NodeReport;
    use tokio::sync::watch;

    use super::*;

    #[tokio::test]
    async fn the_tail_is_short_and_holds_no_secret_and_the_log_has_all() {
        let folder = tempfile::tempdir().unwrap();
        let reporter: Reporter = Arc::new(watch::Sender::new(NodeReport::default()));
        let words = "for i in $(seq 100); do echo line $i; done; echo --token abcdef.0123456789abcdef; false";
        let mut journal = Journal::open(folder.path(), "metal/m0").unwrap();
        let place = Place::new(folder.path(), "metal/m0");
        let order = Order { step: "runcmd/0", words, line: words, process: None };
        let failed = carry_out(order, &mut journal, &place, &reporter).await.unwrap_err();
        assert_eq!(failed.tail.len(), TAIL);
        assert_eq!(failed.tail.last().unwrap(), "--token ***");
        assert_eq!((failed.step.as_str(), failed.cause.as_str()), ("runcmd/0", "for: ended with exit status: 1"));
        let log = std::fs::read_to_string(failed.log.unwrap()).unwrap();
        assert!(log.contains("line 1\n") && log.contains("line 100\n") && !log.contains("0123456789abcdef"), "{log}");
        let durations = reporter.borrow().durations.clone();
        assert_eq!(durations.len(), 1);
        assert_eq!(durations[0].phase, "runcmd/0");
    }

    #[test]
    fn phases_are_told_and_timed() {
        let reporter: Reporter = Arc::new(watch::Sender::new(NodeReport::default()));
        let mut phases = Phases::new("init", &reporter);
        for line in ["[init] Using", "[certs] a", "[certs] b", "no phase", "[etcd] c"] {
            phases.hear(line);
        }
        let phase = NodePhase::Kubeadm { command: "init".into(), kubeadm_phase: "etcd".into() };
        assert_eq!(reporter.borrow().phase, phase);
        assert_eq!(phases.end().as_deref(), Some("etcd"));
        let names: Vec<String> = reporter.borrow().durations.iter().map(|took| took.phase.clone()).collect();
        assert_eq!(names, ["kubeadm init starting", "kubeadm init init", "kubeadm init certs", "kubeadm init etcd"]);
    }
}
