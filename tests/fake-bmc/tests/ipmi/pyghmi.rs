//! pyghmi's client, in both suites.

use std::path::PathBuf;

use bessemer_fake_bmc::host::boot::{BootMode, Persistence};
use bessemer_fake_bmc::host::power::PowerState;
use bessemer_fake_bmc::ipmi::Options;
use ipmi_client::command::GetBootFlags;
use tokio::process::Command;

use super::{PASSWORD, SUITES, USER, client, output, start};

const SCRIPT: &str = r#"
import json, sys
from pyghmi.ipmi import command
bmc = command.Command(bmc="127.0.0.1", port=int(sys.argv[1]), userid=sys.argv[2], password=sys.argv[3])
seen = {"before": bmc.get_power()["powerstate"]}
bmc.set_bootdev("network", persist=True, uefiboot=True)
boot = bmc.get_bootdev()
seen["boot"] = [boot["bootdev"], boot["persistent"], boot["uefimode"]]
bmc.set_power("on", wait=20)
seen["after"] = bmc.get_power()["powerstate"]
seen["sensors"] = {r.name: r.value for r in bmc.get_sensor_data() if r.value is not None}
seen["inventory"] = {name: info for name, info in bmc.get_inventory() if info}
seen["log"] = len(list(bmc.get_event_log()))
print(json.dumps(seen, default=str))
"#;

fn python() -> Option<PathBuf> {
    let Some(peers) = std::env::var_os("BESSEMER_PYTHON_PEERS") else {
        eprintln!("SKIP BESSEMER_PYTHON_PEERS names no folder with pyghmi");
        return None;
    };
    Some(PathBuf::from(peers).join("python3"))
}

#[tokio::test]
async fn sees_what_the_products_client_sees() {
    let Some(python) = python() else { return };
    for suite in SUITES {
        let (host, server) = start(Options { suites: vec![suite.id], ..Options::default() }).await;
        let port = server.address().port().to_string();
        let text = output(Command::new(&python).args(["-c", SCRIPT, &port, USER, PASSWORD])).await;
        let seen: serde_json::Value = serde_json::from_str(text.trim()).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!((&seen["before"], &seen["after"]), (&"off".into(), &"on".into()));
        assert_eq!(seen["boot"], serde_json::json!(["network", true, true]));
        assert_eq!(host.power(), PowerState::On);
        let boot = host.boot_override();
        assert_eq!((boot.enabled, boot.mode), (Persistence::Continuous, BootMode::Uefi));

        let client = client(&server);
        let flags = client.execute(&GetBootFlags).await.unwrap().flags;
        assert!(flags.valid && flags.persistent && flags.efi);
        let mut compared = 0;
        for sensor in client.read_sdr().await.unwrap().sensors {
            let ipmi_client::Reading::Value(ours) = client.read_sensor(&sensor).await.unwrap().reading else {
                continue;
            };
            let theirs = seen["sensors"][&sensor.name].as_f64().unwrap_or_else(|| panic!("{}: {seen}", sensor.name));
            assert!((theirs - ours).abs() < 0.01, "{}: {theirs}, {ours}", sensor.name);
            compared += 1;
        }
        assert_eq!(compared, 5);
        let serial = client.read_fru(0).await.unwrap().product.unwrap().serial.unwrap();
        assert!(seen["inventory"].to_string().contains(&serial), "{seen}");
        assert_eq!(seen["log"], client.read_sel(None, 100).await.unwrap().entries.len());
    }
}
