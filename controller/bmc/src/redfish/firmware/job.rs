//! What we call an update that was started: where it is followed, and what the firmware inventory looked like before,
//! in one text that another process understands.

use redfish_client::{Reference, Resource};

use crate::FirmwareJob;

/// Stands for an update that has no task.
const NO_TASK: &str = "update-service";

/// A job's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The task; without one the update service itself is asked.
    pub(super) task: Option<Reference>,
    /// What the versions were, condensed; none when they could not be read.
    pub(super) before: Option<u64>,
}

impl Job {
    pub(super) fn written(&self) -> FirmwareJob {
        let before = self.before.map(|before| format!("#{before:016x}")).unwrap_or_default();
        let task = self.task.as_ref().map_or(NO_TASK, Reference::as_str);
        FirmwareJob(format!("{task}{before}"))
    }

    pub(super) fn read(job: &FirmwareJob) -> Option<Self> {
        let (task, before) = match job.0.split_once('#') {
            Some((task, before)) => (task, Some(u64::from_str_radix(before, 16).ok()?)),
            None => (job.0.as_str(), None),
        };
        let task = if task == NO_TASK { None } else { Some(Reference::parse(task)?) };
        Some(Self { task, before })
    }
}

/// The versions of these parts, condensed (FNV-1a), whatever their order: another value means that some part has other
/// firmware than before.
pub(super) fn condensed(parts: &[Resource]) -> u64 {
    let mut lines: Vec<String> =
        parts.iter().map(|part| format!("{}={}\n", part.uri(), part.text("Version").unwrap_or_default())).collect();
    lines.sort_unstable();
    let bytes = lines.iter().flat_map(|line| line.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_can_be_kept_in_writing() {
        for before in [None, Some(7), Some(u64::MAX)] {
            let task = Reference::root().child("TaskService").child("Tasks").child("JID_1");
            for task in [Some(task), None] {
                let job = Job { task, before };
                assert_eq!(Job::read(&job.written()), Some(job));
            }
        }
        for text in ["", "JID_1", "/redfish/v1/Tasks/1#x", "/redfish/../etc"] {
            assert_eq!(Job::read(&FirmwareJob(text.to_owned())), None, "{text}");
        }
    }

    #[test]
    fn a_change_shows_and_the_order_does_not() {
        let part =
            |id: &str, version: &str| Resource::new(Reference::root().child(id), None, json!({"Version": version}));
        let before = condensed(&[part("BIOS", "1.0"), part("BMC", "7")]);
        assert_eq!(before, condensed(&[part("BMC", "7"), part("BIOS", "1.0")]));
        assert_ne!(before, condensed(&[part("BMC", "8"), part("BIOS", "1.0")]));
    }
}
