//! Carries out one decision: writes the intent, does the one effect, writes what came of it.

use std::time::Duration;

use bessemer_api::bessemer::{HostRecord, HostRecordSpec, HostRecordStatus};
use bessemer_api::metal3::{BareMetalHost, BareMetalHostStatus};
use bessemer_api::well_known::{ENVIRONMENT_LABEL, ENVIRONMENT_VALUE};
use bessemer_bmc::{Address, BmcError, MediaKind, Medium, PowerAction, PowerState};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use kube::runtime::controller::Action;
use kube::{Api, ResourceExt};

use super::HostReconciler;
use super::decide::{Decision, conclude};
use super::effect::{Answer, BmcFailure, Effect, origin};
use super::observe::Sight;
use super::observed::{PowerView, host_id};
use crate::kubernetes::{Asking, Key, ReconcileError, create_or_get, delete, is_deleting, own, time, write};

/// Attempts at writing what happened; true for the last.
const LAST_ATTEMPT: [bool; 5] = [false, false, false, false, true];

impl HostReconciler {
    pub(super) async fn act(&self, key: &Key, sight: Sight, decision: Decision) -> Result<Action, ReconcileError> {
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<HostRecord> = Api::namespaced(self.client.clone(), &key.namespace);
        let host = &sight.observed.host;
        if decision.label_secret
            && let Some(secret) = &sight.secret
        {
            self.label(key, secret).await?;
        }
        let record = self.record(&records, host, sight.record.clone(), &decision.record).await?;
        if let (Some(Effect::LetGo { .. }), Some(record)) = (&decision.effect, &record) {
            // Nobody collects one that was made while the host was going.
            delete(&records, record).await?;
        }
        let host = write(&hosts, host, &dated(host, decision.host, Timestamp::now())).await?;
        let Some(effect) = decision.effect else { return Ok(next(decision.wake)) };

        let answer = self.carry_out(key, &sight, &host, &effect).await;
        match &answer {
            Answer::Failed(failure) => tracing::warn!(host = %key, %effect, why = failure.message, "not done"),
            answer => tracing::info!(host = %key, %effect, ?answer, "host"),
        }
        let concluded = Box::pin(self.settle(key, &sight, host, record, &effect, &answer)).await?;
        // What was just concluded may allow the next step or hold it back: the rules tell.
        Ok(if concluded { Action::requeue(Duration::ZERO) } else { next(decision.wake) })
    }

    /// Writes what came of an effect. It has happened and must not be lost to a race: whoever wrote meanwhile, it is
    /// put on top of that. Answers whether there was anything to write.
    async fn settle(
        &self,
        key: &Key,
        sight: &Sight,
        mut host: BareMetalHost,
        mut record: Option<HostRecord>,
        effect: &Effect,
        answer: &Answer,
    ) -> Result<bool, ReconcileError> {
        if matches!(effect, Effect::LetGo { .. }) {
            return Ok(false);
        }
        let hosts: Api<BareMetalHost> = Api::namespaced(self.client.clone(), &key.namespace);
        let records: Api<HostRecord> = Api::namespaced(self.client.clone(), &key.namespace);
        let (now, jitter) = (Timestamp::now(), sight.observed.seed.jitter);
        let status_of =
            |record: &Option<HostRecord>| record.as_ref().and_then(|record| record.status.clone()).unwrap_or_default();
        let before = status_of(&record);
        let mut concluded = false;
        for last in LAST_ATTEMPT {
            let old = status_of(&record);
            let (mut scratch, mut status) = (host.clone(), old.clone());
            conclude(&mut scratch, &mut status, effect, answer, now, jitter);
            concluded |= status != old;
            // The first thing to remember may be how this went.
            match self.record(&records, &host, record, &status).await {
                Err(ReconcileError::Conflict { .. }) if !last => {
                    record = records.get_opt(&key.name).await.asking("read", format!("HostRecord {key}"))?;
                }
                result => {
                    result?;
                    break;
                }
            }
        }
        for last in LAST_ATTEMPT {
            let (mut after, mut scratch) = (host.clone(), before.clone());
            conclude(&mut after, &mut scratch, effect, answer, now, jitter);
            concluded |= after != host;
            match write(&hosts, &host, &dated(&host, after, now)).await {
                Err(ReconcileError::Conflict { .. }) if !last => {
                    host = hosts.get(&key.name).await.asking("read", format!("BareMetalHost {key}"))?;
                }
                result => {
                    result?;
                    break;
                }
            }
        }
        Ok(concluded)
    }

    fn remember_power(&self, key: &Key, on: bool) {
        let at = Timestamp::now();
        self.power.remember(key, PowerView::Known { on, at }, at);
    }

