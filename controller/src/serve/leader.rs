//! One of several copies leads: the holder of a Lease. It renews from the moment it has won until its work has ended, and
//! then lets go. A leader that cannot renew stops before its lease ends, so that no two ever lead.

use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use kube::Client;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::lease::{Claim, NAME, Renewal};
use crate::namespace;

/// How a lease is held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// How long it holds after its last renewal.
    pub(super) duration: Duration,
    /// A leader that could not renew for this long leads no more; what is left of the lease is for its work to end.
    pub(super) renew_deadline: Duration,
    /// How often it is renewed, or asked for.
    pub(super) retry: Duration,
}

impl Times {
    /// Those of Kubernetes' own components.
    pub(super) const KUBERNETES: Self = Self {
        duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };

    /// For one request: half of the deadline, so that one without an answer does not cost the lead.
    fn request(self) -> Duration {
        self.renew_deadline / 2
    }
}

/// How work is asked to end.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop {
    /// After what is under way.
    pub(super) gently: CancellationToken,
    /// At once.
    pub(super) now: CancellationToken,
}

/// The lead, held.
pub(super) struct Lead {
    claim: Claim,
    times: Times,
    /// The instant before the last request that counts was sent: others count from later.
    renewed: Instant,
}

/// How a lead ends that was not given up.
enum Lost {
    /// Another copy may be at work already.
    Taken,
    /// Nobody else can have it before its end.
    NotRenewed,
}

/// Waits until no other copy leads; `None` when told to stop before.
pub(super) async fn acquire(
    client: &Client,
    namespace: &str,
    times: Times,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Lead>> {
    tokio::select! {
        made = timeout(times.request(), namespace::ensure(client, namespace)) => {
            made.with_context(|| format!("cannot look for namespace {namespace}: no answer in time"))??;
        }
        () = stop.cancelled() => return Ok(None),
    }
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let identity = format!("{}_{}", host.trim(), uuid::Uuid::new_v4());
    let claim = Claim::new(client, namespace, identity, times.duration);
    let won = tokio::select! {
        won = wait(&claim, namespace, times) => Some(won),
        () = stop.cancelled() => None,
    };
    let Some(renewed) = won else {
        // A request that was cut off may have won.
        claim.release(times.retry).await;
        return Ok(None);
    };
    Ok(Some(Lead { claim, times, renewed }))
}

/// Asks until the lease is ours; the instant before the request that won.
async fn wait(claim: &Claim, namespace: &str, times: Times) -> Instant {
    let mut seen = None;
    let mut told = false;
    loop {
        let sent = Instant::now();
        match timeout(times.request(), claim.try_acquire(&mut seen)).await {
            Ok(Ok(true)) => return sent,
            Ok(Ok(false)) => {
                if let Some((spec, _)) = seen.as_ref().filter(|_| !told) {
                    tracing::info!(holder = spec.holder_identity, "another copy leads; waiting");
                    told = true;
                }
            }
            Ok(Err(error)) => tracing::warn!(%error, "cannot ask for the lease {namespace}/{NAME}"),
            Err(_) => tracing::warn!("cannot ask for the lease {namespace}/{NAME}: no answer in time"),
        }
        sleep(times.retry).await;
    }
}

impl Lead {
    pub(super) fn identity(&self) -> &str {
        self.claim.identity()
    }

    /// Runs `work` while the lease is held, and lets go of the lease when it has ended. Its token asks it to end: when told
    /// to stop, and when the lead is lost. It is cut off when another copy leads, or could.
    ///
    /// # Errors
    /// Those of the work, or how the lead was lost.
    pub(super) async fn hold<W>(mut self, stop: &Stop, work: impl FnOnce(CancellationToken) -> W) -> anyhow::Result<()>
    where
        W: Future<Output = anyhow::Result<()>>,
    {
        let ending = stop.gently.child_token();
        // A block of its own, as the work must be gone when the lease is let go.
        let ended = {
            let mut work = Box::pin(work(ending.clone()));
            let lost = tokio::select! {
                ended = work.as_mut() => Ok(ended),
                lost = self.keep() => Err(lost),
                () = stop.now.cancelled() => Ok(Err(anyhow!("the controllers were cut off before they had ended"))),
            };
            ending.cancel();
            match lost {
                Ok(ended) => ended,
                Err(Lost::Taken) => Err(anyhow!("another copy has taken the lead")),
                Err(Lost::NotRenewed) => self.wind_down(work, &stop.now).await,
            }
        };
        self.claim.release(self.times.retry).await;
        ended
    }

    /// Lets work end in what is left of the lease.
    async fn wind_down(&self, work: impl Future, now: &CancellationToken) -> anyhow::Result<()> {
        tokio::select! {
            ended = timeout_at(self.renewed + self.times.duration, work) => {
                if ended.is_err() {
                    tracing::warn!("reconciles were cut off: the lead is lost");
                }
            }
            () = now.cancelled() => {}
        }
        bail!("the lead is lost: the lease could not be renewed for {:?}", self.times.renew_deadline)
    }

    /// Renews the lease until it is lost.
    async fn keep(&mut self) -> Lost {
        let mut looks_at_once = false;
        loop {
            let deadline = self.renewed + self.times.renew_deadline;
            if !looks_at_once {
                sleep_until(deadline.min(Instant::now() + self.times.retry)).await;
            }
            let sent = Instant::now();
            let answer = timeout_at(deadline.min(sent + self.times.request()), self.claim.renew()).await;
            // Once: a lease that others write all the time is looked at as often as any.
            looks_at_once = !looks_at_once && matches!(answer, Ok(Ok(Renewal::Raced)));
            match answer {
                Ok(Ok(Renewal::Renewed)) => self.renewed = sent,
                Ok(Ok(Renewal::Lost)) => return Lost::Taken,
                Ok(Ok(Renewal::Raced)) => tracing::debug!("somebody wrote the lease in between"),
                Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease"),
                Err(_) => tracing::warn!("cannot renew the lease: no answer in time"),
            }
            if self.renewed.elapsed() >= self.times.renew_deadline {
                return Lost::NotRenewed;
            }
        }
    }
}

#[cfg(test)]
#[path = "leader_tests.rs"]
mod tests;
