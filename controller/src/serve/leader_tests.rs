//! Several leads on one embedded API.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use bessemer_apiserver::ApiServer;
use futures::TryStreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::sync::{mpsc, oneshot};

use super::*;

const NAMESPACE: &str = "ours";
/// For anything that should happen.
const PATIENCE: Duration = Duration::from_secs(30);
/// Short, and long enough for a busy machine.
const TIMES: Times = Times {
    duration: Duration::from_secs(6),
    renew_deadline: Duration::from_secs(3),
    retry: Duration::from_millis(100),
};
/// A lease without an end: whoever waits for it waits too long.
const ENDLESS: Times = Times {
    duration: Duration::from_secs(3600),
    renew_deadline: Duration::from_secs(60),
    retry: Duration::from_millis(100),
};

struct Lab {
    server: ApiServer,
    client: Client,
    _dir: tempfile::TempDir,
}

impl Lab {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = ApiServer::open(dir.path()).await.unwrap();
        let client = Client::new(server.router(), "default");
        Self { server, client, _dir: dir }
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    async fn lead(&self, times: Times) -> Lead {
        within(acquire(&self.client, NAMESPACE, times, &CancellationToken::new())).await.unwrap().unwrap()
    }

    async fn holder(&self) -> Option<String> {
        self.leases().get(NAME).await.unwrap().spec.unwrap().holder_identity
    }

    /// Returns when the lease has been renewed for `time` from now on.
    async fn renewed_for(&self, time: Duration) {
        let begun = Instant::now();
        let leases = watcher(self.leases(), watcher::Config::default()).applied_objects();
        let mut leases = std::pin::pin!(leases);
        let seen = async {
            while let Some(lease) = leases.try_next().await.unwrap() {
                let held = lease.spec.unwrap().holder_identity.is_some_and(|holder| !holder.is_empty());
                if held && begun.elapsed() > time {
                    return;
                }
            }
        };
        within(seen).await;
    }

    /// The API as a client sees it whose writes of leases are not let through while the switch is on: they are a race that it
    /// loses, or have no answer.
    fn failing(&self, answer: Option<StatusCode>) -> (Client, Arc<AtomicBool>) {
        let fails = Arc::new(AtomicBool::new(false));
        let switch = Arc::clone(&fails);
        let fault = move |request: Request, next: Next| {
            let fails = Arc::clone(&switch);
            async move {
                let writes = [Method::PUT, Method::POST].contains(request.method());
                let is_hit = writes && request.uri().path().contains("/leases") && fails.load(Ordering::SeqCst);
                match answer {
                    _ if !is_hit => next.run(request).await,
                    Some(code) => {
                        let status =
                            r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}"#;
                        (code, status).into_response()
                    }
                    None => std::future::pending::<Response>().await,
                }
            }
        };
        (Client::new(self.server.router().layer(from_fn(fault)), "default"), fails)
    }
}

async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.expect("it takes too long")
}

#[tokio::test]
async fn a_lead_is_kept_from_its_first_moment_and_let_go_when_its_work_fails() {
    let lab = Lab::start().await;
    let stop = Stop::default();
    let (fail, failed) = oneshot::channel::<()>();
    // Work that does not get ready for longer than the lease holds.
    let first = lab.lead(TIMES).await.hold(&stop, |_| async {
        failed.await.ok();
        bail!("the caches were not filled")
    });
    let mut first = std::pin::pin!(first);
    let second = CancellationToken::new();
    let second = acquire(&lab.client, NAMESPACE, TIMES, &second);
    let mut second = std::pin::pin!(second);
    tokio::select! {
        ended = first.as_mut() => panic!("{ended:?}"),
        _ = second.as_mut() => panic!("two lead"),
        () = lab.renewed_for(TIMES.duration + TIMES.retry) => {}
    }
    fail.send(()).unwrap();
    let error = within(first).await.unwrap_err().to_string();
    assert_eq!(error, "the caches were not filled");
    assert_eq!(lab.holder().await.as_deref(), Some(""));
    assert!(within(second).await.unwrap().is_some());
}

