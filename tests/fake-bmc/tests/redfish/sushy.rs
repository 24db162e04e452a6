//! Ironic's client drives the fake, over TLS and with a session.

use std::path::Path;
use std::time::Duration;

use bessemer_fake_bmc::machine::BootSource;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{HostOptions, fleet, seed};
use tokio::process::Command;

use crate::validator::PEERS_VARIABLE;

const SEEN: &str = "\
power Off
power On
boot Pxe Once UEFI
media http://192.0.2.1/boot.iso True
media None False
pending {'SriovGlobalEnable': 'Enabled'}
bios Enabled secure boot Enabled
macs 52:54:01:00:00:05 52:54:02:00:00:05
firmware 1.4.2 2.12.0 20.5.13
";

#[tokio::test]
async fn ironic_s_client_does_what_ironic_does() {
    let Some(peers) = std::env::var_os(PEERS_VARIABLE) else {
        return println!("SKIP {PEERS_VARIABLE} names no Python peers");
    };
    let fake = fleet::start_one(&seed::minimal().unwrap(), HostOptions::numbered(5), Tls::Authority).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (script, authority) = (folder.path().join("drive.py"), folder.path().join("authority.pem"));
    std::fs::write(&script, include_str!("drive.py")).unwrap();
    std::fs::write(&authority, fake.trusted().unwrap()).unwrap();
    let mut command = Command::new(Path::new(&peers).join("python3"));
    command.arg(script).arg(fake.url()).arg(authority).env_remove("REQUESTS_CA_BUNDLE").env_remove("CURL_CA_BUNDLE");
    let output = tokio::time::timeout(Duration::from_secs(60), command.kill_on_drop(true).output());
    let output = output.await.expect("sushy takes too long").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, SEEN, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fake.host().last_boot().unwrap().source, BootSource::Pxe, "the restart took the override");
    let sessions = fake.redfish().session_counts();
    assert_eq!((sessions.created, sessions.failed), (1, 0), "{sessions:?}");
}
