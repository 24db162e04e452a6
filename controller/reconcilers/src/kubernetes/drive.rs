//! Runs one reconciler over its controller's triggers, with a back-off for each object.

use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::{FutureExt as _, StreamExt};
use kube::Resource;
use kube::runtime::Controller;
use kube::runtime::controller::{Action, Config};
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::metrics;

use super::{Backoff, Key, ReconcileError, jitter};

/// Between reconciles of one object that failed; errors that reach this far are the API's.
const RETRY: Backoff = Backoff { first: Duration::from_millis(500), ceiling: Duration::from_secs(120) };
/// After a lost race: the other's write is on its way to us.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);
/// Objects of one kind at once.
const CONCURRENCY: u16 = 50;

/// One kind's observe → decide → act.
pub(crate) trait Reconciler: Send + Sync + 'static {
    /// Brings the object one step nearer to what it should be.
    fn reconcile(&self, key: &Key) -> impl Future<Output = Result<Action, ReconcileError>> + Send;
}

struct Driven<R> {
    name: &'static str,
    reconciler: R,
    failures: Mutex<HashMap<Key, i32>>,
}

impl<R> Driven<R> {
    fn failures(&self, key: &Key, failed: bool) -> i32 {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if !failed {
            failures.remove(key);
            return 0;
        }
        let count = failures.entry(key.clone()).or_insert(0);
        *count = count.saturating_add(1);
        *count
    }
}

/// Ends when `shutdown` does and the reconciles under way have ended.
pub(crate) async fn drive<K, R>(
    name: &'static str,
    controller: Controller<K>,
    reconciler: R,
    shutdown: CancellationToken,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Eq + Hash + Clone + Debug + Unpin,
    R: Reconciler,
{
    let context = Arc::new(Driven { name, reconciler, failures: Mutex::default() });
    let (store, asked) = (controller.store(), shutdown.clone());
    // What was not listed yet will not be any more: no reconcile has begun, and the controller would wait for ever.
    let ended_before_begun = async move {
        asked.cancelled().await;
        if store.wait_until_ready().now_or_never().is_some() {
            std::future::pending::<()>().await;
        }
    };
    let running = controller
        .with_config(Config::default().concurrency(CONCURRENCY))
        .graceful_shutdown_on(shutdown.cancelled_owned())
        .run(
            |object: Arc<K>, context: Arc<Driven<R>>| async move {
                let key = Key::of(object.as_ref());
                let begun = Instant::now();
                let result = context.reconciler.reconcile(&key).await;
                metrics::count(context.name, begun.elapsed(), result.is_ok());
                if result.is_ok() {
                    context.failures(&key, false);
                }
                result
            },
            |object, error, context| after_error(&Key::of(object.as_ref()), error, &context),
            context,
        )
        .for_each(|_| std::future::ready(()));
    tokio::select! {
        () = running => {}
        () = ended_before_begun => {}
    }
    tracing::debug!(name, "controller ended");
}

fn after_error<R>(key: &Key, error: &ReconcileError, context: &Driven<R>) -> Action {
    if let ReconcileError::Conflict { what } = error {
        tracing::debug!(controller = context.name, object = %key, %what, "lost a race, deciding again");
        return Action::requeue(AFTER_CONFLICT);
    }
    let failures = context.failures(key, true);
    let wait = RETRY.after(failures, jitter());
    let error: &dyn std::error::Error = error;
    let source = error.source().map(ToString::to_string);
    tracing::warn!(controller = context.name, object = %key, %error, source, failures, ?wait, "reconcile failed");
    Action::requeue(wait)
}

#[cfg(test)]
mod tests {
    use bessemer_api::cluster::Cluster;
    use kube::runtime::watcher;
    use kube::{Api, Client};

    use super::*;

    struct Never;

    impl Reconciler for Never {
        async fn reconcile(&self, _: &Key) -> Result<Action, ReconcileError> {
            unreachable!("nothing was listed")
        }
    }

    #[tokio::test]
    async fn ends_also_when_the_api_never_answered() {
        let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
            std::future::pending::<Result<http::Response<kube::client::Body>, std::convert::Infallible>>()
        });
        let clusters = Api::<Cluster>::all(Client::new(silent, "default"));
        let shutdown = CancellationToken::new();
        let driven = drive("cluster", Controller::new(clusters, watcher::Config::default()), Never, shutdown.clone());
        let driven = tokio::spawn(driven);
        tokio::task::yield_now().await;
        shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(30), driven).await.expect("it still waits").unwrap();
    }
}
