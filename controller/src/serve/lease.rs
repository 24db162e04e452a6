//! The Lease object that one of several copies holds: what is written to it, and how its holder is judged.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;
use kube::{Client, Error};
use tokio::time::{Instant, timeout};

/// The Lease's name.
pub(super) const NAME: &str = "bessemer-controllers";

/// The lease as one copy sees it.
pub(super) struct Claim {
    api: Api<Lease>,
    identity: String,
    duration: Duration,
}

/// What another holder last wrote, and when we first saw it: it is judged by our clock, not by its own.
pub(super) type Seen = Option<(LeaseSpec, Instant)>;

/// What came of a renewal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Renewal {
    /// It counts, from the instant before it was asked for.
    Renewed,
    /// Somebody touched the lease in between: nothing was renewed, and who holds it is to be looked up.
    Raced,
    /// The lease is another copy's, or gone, so that it may be.
    Lost,
}

impl Claim {
    /// Of a copy that calls itself `identity`, and holds for `duration` after each renewal.
    pub(super) fn new(client: &Client, namespace: &str, identity: String, duration: Duration) -> Self {
        Self { api: Api::namespaced(client.clone(), namespace), identity, duration }
    }

    pub(super) fn identity(&self) -> &str {
        &self.identity
    }

    /// Takes the lease if nobody holds it; whether it is ours now.
    pub(super) async fn try_acquire(&self, seen: &mut Seen) -> kube::Result<bool> {
        let now = Timestamp::now();
        let Some(found) = self.api.get_opt(NAME).await? else {
            let metadata = ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.spec(now, now, 0)) };
            return won(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = found.spec.clone().unwrap_or_default();
        if seen.as_ref().is_none_or(|(before, _)| *before != spec) {
            *seen = Some((spec.clone(), Instant::now()));
        }
        let holds = u64::try_from(spec.lease_duration_seconds.unwrap_or_default()).unwrap_or_default();
        let ends = seen.as_ref().map(|(_, at)| *at + Duration::from_secs(holds));
        let is_free = spec.holder_identity.as_deref().is_none_or(str::is_empty);
        if !is_free && !self.is_ours(&spec) && ends > Some(Instant::now()) {
            return Ok(false);
        }
        let transitions = spec.lease_transitions.unwrap_or_default().saturating_add(1);
        let lease = Lease { spec: Some(self.spec(now, now, transitions)), ..found };
        // The version read makes this fail when another copy was faster.
        won(self.api.replace(NAME, &PostParams::default(), &lease).await)
    }

    /// Renews the lease while it is ours.
    pub(super) async fn renew(&self) -> kube::Result<Renewal> {
        let Some(found) = self.api.get_opt(NAME).await? else { return Ok(Renewal::Lost) };
        let spec = found.spec.clone().unwrap_or_default();
        if !self.is_ours(&spec) {
            return Ok(Renewal::Lost);
        }
        let acquired = spec.acquire_time.as_ref().map_or_else(Timestamp::now, |time| time.0);
        let spec = self.spec(acquired, Timestamp::now(), spec.lease_transitions.unwrap_or_default());
        let lease = Lease { spec: Some(spec), ..found };
        Ok(match won(self.api.replace(NAME, &PostParams::default(), &lease).await)? {
            true => Renewal::Renewed,
            false => Renewal::Raced,
        })
    }

    /// Lets the lease go if it is ours, so that another copy need not wait for its end.
    pub(super) async fn release(&self, within: Duration) {
        match timeout(within, self.try_release()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "cannot let go of the lease; it ends in {:?}", self.duration),
            Err(_) => tracing::warn!("cannot let go of the lease in time; it ends in {:?}", self.duration),
        }
    }

    async fn try_release(&self) -> kube::Result<()> {
        loop {
            let Some(mut found) = self.api.get_opt(NAME).await? else { return Ok(()) };
            let Some(spec) = found.spec.as_mut().filter(|spec| self.is_ours(spec)) else { return Ok(()) };
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            spec.renew_time = Some(MicroTime(Timestamp::now()));
            // A renewal that was cut off may still have arrived in between.
            if won(self.api.replace(NAME, &PostParams::default(), &found).await)? {
                return Ok(());
            }
        }
    }

    fn is_ours(&self, spec: &LeaseSpec) -> bool {
        spec.holder_identity.as_ref() == Some(&self.identity)
    }

    fn spec(&self, acquired: Timestamp, renewed: Timestamp, transitions: i32) -> LeaseSpec {
        // Never less than what we count on ourselves.
        let seconds = self.duration.as_secs() + u64::from(self.duration.subsec_nanos() > 0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(seconds).ok(),
            acquire_time: Some(MicroTime(acquired)),
            renew_time: Some(MicroTime(renewed)),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
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
