//! One of several copies leads: the holder of a Lease, which it renews. The times are those of Kubernetes' own components.
//! A leader that cannot renew stops before its lease ends, so that no two ever lead.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use kube::{Client, Error};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

const NAME: &str = "bessemer-controllers";
/// How long a lease holds after its last renewal.
const DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for this long leads no more.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How often a lease is renewed, or asked for.
const RETRY: Duration = Duration::from_secs(2);
/// What is left of a lease when its holder gives up: for what is under way to end.
pub(super) const GRACE: Duration = DURATION.saturating_sub(RENEW_DEADLINE);

/// The lead, held.
pub(super) struct Lead {
    api: Api<Lease>,
    identity: String,
}

/// Waits until no other copy leads; `None` when told to stop before.
pub(super) async fn acquire(
    client: &Client,
    namespace: &str,
    stop: &CancellationToken,
) -> anyhow::Result<Option<Lead>> {
    make_namespace(client, namespace).await.with_context(|| format!("cannot make namespace {namespace}"))?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let identity = format!("{}_{}", host.trim(), uuid::Uuid::new_v4());
    let lead = Lead { api: Api::namespaced(client.clone(), namespace), identity };
    // A holder is judged by when we saw it renew, not by its clock.
    let mut seen: Option<(LeaseSpec, Instant)> = None;
    let mut told = false;
    loop {
        match lead.try_acquire(&mut seen).await {
            Ok(true) => return Ok(Some(lead)),
            Ok(false) => {
                if let Some((spec, _)) = seen.as_ref().filter(|_| !told) {
                    tracing::info!(holder = spec.holder_identity, "another copy leads; waiting");
                    told = true;
                }
            }
            Err(error) => tracing::warn!(%error, "cannot ask for the lease {namespace}/{NAME}"),
        }
        tokio::select! {
            () = sleep(RETRY) => {}
            () = stop.cancelled() => return Ok(None),
        }
    }
}

async fn make_namespace(client: &Client, name: &str) -> kube::Result<()> {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    match Api::<Namespace>::all(client.clone()).create(&PostParams::default(), &namespace).await {
        Err(Error::Api(status)) if status.is_already_exists() => Ok(()),
        result => result.map(drop),
    }
}

impl Lead {
    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    async fn try_acquire(&self, seen: &mut Option<(LeaseSpec, Instant)>) -> kube::Result<bool> {
        let now = Timestamp::now();
        let Some(found) = self.api.get_opt(NAME).await? else {
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.spec(now, now, 0)), ..Lease::default() };
            return won(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = found.spec.clone().unwrap_or_default();
        if seen.as_ref().is_none_or(|(before, _)| *before != spec) {
            *seen = Some((spec.clone(), Instant::now()));
        }
        let holds = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or_default();
        let ends = seen.as_ref().map(|(_, at)| *at + Duration::from_secs(holds));
        let is_free = spec.holder_identity.as_deref().is_none_or(str::is_empty);
        if !is_free && spec.holder_identity.as_deref() != Some(&self.identity) && ends > Some(Instant::now()) {
            return Ok(false);
        }
        let transitions = spec.lease_transitions.unwrap_or_default().saturating_add(1);
        let lease = Lease { spec: Some(self.spec(now, now, transitions)), ..found };
        // The version read makes this fail when another copy was faster.
        won(self.api.replace(NAME, &PostParams::default(), &lease).await)
    }

    fn spec(&self, acquired: Timestamp, renewed: Timestamp, transitions: i32) -> LeaseSpec {
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: Some(MicroTime(acquired)),
            renew_time: Some(MicroTime(renewed)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        }
    }

    /// Renews the lease until told to stop (`None`) or until it is lost, with the reason.
    pub(super) async fn keep(&self, stop: &CancellationToken) -> Option<String> {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                () = sleep(RETRY) => {}
                () = stop.cancelled() => return None,
            }
            let left = RENEW_DEADLINE.saturating_sub(renewed.elapsed());
            match timeout(left, self.renew()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => return Some("another copy has taken the lead".to_owned()),
                Ok(Err(error)) => tracing::warn!(%error, "cannot renew the lease"),
                Err(_) => tracing::warn!("cannot renew the lease: no answer in time"),
            }
            if renewed.elapsed() >= RENEW_DEADLINE {
                return Some(format!("the lead is lost: the lease could not be renewed for {RENEW_DEADLINE:?}"));
            }
        }
    }

    async fn renew(&self) -> kube::Result<bool> {
        let Some(found) = self.api.get_opt(NAME).await? else { return Ok(false) };
        let spec = found.spec.clone().unwrap_or_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            return Ok(false);
        }
        let acquired = spec.acquire_time.as_ref().map_or_else(Timestamp::now, |time| time.0);
        let spec = self.spec(acquired, Timestamp::now(), spec.lease_transitions.unwrap_or_default());
        let lease = Lease { spec: Some(spec), ..found };
        match self.api.replace(NAME, &PostParams::default(), &lease).await {
            // Somebody touched the lease in between: read it again.
            Err(Error::Api(status)) if status.is_conflict() => Ok(true),
            result => result.map(|_| true),
        }
    }

    async fn try_release(&self) -> kube::Result<()> {
        let Some(mut found) = self.api.get_opt(NAME).await? else { return Ok(()) };
        if let Some(spec) = found.spec.as_mut().filter(|s| s.holder_identity.as_deref() == Some(&self.identity)) {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            self.api.replace(NAME, &PostParams::default(), &found).await?;
        }
        Ok(())
    }

    /// Lets the lease go, so that another copy need not wait for its end.
    pub(super) async fn release(&self) {
        match timeout(RETRY, self.try_release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot let go of the lease; it ends in {DURATION:?}"),
            Err(_) => tracing::warn!("cannot let go of the lease in time; it ends in {DURATION:?}"),
        }
    }
}

/// Whether a write that somebody else may have been faster with is ours.
fn won(result: kube::Result<Lease>) -> kube::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(false),
        Err(error) => Err(error),
    }
}
