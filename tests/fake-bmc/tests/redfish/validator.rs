//! DMTF's redfish-service-validator walks the minimal seed, while tasks, sessions, events and media are in it: zero
//! errors. Its redfish-protocol-validator looks at methods, headers and refusals: zero failures. Schemas are those that the crate `nv-redfish-schema` carries, since nothing is downloaded.

use std::path::Path;
use std::time::Duration;

use bessemer_fake_bmc::redfish::behaviour::Reply;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{HostOptions, fleet, seed};
use reqwest::Method;
use serde_json::json;
use tokio::process::Command;

use crate::client::{Bmc, SESSIONS, SYSTEM};

/// Folder of the validator.
pub(crate) const PEERS_VARIABLE: &str = "BESSEMER_PYTHON_PEERS";

const LIMIT: Duration = Duration::from_secs(300);

fn schemas(into: &Path) {
    // Swordfish brings older copies of some of Redfish's
    for folder in [nv_redfish_schema::SWORDFISH_CSDL_DIR, nv_redfish_schema::REDFISH_CSDL_DIR] {
        for file in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            std::fs::copy(file.path(), into.join(file.file_name())).unwrap();
        }
    }
}

#[tokio::test]
async fn the_dmtf_validator_finds_no_error() {
    let Some(peers) = std::env::var_os(PEERS_VARIABLE) else {
        return println!("SKIP {PEERS_VARIABLE} names no Python peers");
    };
    let bmc = Bmc::start().await;
    populate(&bmc).await;
    let folder = tempfile::tempdir().unwrap();
    let (schema, log) = (folder.path().join("schema"), folder.path().join("log"));
    std::fs::create_dir(&schema).unwrap();
    schemas(&schema);
    let mut command = Command::new(Path::new(&peers).join("rf_service_validator"));
    command.args([
        "--rhost",
        &bmc.fake.url(),
        "-u",
        "admin",
        "-p",
        "password",
        "--authtype",
        "Session",
        "--skipschema",
    ]);
    command.arg("--schema_directory").arg(&schema).arg("--logdir").arg(&log).current_dir(folder.path());
    let output = tokio::time::timeout(LIMIT, command.kill_on_drop(true).output());
    let output = output.await.expect("the validator takes too long").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = summary(&text).unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)));
    let [pass, warn, fail, skip] = summary;
    println!("redfish-service-validator: {pass} pass, {warn} warn, {fail} fail, {skip} not tested");
    assert_eq!(fail, 0, "{}", failures(&log).join("\n"));
    assert!(pass > 1200, "it did not see all: {text}");
    let seen = bmc.fake.redfish().session_counts();
    assert_eq!(seen.open, 1, "it leaves the one it was not asked to end: {seen:?}");
}

#[tokio::test]
async fn the_dmtf_protocol_validator_finds_no_failure() {
    let Some(peers) = std::env::var_os(PEERS_VARIABLE) else {
        return println!("SKIP {PEERS_VARIABLE} names no Python peers");
    };
    let fake = fleet::start_one(&seed::minimal().unwrap(), HostOptions::numbered(0), Tls::Authority).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, fake.trusted().unwrap()).unwrap();
    let mut command = Command::new(Path::new(&peers).join("rf_protocol_validator"));
    command.args([
        "--rhost",
        &fake.url(),
        "-u",
        "admin",
        "-p",
        "password",
        "--avoid-http-redirect",
        "--report-dir",
        ".",
    ]);
    // where these are set, Python's requests believes them and not the argument
    command.env_remove("REQUESTS_CA_BUNDLE").env_remove("CURL_CA_BUNDLE");
    command.arg("--ca-bundle").arg(&authority).current_dir(folder.path());
    let output = tokio::time::timeout(LIMIT, command.kill_on_drop(true).output());
    let output = output.await.expect("the validator takes too long").unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let summary = text.lines().find_map(|line| line.strip_prefix("Summary - ")).unwrap_or_default();
    println!("redfish-protocol-validator: {summary}");
    let passed = summary.split([':', ',']).nth(1).and_then(|number| number.trim().parse::<u64>().ok());
    assert!(passed.is_some_and(|passed| passed > 300), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(summary.contains(" FAIL: 0,"), "{}", rows(folder.path(), "tsv", "\tFAIL\t").join("\n"));
}

/// One of everything that is made here and not in the seed.
async fn populate(bmc: &Bmc) {
    bmc.change(|behaviour| behaviour.reset_reply = Reply::Task);
    let accepted = bmc.reset("On").await;
    crate::tasks::followed(bmc, accepted.header("location"), 200).await;
    bmc.change(|behaviour| behaviour.task_time = Duration::from_secs(3600));
    assert_eq!(bmc.reset("ForceRestart").await.status, 202, "a task that runs");
    let who = json!({ "UserName": "admin", "Password": "password" });
    assert_eq!(bmc.post(SESSIONS, who).await.status, 201);
    let insert = format!("{SYSTEM}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia");
    assert_eq!(bmc.post(&insert, json!({ "Image": "http://192.0.2.1/boot.iso" })).await.status, 204);
    let boot = json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp",
        "HttpBootUri": "http://192.0.2.1/boot.efi" } });
    assert_eq!(bmc.patch(SYSTEM, boot).await.status, 204);
    let settings = json!({ "Attributes": { "SriovGlobalEnable": "Enabled" } });
    assert_eq!(bmc.patch(&format!("{SYSTEM}/Bios/Settings"), settings).await.status, 204);
    let subscription = json!({ "Destination": "http://127.0.0.1:1/", "Protocol": "Redfish", "Context": "x" });
    assert_eq!(bmc.post("/redfish/v1/EventService/Subscriptions", subscription).await.status, 201);
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.status, 200);
}

/// The four numbers below the heads of the last table.
fn summary(text: &str) -> Option<[u64; 4]> {
    let mut lines = text.lines().skip_while(|line| !(line.contains("PASS") && line.contains("NOT TESTED")));
    let cells = |line: &str| -> Option<Vec<u64>> {
        line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).map(|cell| cell.parse().ok()).collect()
    };
    lines.find_map(|line| cells(line)?.try_into().ok())
}

fn failures(log: &Path) -> Vec<String> {
    let folders = std::fs::read_dir(log).into_iter().flatten().flatten();
    folders.flat_map(|folder| rows(&folder.path(), "log", " FAIL ")).collect()
}

/// The lines that contain `word` of a folder's files of that extension.
fn rows(folder: &Path, extension: &str, word: &str) -> Vec<String> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|of| of == extension));
    let text: String = files.filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    text.lines().filter(|line| line.contains(word)).map(str::to_owned).collect()
}
