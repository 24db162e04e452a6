//! What we call an update that was started: where it is followed, when it began, and how things stood before, in one text
//! that another process understands.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redfish_client::{Reference, Resource};

use crate::FirmwareJob;

/// Stands for an update that has no task.
const NO_TASK: &str = "update-service";

/// The versions of parts, by part, both condensed.
pub(super) type Versions = BTreeMap<u32, u32>;

/// A job's parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    /// The task; without one the update service itself is asked.
    pub(super) task: Option<Reference>,
    /// When it was started, in seconds since 1970; none when the job was not started by us.
    pub(super) started: Option<u64>,
    /// How the end of an earlier update was told at the start, condensed: this one's end does not look the same.
    pub(super) earlier_end: Option<u32>,
    /// What the versions were; empty when they could not be read.
    pub(super) before: Versions,
}

impl Job {
    pub(super) fn written(&self) -> FirmwareJob {
        let task = self.task.as_ref().map_or(NO_TASK, Reference::as_str);
        let mut fields = Vec::new();
        fields.extend(self.started.map(|started| format!("t{started}")));
        fields.extend(self.earlier_end.map(|end| format!("e{end:08x}")));
        fields.extend(self.before.iter().map(|(part, version)| format!("v{part:08x}{version:08x}")));
        let mark = if fields.is_empty() { "" } else { "#" };
        FirmwareJob(format!("{task}{mark}{}", fields.join(".")))
    }

    pub(super) fn read(job: &FirmwareJob) -> Option<Self> {
        let (task, fields) = job.0.split_once('#').unwrap_or((&job.0, ""));
        let task = if task == NO_TASK { None } else { Some(Reference::parse(task)?) };
        let mut read = Self { task, started: None, earlier_end: None, before: Versions::new() };
        let number = |hex: &str| u32::from_str_radix(hex, 16).ok();
        for field in fields.split('.').filter(|field| !field.is_empty()) {
            let (kind, value) = field.split_at_checked(1)?;
            match kind {
                "t" => read.started = Some(value.parse().ok()?),
                "e" => read.earlier_end = Some(number(value)?),
                "v" => {
                    let (part, version) = value.split_at_checked(8)?;
                    read.before.insert(number(part)?, number(version)?);
                }
                _ => return None,
            }
        }
        Some(read)
    }

    /// Whether some part has other firmware than before. Parts come and go with power and restarts: only those that
    /// were there and are there count.
    pub(super) fn has_changed(&self, now: &Versions) -> bool {
        self.before.iter().any(|(part, version)| now.get(part).is_some_and(|now| now != version))
    }

    /// Whether it was started no longer than `within` ago.
    pub(super) fn is_younger_than(&self, within: Duration) -> bool {
        self.started.is_some_and(|started| now().saturating_sub(started) < within.as_secs())
    }
}

/// The clock, in seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// `text`, condensed (FNV-1a).
pub(super) fn condensed(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// The versions of these parts.
pub(super) fn versions(parts: &[Resource]) -> Versions {
    let version = |part: &Resource| Some((condensed(part.uri().as_str()), condensed(part.text("Version")?)));
    parts.iter().filter_map(version).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(id: &str, version: &str) -> Resource {
        Resource::new(Reference::root().child(id), None, json!({"Version": version}))
    }

    fn job(parts: &[Resource]) -> Job {
        Job { task: None, started: Some(now()), earlier_end: None, before: versions(parts) }
    }

    #[test]
    fn a_job_can_be_kept_in_writing() {
        let task = Reference::root().child("TaskService").child("Tasks").child("JID_1");
        let mut full = Job { task: Some(task), earlier_end: Some(7), ..job(&[part("BIOS", "1.0"), part("BMC", "7")]) };
        assert_eq!(Job::read(&full.written()), Some(full.clone()));
        full = Job { task: None, started: None, earlier_end: None, before: Versions::new() };
        assert_eq!(full.written().0, "update-service");
        assert_eq!(Job::read(&full.written()), Some(full));
        for text in
            ["", "JID_1", "/redfish/v1/Tasks/1#x", "/redfish/v1/Tasks/1#v12", "/redfish/../etc", "update-service#é"]
        {
            assert_eq!(Job::read(&FirmwareJob(text.to_owned())), None, "{text}");
        }
    }

    /// What is not there while a server is off or a BMC starts is no change, nor is what comes after.
    #[test]
    fn only_another_version_of_the_same_part_is_a_change() {
        let job = job(&[part("BIOS", "1.0"), part("BMC", "7")]);
        let changed = |parts: &[Resource]| job.has_changed(&versions(parts));
        assert!(!changed(&[part("BMC", "7"), part("BIOS", "1.0")]));
        assert!(!changed(&[part("BMC", "7")]) && !changed(&[]));
        assert!(!changed(&[part("BMC", "7"), part("BIOS", "1.0"), part("NIC", "3")]));
        assert!(changed(&[part("BMC", "8"), part("BIOS", "1.0")]));
    }

    #[test]
    fn a_job_grows_old() {
        let hour = Duration::from_secs(3600);
        assert!(job(&[]).is_younger_than(hour));
        assert!(!Job { started: Some(now() - 4000), ..job(&[]) }.is_younger_than(hour));
        assert!(!Job { started: None, ..job(&[]) }.is_younger_than(hour));
    }
}
