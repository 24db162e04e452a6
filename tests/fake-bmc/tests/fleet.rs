//! A thousand hosts in one process, and nothing else in it: its memory is looked at.

#![cfg(test)]

use std::time::Instant;

use bessemer_fake_bmc::{FleetOptions, fleet, seed};
use futures::StreamExt as _;
use futures::stream;

const HOSTS: u32 = 1000;

/// Of this process, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_hosts_start_in_one_process_and_answer() {
    let tree = seed::dump("dell-r750-idrac9-6.00").or_else(|_| seed::minimal()).unwrap();
    let system = tree.system().unwrap().to_owned();
    let (before, start) = (resident(), Instant::now());
    let fleet = fleet::start(FleetOptions::new(tree, HOSTS)).await.unwrap();
    let (started, after_start) = (start.elapsed(), resident());
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let authority = reqwest::Certificate::from_pem(fleet[0].trusted().unwrap().as_bytes()).unwrap();
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([authority]).build().unwrap();
    let start = Instant::now();
    let requests = fleet.iter().map(|bmc| {
        let request = client.get(format!("{}{system}", bmc.url())).basic_auth("admin", Some("password"));
        async move {
            let body: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
            body["UUID"].as_str().unwrap().to_ascii_lowercase()
        }
    });
    let mut uuids: Vec<String> = stream::iter(requests).buffer_unordered(32).collect().await;
    let (polled, after_poll) = (start.elapsed(), resident());
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), HOSTS as usize, "each is itself");
    let of_each = after_start.saturating_sub(before) / u64::from(HOSTS);
    println!("{HOSTS} hosts: started in {started:?}, {of_each} KiB each; each asked once over TLS in {polled:?}");
    println!("resident: {before} KiB before, {after_start} started, {after_poll} asked (with the client's half)");
    assert!(of_each < 64, "{of_each} KiB for a host that nobody has used");
}
