//! New firmware over Redfish (`UpdateService`): how a BMC takes it, starting it, and how far it is.
//!
//! An update may be a task, a job, or nothing but a state of the update service; the BMC may restart in its middle and
//! know nothing of it afterwards. The versions in the firmware inventory have the last word then.

mod job;
mod ways;

use std::time::Duration;

use job::{Job, Versions, condensed, now, versions};
use redfish_client::{Reference, Reply, Resource, TaskState, Upload};
use tokio::time::{Instant, sleep, timeout};
pub(super) use ways::Ways;

use super::RedfishBmc;
use super::errors::scrubbed;
use super::quirks::{OwnState, own_state, queues_of};
use crate::media::shown_within;
use crate::{BmcError, FirmwareFile, FirmwareImage, FirmwareJob, FirmwareProgress, FirmwareWays};

const START: &str = "updating firmware";
const FOLLOW: &str = "following a firmware update";

/// Parts of the inventory whose versions are noted, and how long that may take; without it an update is only less sure
/// of its end.
const NOTED: usize = 64;
const NOTED_WITHIN: Duration = Duration::from_secs(60);

/// How long an update that nothing is known of is taken to be under way: writing takes a BMC this long.
const UNKNOWN_FOR: Duration = Duration::from_secs(60 * 60);

/// States of a task that waits for something outside of it, as a reset of the server; a task that is about to begin does
/// not.
const WAITING: &[&str] = &["Pending", "Scheduled", "Suspended"];

/// How long sending an image may take, and how much longer for each megabyte: BMCs write at a few hundred kB/s.
const PUSH_AT_LEAST: Duration = Duration::from_secs(300);
const PUSH_PER_MB: Duration = Duration::from_secs(6);

impl RedfishBmc {
    pub(super) async fn read_firmware_ways(&self) -> Result<FirmwareWays, BmcError> {
        let (_, ways) = self.update_service(START).await?;
        Ok(ways.shown())
    }

    pub(super) async fn fetch_firmware(&self, image: &FirmwareImage) -> Result<FirmwareJob, BmcError> {
        let act = format!("{START} from {image}");
        let (service, ways) = self.update_service(&act).await?;
        let Some(fetch) = &ways.fetch else {
            return Err(self.unsupported(&act, format!("{} has no action SimpleUpdate", service.uri())));
        };
        let body = fetch.request(image).map_err(|why| self.unsupported(&act, why))?;
        let before = self.noted(&service, &image.targets).await;
        let started = async {
            let reply = self.client.act(&fetch.action, &body).await.map_err(|error| self.explain_write(&act, error))?;
            self.started(&act, &reply, before).await
        };
        started.await.map_err(|error| scrubbed(error, image.login.as_ref()))
    }

    pub(super) async fn push_firmware(&self, file: FirmwareFile) -> Result<FirmwareJob, BmcError> {
        let act = format!("{START} with {}", file.name);
        let (service, ways) = self.update_service(&act).await?;
        if let Some(largest) = ways.largest.filter(|largest| file.length > *largest) {
            return Err(self.wrong(&act, format!("the image has {} bytes; it takes at most {largest}", file.length)));
        }
        let before = self.noted(&service, &file.targets).await;
        let megabytes = u32::try_from(file.length >> 20).unwrap_or(u32::MAX);
        let until = Instant::now() + PUSH_AT_LEAST + PUSH_PER_MB.saturating_mul(megabytes);
        let upload = Upload { name: file.name, length: file.length, bytes: file.bytes };
        let reply = match (&ways.form, &ways.raw) {
            (Some(form), _) => {
                let parameters = ways.form_parameters(&file.targets, file.apply);
                let parameters = parameters.map_err(|why| self.unsupported(&act, why))?;
                self.client.push_form(form, &parameters, upload, until).await
            }
            (None, Some(raw)) if file.targets.is_empty() => self.client.push_raw(raw, upload, until).await,
            (None, Some(_)) => {
                let why = "it takes images only as they are, without targets; leave the targets out".to_owned();
                return Err(self.unsupported(&act, why));
            }
            (None, None) => return Err(self.unsupported(&act, format!("{} takes no images", service.uri()))),
        };
        let reply = reply.map_err(|error| self.explain_write(&act, error))?;
        self.started(&act, &reply, before).await
    }

    /// What was started, once it can be followed.
    async fn started(&self, act: &str, reply: &Reply, mut before: Job) -> Result<FirmwareJob, BmcError> {
        let Some(task) = &reply.task else {
            if before.earlier_end.is_some() && self.has_moved_on(&before).await {
                before.earlier_end = None;
            }
            return Ok(before.written());
        };
        before.task = Some(task.clone());
        // A task that is followed later and not there is over; so it has to be there now.
        let end = Instant::now() + self.deadline();
        loop {
            match self.client.task(task).await {
                Err(error) if error.is_not_found() && Instant::now() < end => sleep(self.beat()).await,
                Ok(TaskState::Failed { state, fault }) => {
                    return Err(self.wrong(act, format!("task {task} ended {state}: {fault}")));
                }
                _ => return Ok(before.written()),
            }
        }
    }

