//! What controllers are made of, as kube-rs has it: the same checks in-process, over HTTPS, and — so that the checks
//! themselves are right — against a real kube-apiserver.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod controlling;
mod discovering;
mod finalizing;
mod following;
mod leading;
mod recording;
mod shelf;
mod waiting;

use std::time::Duration;

use bessemer_apiserver::ApiServer;
use bessemer_kube_peer::{RealApi, programs};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tempfile::TempDir;

/// Every wait's deadline; two real servers may run beside compilers.
const SOON: Duration = Duration::from_secs(60);

/// Waits for what must come.
async fn soon<T>(what: &str, coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, coming).await.unwrap_or_else(|_| panic!("never happened: {what}"))
}

async fn everything(client: &Client) {
    soon("installing the definition", shelf::install(client)).await;
    discovering::check(client).await;
    waiting::check(client).await;
    following::check(client).await;
    finalizing::check(client).await;
    recording::check(client).await;
    controlling::check(client).await;
    leading::check(client).await;
}

async fn client_of(kubeconfig: &std::path::Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn controllers_work_in_process() {
    let dir = TempDir::new().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    everything(&Client::new(api.router(), "default")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_work_over_https() {
    let dir = TempDir::new().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let listening = api.serve_https("127.0.0.1:0".parse().unwrap(), &[], async {
        stopped.await.ok();
    });
    let serving = listening.await.unwrap();
    everything(&client_of(&serving.kubeconfig_path).await).await;
    stop.send(()).unwrap();
    soon("the end of the listener", serving.finished()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_work_alike_on_a_real_server() {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(reason) => return println!("SKIP {reason}"),
    };
    let starting = tokio::task::spawn_blocking(move || RealApi::start_with_controllers(&programs));
    let api = starting.await.unwrap().unwrap();
    everything(&client_of(&api.kubeconfig).await).await;
}
