//! DMTF's redfishtool drives the fake BMC, and our client reads what it did; and back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::path::Path;
use std::process::{Command, Stdio};

use bessemer_bmc::{BootDevice, BootFirmware, BootLifetime, BootOverride, PowerAction, PowerState};
use bessemer_bmc_peers::peers;
use bessemer_fake_bmc::redfish::tls::Tls;
use bessemer_fake_bmc::{FakeBmc, HostOptions, fleet, seed};
use common::{bmc_as, switch};

#[macro_use]
mod common;

/// What redfishtool prints.
fn redfishtool(folder: &Path, bmc: &FakeBmc, words: &str) -> String {
    // it has no deadline of its own
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120"]).arg(folder.join("redfishtool"));
    command.args(["-r", &bmc.address().to_string(), "-S", "Always", "-A", "Session", "-u", "admin", "-p", "password"]);
    command.args(words.split_whitespace()).env_remove("PYTHONPATH").stdin(Stdio::null());
    let output = command.output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{words}: {out}{error}");
    say!(
        "redfishtool {words}: {}",
        out.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(120).collect::<String>()
    );
    out.into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn redfishtool_and_our_client_see_one_host() {
    let folder = match peers() {
        Ok(folder) => folder,
        Err(why) => {
            println!("SKIP {why}");
            return;
        }
    };
    let fake = fleet::start_one(&seed::minimal().unwrap(), HostOptions::numbered(1), Tls::SelfSigned).await.unwrap();
    let ours = bmc_as(&format!("redfish://{}", fake.address()), "admin", "password");
    let theirs = |words: &str| tokio::task::block_in_place(|| redfishtool(&folder, &fake, words));

    // they write, we read
    theirs("Systems -F reset On");
    assert_eq!(ours.power_state().await.unwrap(), PowerState::On);
    theirs("Systems -F setBootOverride Once Pxe");
    let boot = fake.host().boot_override();
    say!("{boot:?}");
    assert_eq!((boot.target.as_str(), boot.enabled.name()), ("Pxe", "Once"));
    theirs("Systems -F reset ForceOff");
    assert_eq!(ours.power_state().await.unwrap(), PowerState::Off);

    // we write, they read
    let wanted =
        BootOverride { device: BootDevice::Cd, lifetime: BootLifetime::Persistent, firmware: BootFirmware::Uefi };
    say!("{:?}", ours.set_boot_override(&wanted).await.unwrap());
    let shown = theirs("Systems -F get");
    assert!(shown.contains("\"Continuous\"") && shown.contains("\"Cd\"") && shown.contains("UEFI"), "{shown}");
    switch(&*ours, PowerAction::On, PowerState::On).await;
    let shown = theirs("Systems -F get");
    assert!(shown.contains("\"PowerState\": \"On\""), "{shown}");
    // what both say the server is
    let identity = ours.identify().await.unwrap();
    for fact in [identity.uuid, identity.serial, identity.model].into_iter().flatten() {
        assert!(shown.to_lowercase().contains(&fact.to_lowercase()), "{fact} is not in {shown}");
    }
    ours.close().await;
    let sessions = fake.redfish().session_counts();
    assert_eq!(sessions.open, 0, "{sessions:?}");
}