    pub(super) async fn read_firmware_progress(&self, job: &FirmwareJob) -> Result<FirmwareProgress, BmcError> {
        let Some(job) = Job::read(job) else {
            return Err(self.wrong(FOLLOW, format!("{job} is no firmware update that was started here")));
        };
        let Some(task) = &job.task else {
            let (service, _) = self.update_service(FOLLOW).await?;
            return match own_state(&service) {
                Some(state) if job.earlier_end.is_none_or(|end| end_of(&service) != Some(end)) => {
                    Ok(of_own_state(state))
                }
                _ if self.is_changed(&service, &job).await => Ok(FirmwareProgress::Done),
                // Nothing tells that it is over either.
                _ if job.is_younger_than(UNKNOWN_FOR) => {
                    let step = "the bmc does not say how far it is".to_owned();
                    Ok(FirmwareProgress::Running { percent: None, step })
                }
                _ => Ok(FirmwareProgress::Gone),
            };
        };
        for at in [task.clone()].iter().chain(&queues_of(task)) {
            match self.client.task(at).await {
                Ok(state) => return Ok(of_task(state)),
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(self.explain(FOLLOW, error)),
            }
        }
        let (service, _) = self.update_service(FOLLOW).await?;
        Ok(match self.is_changed(&service, &job).await {
            true => FirmwareProgress::Done,
            false => FirmwareProgress::Gone,
        })
    }

    /// Whether the versions tell that an update, of which nothing else is known, was done.
    async fn is_changed(&self, service: &Resource, job: &Job) -> bool {
        !job.before.is_empty() && job.has_changed(&self.versions_now(service, &[]).await)
    }

    /// How things stand before an update of `targets` that starts now.
    async fn noted(&self, service: &Resource, targets: &[String]) -> Job {
        let before = self.versions_now(service, targets).await;
        Job { task: None, started: Some(now()), earlier_end: end_of(service), before }
    }

    /// Whether the service is seen to have left the end of an earlier update behind, in the time that it has for that.
    async fn has_moved_on(&self, job: &Job) -> bool {
        let end = Instant::now() + self.deadline();
        loop {
            match self.update_service(START).await {
                Ok((service, _)) if end_of(&service) != job.earlier_end => return true,
                _ if Instant::now() + self.beat() > end => return false,
                _ => sleep(self.beat()).await,
            }
        }
    }

    /// The versions as they are, of `targets` where those are parts of the inventory; none when they cannot be read in
    /// time.
    async fn versions_now(&self, service: &Resource, targets: &[String]) -> Versions {
        let read = async {
            let inventory = service.link("FirmwareInventory")?;
            let mut listed = self.client.list(&inventory).await.ok()?;
            let is_target = |at: &Reference| targets.iter().any(|target| Reference::parse(target).as_ref() == Some(at));
            if listed.iter().any(is_target) {
                listed.retain(is_target);
            }
            let mut parts = Vec::new();
            for at in listed.iter().take(NOTED) {
                parts.extend(self.client.find(at).await.ok()?);
            }
            Some(versions(&parts))
        };
        timeout(NOTED_WITHIN, read).await.ok().flatten().unwrap_or_default()
    }

    async fn update_service(&self, act: &str) -> Result<(Resource, Ways), BmcError> {
        let explain = |error| self.explain(act, error);
        let root = self.client.root().await.map_err(explain)?;
        let Some(at) = root.link("UpdateService") else {
            return Err(self.unsupported(act, "its service root names no update service".to_owned()));
        };
        let found = self.client.find(&at).await.map_err(explain)?;
        let service = found.ok_or_else(|| self.unsupported(act, format!("{at} is named and not there")))?;
        if service.value("ServiceEnabled").and_then(serde_json::Value::as_bool) == Some(false) {
            return Err(self.unsupported(act, format!("{at} is switched off (ServiceEnabled is false)")));
        }
        let info: Option<Reference> = service.action("UpdateService.SimpleUpdate").and_then(|action| action.info);
        let info = match info {
            Some(at) => self.client.find(&at).await.map_err(explain)?,
            None => None,
        };
        let ways = Ways::of(&service, info.as_ref());
        Ok((service, ways))
    }
}

fn of_task(state: TaskState) -> FirmwareProgress {
    match state {
        TaskState::Running { state, .. } if WAITING.contains(&&*state) => FirmwareProgress::Waiting { why: state },
        TaskState::Running { state, percent } => FirmwareProgress::Running { percent, step: state },
        TaskState::Away { why } => FirmwareProgress::Running { percent: None, step: why },
        TaskState::Done => FirmwareProgress::Done,
        // Services repeat the image's address.
        TaskState::Failed { state, fault } => {
            FirmwareProgress::Failed { why: shown_within(&format!("{state}: {fault}")) }
        }
    }
}

/// How `service` tells the end of an update, condensed; none while it tells none.
fn end_of(service: &Resource) -> Option<u32> {
    let end = own_state(service).filter(|state| !matches!(state, OwnState::Running(..)))?;
    Some(condensed(&format!("{end:?}")))
}

fn of_own_state(state: OwnState) -> FirmwareProgress {
    match state {
        OwnState::Running(step, percent) => FirmwareProgress::Running { percent, step },
        OwnState::Done => FirmwareProgress::Done,
        OwnState::Failed(why) => FirmwareProgress::Failed { why: shown_within(&why) },
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    let ways = Ways::of(resource, Some(resource));
    format!("{ways:?} {:?} {:?} {:?}", ways.shown(), own_state(resource).map(of_own_state), TaskState::of(resource))
}
