//! The boot override, against what BMCs were seen to do with it.

use serde_json::json;

use super::scripted::{SYSTEM, Scripted, answer, status, system};
use crate::{Bmc as _, BootDevice, BootOverride, PowerAction};

fn boot(enabled: &str, target: &str, mode: &str) -> serde_json::Value {
    json!({"Boot": {
        "BootSourceOverrideEnabled": enabled, "BootSourceOverrideTarget": target, "BootSourceOverrideMode": mode,
    }})
}

/// A strict BMC: it takes no change of a resource without `If-Match`, and no action with one.
#[tokio::test]
async fn c169_c202_an_etag_goes_with_the_change_it_is_for_and_with_nothing_else() {
    let bmc = Scripted::start(|seen, before| {
        let changed = before.iter().any(|seen| seen.method == "PATCH" && seen.header("if-match") == Some("\"7\""));
        let boot = if changed { boot("Once", "Pxe", "UEFI") } else { boot("Disabled", "None", "UEFI") };
        match (seen.method.as_str(), seen.header("if-match")) {
            ("GET", _) => {
                let body = system("On", &["On", "ForceRestart"], boot).to_string();
                answer(200, &[("ETag", "\"7\"")], &body)
            }
            ("PATCH", Some("\"7\"")) | ("POST", None) => status(204),
            ("PATCH", None) => status(428),
            _ => status(412),
        }
    });
    let bmc = bmc.await;
    let client = bmc.bmc();
    let read_back = client.set_boot_override(BootOverride::once(BootDevice::Pxe)).await.unwrap();
    assert_eq!(read_back, crate::ReadBack::Confirmed);
    client.power(PowerAction::Reset).await.unwrap();
    let lines: Vec<String> = bmc.writes().iter().map(super::scripted::Seen::line).collect();
    assert_eq!(lines, [format!("PATCH {SYSTEM}"), format!("POST {SYSTEM}/Actions/ComputerSystem.Reset")]);
}
