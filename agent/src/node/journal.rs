//! Which steps were done for a claim, on disk, so that a restarted agent or host goes on where it was and runs nothing twice.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bessemer_protocol::NodePhase;
use serde::{Deserialize, Serialize};

use super::run::Process;

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    claim: String,
    /// Names of finished steps.
    done: Vec<String>,
    /// The step that was begun last.
    begun: Option<String>,
    /// The process of that step, once there is one.
    #[serde(default)]
    process: Option<Process>,
    /// The Node's name for this host, from the bootstrap data.
    #[serde(default)]
    provider_id: Option<String>,
    /// `Done` or `Failed`, once it has come to that.
    ended: Option<NodePhase>,
}

/// The journal of one claim.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    state: State,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Never begun.
    New,
    /// Begun by an agent that then ended.
    Interrupted,
    /// Finished.
    Done,
}

impl Journal {
    /// The journal of `claim` in `folder`, empty if there is none.
    pub(super) fn open(folder: &Path, claim: &str) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(format!("bootstrap-{}.json", claim.replace('/', "_")));
        let state = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                State { claim: claim.to_owned(), ..State::default() }
            }
            Err(error) => return Err(error),
        };
        if state.claim != claim {
            return Err(io::Error::other(format!("{} is of {}, not of {claim}", path.display(), state.claim)));
        }
        Ok(Self { path, state })
    }

    /// The folder that it is in, where a claim's other files may lie.
    pub(super) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    /// How the bootstrap ended, if it did.
    pub(super) fn ended(&self) -> Option<&NodePhase> {
        self.state.ended.as_ref()
    }

    /// What [`Journal::keep_provider_id`] kept.
    pub(super) fn provider_id(&self) -> Option<&str> {
        self.state.provider_id.as_deref()
    }

    /// For when the bootstrap data is not asked for again.
    pub(super) fn keep_provider_id(&mut self, id: &str) -> io::Result<()> {
        if self.provider_id() == Some(id) {
            return Ok(());
        }
        self.state.provider_id = Some(id.to_owned());
        self.save()
    }

    /// Where `step` stands.
    pub(super) fn step(&self, step: &str) -> Step {
        if self.state.done.iter().any(|done| done == step) {
            Step::Done
        } else if self.state.begun.as_deref() == Some(step) {
            Step::Interrupted
        } else {
            Step::New
        }
    }

    /// Before a step.
    pub(super) fn begin(&mut self, step: &str) -> io::Result<()> {
        self.state.begun = Some(step.to_owned());
        self.state.process = None;
        self.save()
    }

    /// What carries out the step that was begun last.
    pub(super) fn runs(&mut self, process: &Process) -> io::Result<()> {
        self.state.process = Some(process.clone());
        self.save()
    }

    /// What was said last to carry it out.
    pub(super) fn process(&self) -> Option<&Process> {
        self.state.process.as_ref()
    }

    /// After a step.
    pub(super) fn finish(&mut self, step: &str) -> io::Result<()> {
        self.state.done.push(step.to_owned());
        self.state.begun = None;
        self.state.process = None;
        self.save()
    }

    /// At the end of all.
    pub(super) fn end(&mut self, phase: NodePhase) -> io::Result<()> {
        self.state.ended = Some(phase);
        self.save()
    }

    /// Whole or not at all, and on the disk before it returns.
    fn save(&self) -> io::Result<()> {
        let new = self.path.with_extension("new");
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec_pretty(&self.state)?)?;
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
        self.path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_remembered_over_restarts_and_claims_are_kept_apart() {
        let folder = tempfile::tempdir().unwrap();
        let open = |claim: &str| Journal::open(folder.path(), claim).unwrap();
        let mut journal = open("metal/m0");
        assert_eq!(journal.step("runcmd/0"), Step::New);
        journal.begin("runcmd/0").unwrap();
        assert_eq!(open("metal/m0").step("runcmd/0"), Step::Interrupted);
        journal.finish("runcmd/0").unwrap();
        journal.keep_provider_id("metal3://x").unwrap();
        journal.end(NodePhase::Done).unwrap();
        let again = open("metal/m0");
        assert_eq!((again.step("runcmd/0"), again.step("runcmd/1")), (Step::Done, Step::New));
        assert_eq!((again.ended(), again.provider_id()), (Some(&NodePhase::Done), Some("metal3://x")));
        assert_eq!(open("metal/m1").ended(), None);
    }
}
