//! Leader election by Lease, by a manager that applies it and lets the server decide conflicts.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::Api;
use kube_lease_manager::{LeaseManager, LeaseManagerBuilder};
use tokio::sync::watch::Receiver;

use crate::shelf::namespace;
use crate::soon;

async fn candidate(client: &Client, name: &str) -> LeaseManager {
    LeaseManagerBuilder::new(client.clone(), "lead")
        .with_namespace("leading")
        .with_identity(name)
        .with_duration(3)
        .with_grace(1)
        .build()
        .await
        .unwrap()
}

async fn leads(receiver: &mut Receiver<bool>) {
    soon("leading", receiver.wait_for(|leads| *leads)).await.unwrap();
}

async fn holder(client: &Client) -> Option<String> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "leading");
    leases.get("lead").await.unwrap().spec.and_then(|spec| spec.holder_identity)
}

pub(crate) async fn check(client: &Client) {
    namespace(client, "leading").await;
    let (mut first, first_task) = candidate(client, "first").await.watch().await;
    leads(&mut first).await;
    assert_eq!(holder(client).await.as_deref(), Some("first"));

    let (mut second, second_task) = candidate(client, "second").await.watch().await;
    // in turn: it does not lead while the first renews its lease
    let renewed = async {
        let leases: Api<Lease> = Api::namespaced(client.clone(), "leading");
        let renewals = || async { leases.get("lead").await.unwrap().spec.unwrap().renew_time };
        let before = renewals().await;
        while renewals().await == before {
            tokio::task::yield_now().await;
        }
    };
    soon("a renewal", renewed).await;
    assert!(!*second.borrow_and_update());
    assert!(*first.borrow());

    // ended in good order, it gives the lease back at once
    drop(first);
    soon("the first's end", first_task).await.unwrap().unwrap();
    leads(&mut second).await;
    assert_eq!(holder(client).await.as_deref(), Some("second"));

    // ended without a word, its lease runs out
    second_task.abort();
    let (mut third, third_task) = candidate(client, "third").await.watch().await;
    leads(&mut third).await;
    assert_eq!(holder(client).await.as_deref(), Some("third"));
    drop(third);
    soon("the third's end", third_task).await.unwrap().unwrap();
}