    /// The record as wanted; made when there was none and there is something to remember. A deletion in the foreground takes
    /// the record first, while the host waits for its erasure: what is remembered of that is then no longer the host's in
    /// the eyes of the garbage collector.
    async fn record(
        &self,
        records: &Api<HostRecord>,
        host: &BareMetalHost,
        record: Option<HostRecord>,
        wanted: &HostRecordStatus,
    ) -> Result<Option<HostRecord>, ReconcileError> {
        let before = match record {
            Some(record) => record,
            None if *wanted == HostRecordStatus::default() => return Ok(None),
            None => {
                let mut metadata = ObjectMeta {
                    name: host.metadata.name.clone(),
                    namespace: host.metadata.namespace.clone(),
                    ..ObjectMeta::default()
                };
                if !is_deleting(host) {
                    own(&mut metadata, host, true);
                }
                create_or_get(records, &HostRecord { metadata, spec: HostRecordSpec {}, status: None }).await?
            }
        };
        let after = HostRecord { status: Some(wanted.clone()), ..before.clone() };
        write(records, &before, &after).await.map(Some)
    }

    async fn label(&self, key: &Key, secret: &Secret) -> Result<(), ReconcileError> {
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &key.namespace);
        let mut after = secret.clone();
        after.labels_mut().insert(ENVIRONMENT_LABEL.to_owned(), ENVIRONMENT_VALUE.to_owned());
        write(&secrets, secret, &after).await.map(drop)
    }

    async fn carry_out(&self, key: &Key, sight: &Sight, host: &BareMetalHost, effect: &Effect) -> Answer {
        match effect {
            Effect::Send(item) => match self.agents.send(item.as_ref().clone()).await {
                Ok(()) => Answer::Done,
                Err(error) => {
                    tracing::debug!(host = %key, %error, "work item not sent");
                    Answer::AgentAway
                }
            },
            Effect::Stored(work) => {
                if let Some(id) = host_id(host) {
                    self.agents.stored(&id, *work).await;
                }
                Answer::Done
            }
            Effect::LetGo { reason } => {
                if let Some(id) = host_id(host) {
                    self.agents.disconnect(&id, reason).await;
                }
                if let Some(Ok(address)) = host.spec.bmc.as_ref().map(|bmc| bmc.address.parse::<Address>()) {
                    self.bmcs.forget(&address);
                }
                self.power.forget(key);
                Answer::Done
            }
            Effect::Identify | Effect::Insert(_) | Effect::Eject | Effect::SetOverride(_) | Effect::Power(_) => {
                self.ask_bmc(key, sight, effect).await.unwrap_or_else(Answer::Failed)
            }
        }
    }

    async fn ask_bmc(&self, key: &Key, sight: &Sight, effect: &Effect) -> Result<Answer, BmcFailure> {
        let failure = |error: BmcError| BmcFailure::from(&error);
        let unusable = |why: &String| BmcFailure { message: why.clone(), transient: false, refused: false };
        let bmc = sight.bmc.as_ref().map_err(unusable)?;
        match effect {
            Effect::Identify => {
                let identity = bmc.identify().await.map_err(failure)?;
                let powered_on = bmc.power_state().await.map_err(failure)? == PowerState::On;
                self.remember_power(key, powered_on);
                Ok(Answer::Identified { identity, powered_on })
            }
            Effect::Insert(url) => {
                let inserted = bmc.insert_media(&Medium::cd(url.as_str())).await.map_err(|error| {
                    let failure = BmcFailure::from(&error);
                    // The whole URL is known to the BMC only: it is the key to the token that lies in the image.
                    BmcFailure { message: failure.message.replace(url.as_str(), &origin(url)), ..failure }
                })?;
                tracing::debug!(host = %key, slot = inserted.slot, read_back = ?inserted.read_back, "virtual media");
                Ok(Answer::Inserted { verified: url.starts_with("https://") && inserted.verified })
            }
            Effect::Eject => match bmc.eject_media(MediaKind::Cd).await {
                Ok(read_back) => {
                    tracing::debug!(host = %key, ?read_back, "virtual media");
                    Ok(Answer::Done)
                }
                // The BMC is another one by now: what has no drive holds nothing.
                Err(BmcError::Unsupported { .. }) => Ok(Answer::Done),
                Err(error) => Err(failure(error)),
            },
            Effect::SetOverride(wanted) => {
                let read_back = bmc.set_boot_override(wanted).await.map_err(failure)?;
                tracing::debug!(host = %key, %wanted, ?read_back, "boot override");
                Ok(Answer::Done)
            }
            Effect::Power(action) => {
                // Whatever comes of it, the old reading is worth nothing.
                self.power.forget(key);
                bmc.power(*action).await.map_err(failure)?;
                match action {
                    PowerAction::On | PowerAction::Reset | PowerAction::Cycle => self.remember_power(key, true),
                    PowerAction::ForceOff => self.remember_power(key, false),
                    PowerAction::GracefulOff => {}
                }
                Ok(Answer::Done)
            }
            Effect::Send(_) | Effect::Stored(_) | Effect::LetGo { .. } => Ok(Answer::Done),
        }
    }
}

fn next(wake: Option<Duration>) -> Action {
    wake.map_or_else(Action::await_change, Action::requeue)
}

/// `after`, with the time of its change if its status changed.
fn dated(before: &BareMetalHost, mut after: BareMetalHost, now: Timestamp) -> BareMetalHost {
    if after.status != before.status
        && let Some(status) = &mut after.status
    {
        *status = BareMetalHostStatus { last_updated: Some(time(now)), ..status.clone() };
    }
    after
}