#[tokio::test]
async fn work_is_cut_off_at_once_when_another_copy_holds_the_lease() {
    let lab = Lab::start().await;
    let stop = Stop::default();
    let held = lab.lead(ENDLESS).await;
    let take = Patch::Merge(serde_json::json!({ "spec": { "holderIdentity": "another" } }));
    lab.leases().patch(NAME, &PatchParams::default(), &take).await.unwrap();
    // It does not listen; a grace would last for an hour.
    let error = within(held.hold(&stop, |_| std::future::pending())).await.unwrap_err().to_string();
    assert_eq!(error, "another copy has taken the lead");
    assert_eq!(lab.holder().await.as_deref(), Some("another"));
}

#[tokio::test]
async fn the_lease_is_renewed_until_the_work_has_ended() {
    let lab = Lab::start().await;
    let stop = Stop::default();
    let (asked, mut is_asked) = mpsc::channel(1);
    let (end, may_end) = oneshot::channel::<()>();
    let held = lab.lead(TIMES).await.hold(&stop, |ending| async move {
        ending.cancelled().await;
        asked.send(()).await.unwrap();
        may_end.await.ok();
        Ok(())
    });
    stop.gently.cancel();
    let script = async {
        is_asked.recv().await.unwrap();
        lab.renewed_for(TIMES.duration + TIMES.retry).await;
        end.send(()).unwrap();
    };
    let (ended, ()) = within(Box::pin(async { tokio::join!(held, script) })).await;
    ended.unwrap();
    assert_eq!(lab.holder().await.as_deref(), Some(""));
}

#[tokio::test]
async fn work_that_does_not_end_is_cut_off_and_the_lease_is_let_go() {
    let lab = Lab::start().await;
    let stop = Stop::default();
    stop.now.cancel();
    let error = within(lab.lead(ENDLESS).await.hold(&stop, |_| std::future::pending())).await.unwrap_err();
    assert!(error.to_string().contains("cut off"), "{error}");
    assert_eq!(lab.holder().await.as_deref(), Some(""));
}

#[tokio::test]
async fn a_lost_race_and_no_answer_are_no_renewals() {
    for answer in [Some(StatusCode::CONFLICT), None] {
        let lab = Lab::start().await;
        let stop = Stop::default();
        let (client, fails) = lab.failing(answer);
        let lead = within(acquire(&client, NAMESPACE, TIMES, &CancellationToken::new())).await.unwrap().unwrap();
        fails.store(true, Ordering::SeqCst);
        let won = lead.renewed;
        // It is asked to end, and does, before its lease does.
        let (ends, mut ended) = mpsc::channel(1);
        let held = lead.hold(&stop, |ending| async move {
            ending.cancelled().await;
            ends.send(won.elapsed()).await.unwrap();
            Ok(())
        });
        let error = within(held).await.unwrap_err().to_string();
        assert!(error.contains("could not be renewed for 3s"), "{error}");
        let after = ended.recv().await.unwrap();
        assert!(after >= TIMES.renew_deadline && after < TIMES.duration, "{answer:?}: {after:?}");
    }
}

#[tokio::test]
async fn a_copy_that_waits_for_an_answer_ends_when_told_to() {
    let lab = Lab::start().await;
    let (client, fails) = lab.failing(None);
    fails.store(true, Ordering::SeqCst);
    let stop = CancellationToken::new();
    let waiting = acquire(&client, NAMESPACE, ENDLESS, &stop);
    let script = async {
        // Its namespace is there: what comes next is the lease, which has no answer.
        let namespaces = Api::<k8s_openapi::api::core::v1::Namespace>::all(lab.client.clone());
        kube::runtime::wait::await_condition(namespaces, NAMESPACE, |found: Option<&_>| found.is_some()).await.unwrap();
        stop.cancel();
    };
    let (ended, ()) = within(Box::pin(async { tokio::join!(waiting, script) })).await;
    assert!(ended.unwrap().is_none());
}

#[tokio::test]
async fn one_of_many_leads() {
    let lab = Lab::start().await;
    let leads = Arc::new(AtomicBool::new(false));
    let mut copies = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let (client, leads) = (lab.client.clone(), Arc::clone(&leads));
        copies.spawn(async move {
            let lead = acquire(&client, NAMESPACE, TIMES, &CancellationToken::new()).await.unwrap().unwrap();
            let work = |_| async {
                assert!(!leads.swap(true, Ordering::SeqCst), "two lead");
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                leads.store(false, Ordering::SeqCst);
                Ok(())
            };
            lead.hold(&Stop::default(), work).await.unwrap();
        });
    }
    within(async {
        while let Some(copy) = copies.join_next().await {
            copy.unwrap();
        }
    })
    .await;
}
