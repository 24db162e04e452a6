//! The IPMI side, held against clients that share no code with it: `ipmitool`, pyghmi, and the product's own, which must
//! all see the same server; and the product's client against everything that can go wrong between it and a controller.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

mod client;
mod console;
mod faults;
mod ipmitool;
mod pyghmi;
mod quirks;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use bessemer_fake_bmc::ipmi::{Options, Server};
use bessemer_fake_bmc::{Host, HostOptions};
use ipmi_client::{CipherSuite, Client, Login, SUITE_3, SUITE_17};

const USER: &str = "admin";
const PASSWORD: &str = "correct-horse-batter";
const SUITES: [&CipherSuite; 2] = [&SUITE_17, &SUITE_3];

/// A host with a password of the full 20 bytes, and its controller.
async fn start(options: Options) -> (Arc<Host>, Server) {
    let host = host();
    let server = Server::start(Arc::clone(&host), options).await.unwrap();
    (host, server)
}

fn host() -> Arc<Host> {
    let host = Host::new(HostOptions::numbered(7));
    host.users().named_mut(USER).unwrap().password = PASSWORD.to_owned();
    host.users().add("looker", "look", "ReadOnly");
    host
}

/// A client that loses patience soon.
fn quick() -> ipmi_client::Options {
    ipmi_client::Options {
        deadline: Duration::from_secs(6),
        retransmit_after: Duration::from_millis(200),
        give_up_session_after: Duration::from_secs(1),
        ask_again_for: Duration::from_secs(3),
        ..ipmi_client::Options::default()
    }
}

fn client_with(server: &Server, user: &str, password: &str, options: ipmi_client::Options) -> Client {
    Client::new("127.0.0.1", server.address().port(), Login::new(user, password).unwrap(), options)
}

fn client(server: &Server) -> Client {
    client_with(server, USER, PASSWORD, quick())
}

/// A program's whole output; panics when it fails.
async fn output(command: &mut tokio::process::Command) -> String {
    let run = tokio::time::timeout(Duration::from_secs(60), command.kill_on_drop(true).output());
    let output = run.await.expect("within a minute").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}
