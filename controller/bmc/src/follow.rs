//! Following a firmware update to its end, whatever the BMC speaks: asked again and again, through the restart that new
//! firmware brings with it.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::{Bmc, BmcError, FirmwareJob, FirmwareProgress};

/// How patient to be with an update.
#[derive(Clone, Copy, Debug)]
pub struct FollowFirmware {
    /// Between two questions.
    pub period: Duration,
    /// How long the BMC may be away at a stretch.
    pub outage: Duration,
    /// How long at most, all in all.
    pub deadline: Duration,
}

impl Default for FollowFirmware {
    /// Every 10 s, with restarts of up to 15 minutes, for at most two hours.
    fn default() -> Self {
        Self {
            period: Duration::from_secs(10),
            outage: Duration::from_secs(15 * 60),
            deadline: Duration::from_secs(2 * 60 * 60),
        }
    }
}

/// Asks for `job` until it is done, has failed, is gone, or waits for something outside of it; `seen` is told each
/// answer and each question that was not answered.
///
/// # Errors
/// When the BMC stays away for longer than an outage, answers in a way that waiting does not heal, or the deadline
/// passes: [`BmcError::NotApplied`].
pub async fn follow_firmware_update(
    bmc: &dyn Bmc,
    job: &FirmwareJob,
    patience: FollowFirmware,
    mut seen: impl FnMut(Result<&FirmwareProgress, &BmcError>),
) -> Result<FirmwareProgress, BmcError> {
    let end = Instant::now() + patience.deadline;
    let mut away_since: Option<Instant> = None;
    loop {
        let answer = bmc.firmware_progress(job).await;
        seen(answer.as_ref());
        let read = match answer {
            Ok(progress @ FirmwareProgress::Running { .. }) => {
                away_since = None;
                format!("{progress:?}")
            }
            Ok(other) => return Ok(other),
            Err(error) if error.is_transient() => {
                if away_since.get_or_insert_with(Instant::now).elapsed() >= patience.outage {
                    return Err(error);
                }
                error.to_string()
            }
            Err(error) => return Err(error),
        };
        if Instant::now() + patience.period > end {
            return Err(BmcError::NotApplied {
                address: "of the update".to_owned(),
                wrote: format!("firmware update {job}"),
                read,
                deadline: patience.deadline,
            });
        }
        sleep(patience.period).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;

    use super::*;
    use crate::{BootOverride, Identity, PowerAction, PowerState, ReadBack};

    /// A BMC that says these things about its update, the last one for ever.
    struct Says(Mutex<Vec<Option<FirmwareProgress>>>);

    fn away() -> BmcError {
        BmcError::Unreachable { address: "b".to_owned(), deadline: Duration::ZERO, why: "restarts".to_owned() }
    }

    #[async_trait]
    impl Bmc for Says {
        async fn identify(&self) -> Result<Identity, BmcError> {
            Err(away())
        }
        async fn power_state(&self) -> Result<PowerState, BmcError> {
            Err(away())
        }
        async fn power(&self, _: PowerAction) -> Result<(), BmcError> {
            Err(away())
        }
        async fn set_boot_override(&self, _: &BootOverride) -> Result<ReadBack, BmcError> {
            Err(away())
        }
        async fn firmware_progress(&self, _: &FirmwareJob) -> Result<FirmwareProgress, BmcError> {
            let mut left = self.0.lock().unwrap();
            let next = if left.len() > 1 { left.remove(0) } else { left[0].clone() };
            next.ok_or_else(away)
        }
    }

    async fn follow(says: &[Option<FirmwareProgress>], patience: FollowFirmware) -> (String, usize) {
        let bmc = Says(Mutex::new(says.to_vec()));
        let mut asked = 0;
        let job = FirmwareJob("/redfish/v1/TaskService/Tasks/1".to_owned());
        let end = follow_firmware_update(&bmc, &job, patience, |_| asked += 1).await;
        (end.map_or_else(|error| error.to_string(), |progress| format!("{progress:?}")), asked)
    }

    #[tokio::test]
    async fn restarts_are_lived_through_and_everything_ends() {
        let running = Some(FirmwareProgress::Running { percent: Some(90), step: "Running".to_owned() });
        let quick = FollowFirmware {
            period: Duration::from_millis(5),
            outage: Duration::from_millis(60),
            deadline: Duration::from_secs(5),
        };
        let done = Some(FirmwareProgress::Done);
        assert_eq!(follow(&[running.clone(), None, None, done], quick).await, ("Done".to_owned(), 4));
        let waits = Some(FirmwareProgress::Waiting { why: "Scheduled".to_owned() });
        assert_eq!(follow(&[running.clone(), waits], quick).await.1, 2);
        let (lost, asked) = follow(&[running.clone(), None], quick).await;
        assert!(lost.contains("unreachable") && asked > 3, "{lost} {asked}");
        let short = FollowFirmware { deadline: Duration::from_millis(40), ..quick };
        let (late, _) = follow(&[running], short).await;
        assert!(late.contains("firmware update") && late.contains("percent: Some(90)"), "{late}");
    }
}
