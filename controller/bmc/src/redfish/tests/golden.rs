//! What we make of each captured server, against files that were reviewed by hand: who it is, what is in it, how it is
//! powered and booted. `BESSEMER_UPDATE_GOLDEN=1 cargo test -p bessemer-bmc golden` writes them anew.

use std::path::Path;

use serde::Serialize;
use serde_json::json;

use super::super::power::plan;
use super::super::quirks::Subject;
use super::replay::Replay;
use crate::{
    Bmc as _, BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, Capabilities, Identity, Inventory,
    MediaKind, MediaSlot, Medium, PowerAction, ReadBack, Sensor,
};

/// The captured servers; of several systems behind one BMC, which. The shown name is the file's.
const SERVERS: &[(&str, &str)] = &[
    ("dell-r630-idrac8-2.81", ""),
    ("dell-r750-idrac9-6.00", ""),
    ("dmtf-public-bladed", "/redfish/v1/Systems/553YD1100W5"),
    ("dmtf-public-bladed", "/redfish/v1/Systems/445CM0403J1"),
    ("dmtf-public-rackmount1", ""),
    ("hpe-cray-ex4252-4node", "/redfish/v1/Systems/Node0"),
    ("hpe-cray-ex4252-4node", "/redfish/v1/Systems/Node2"),
    ("hpe-dl325gen10plus-ilo5-2.46", ""),
    ("hpe-dl385gen10plusv2-ilo5-2.72", ""),
    ("intel-s2600bpb-1.93", ""),
    ("lenovo-sr670v2-xcc-2.83", ""),
    ("nvidia-bluefield3-bmc-24.10", ""),
    ("nvidia-dgxh100-ami-23.11", ""),
    ("openbmc-stock-2.15-dev", ""),
    ("supermicro-sys821ge-tnhr", ""),
    ("supermicro-x10-b", ""),
];

/// One file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Golden {
    identity: Identity,
    capabilities: Capabilities,
    inventory: Inventory,
    sensors: Vec<String>,
    media: Vec<MediaSlot>,
    insert_cd: Vec<String>,
    eject_cd: Vec<String>,
    power: Vec<Step>,
    boot: Vec<Step>,
}

/// One act: why it goes this way, what was written, and what came of it.
#[derive(Serialize)]
struct Step {
    act: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    why: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    writes: Vec<String>,
    outcome: String,
}

async fn golden(replay: &Replay, system: &str) -> Golden {
    let bmc = replay.bmc(system);
    let identity = bmc.identify().await.unwrap();
    let at = identity.system_id.clone().unwrap();
    let capabilities = bmc.capabilities().await.unwrap();
    replay.reset(&at, json!({}));
    let inventory = bmc.inventory().await.unwrap();
    let reads = replay.reads();
    assert!(reads < 400, "{reads} resources read for one inventory");
    println!("{at}: {identity}, {reads} resources read for the inventory");
    let sensors = bmc.sensors().await.unwrap().iter().map(sensor).collect();
    let media = bmc.media().await.unwrap();
    replay.reset(&at, json!({}));
    let inserted = bmc.insert_media(&Medium::cd("http://192.0.2.1/boot/host.iso")).await;
    let mut insert_cd = replay.writes();
    insert_cd.push(outcome(inserted.map(|inserted| inserted.read_back)));
    let written = replay.writes().len();
    let ejected = bmc.eject_media(MediaKind::Cd).await;
    let mut eject_cd: Vec<String> = replay.writes().split_off(written);
    eject_cd.push(outcome(ejected));
    Golden {
        identity,
        capabilities,
        inventory,
        sensors,
        media,
        insert_cd,
        eject_cd,
        power: power(replay, system, &at).await,
        boot: boot(replay, system, &at).await,
    }
}

async fn power(replay: &Replay, system: &str, at: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (action, before) in [
        (PowerAction::On, "Off"),
        (PowerAction::ForceOff, "On"),
        (PowerAction::GracefulOff, "On"),
        (PowerAction::Reset, "On"),
        (PowerAction::Cycle, "On"),
    ] {
        replay.reset(at, json!({"PowerState": before}));
        let bmc = replay.bmc(system);
        let resource = bmc.system("a test").await.unwrap();
        let listed = match resource.action("ComputerSystem.Reset") {
            Some(reset) => bmc.reset_types("a test", &reset).await.unwrap(),
            None => None,
        };
        let why = match (&listed, plan(action, listed.as_deref(), &Subject::of(&resource))) {
            (_, Err(why)) => why,
            (None, Ok(ways)) => format!("it lists no reset types; in turn {ways:?}"),
            (Some(listed), Ok(ways)) => format!("of {}: in turn {ways:?}", listed.join(", ")),
        };
        let outcome = match bmc.power(action).await {
            Ok(()) => "done".to_owned(),
            Err(error) => plain(&error),
        };
        steps.push(Step { act: action.to_string(), why, writes: replay.writes(), outcome });
    }
    steps
}

async fn boot(replay: &Replay, system: &str, at: &str) -> Vec<Step> {
    let http = BootDevice::UefiHttp(Some("http://192.0.2.1/boot.efi".to_owned()));
    let mut steps = Vec::new();
    for device in [BootDevice::Pxe, http, BootDevice::Cd, BootDevice::Disk, BootDevice::None] {
        for lifetime in [BootLifetime::Once, BootLifetime::Persistent] {
            for firmware in [BootFirmware::Uefi, BootFirmware::Legacy] {
                let is_plain = lifetime == BootLifetime::Once && firmware == BootFirmware::Uefi;
                if device == BootDevice::None && !is_plain {
                    continue;
                }
                replay.reset(at, json!({}));
                let wanted = BootOverride { device: device.clone(), lifetime, firmware };
                let outcome = outcome(replay.bmc(system).set_boot_override(&wanted).await);
                steps.push(Step { act: wanted.to_string(), why: String::new(), writes: replay.writes(), outcome });
            }
        }
    }
    steps
}

fn outcome(answer: Result<ReadBack, BmcError>) -> String {
    match answer {
        Ok(ReadBack::Confirmed) => "confirmed".to_owned(),
        Ok(ReadBack::Pending(why)) => format!("pending: {why}"),
        Ok(ReadBack::Unverifiable(why)) => format!("unverifiable: {why}"),
        Err(error) => plain(&error),
    }
}

/// The error without the address, which changes.
fn plain(error: &BmcError) -> String {
    let text = error.to_string();
    let text = text.split_whitespace().filter(|word| !word.contains("127.0.0.1")).collect::<Vec<_>>().join(" ");
    format!("error: {text}")
}

fn sensor(sensor: &Sensor) -> String {
    let reading = sensor.reading.map_or_else(|| "no reading".to_owned(), |reading| reading.to_string());
    let health = sensor.health.map_or_else(|| "unknown".to_owned(), |health| health.to_string());
    let limits = serde_json::to_string(&sensor.thresholds).unwrap();
    format!("{}, {}: {reading} {}, {health}, {limits}", sensor.name, sensor.kind, sensor.unit)
}

#[tokio::test]
async fn golden_files_of_all_captured_servers_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/redfish");
    let update = std::env::var_os("BESSEMER_UPDATE_GOLDEN").is_some();
    let mut different = Vec::new();
    for (dump, system) in SERVERS {
        let Some(replay) = Replay::start(dump).await else { return };
        let made = serde_saphyr::to_string(&golden(&replay, system).await).unwrap();
        let name = match system.rsplit_once('/') {
            Some((_, id)) => format!("{dump}.{id}.yaml"),
            None => format!("{dump}.yaml"),
        };
        let path = folder.join(&name);
        if update {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&path, &made).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        let line = made.lines().zip(found.lines()).find(|(made, found)| made != found);
        if made != found {
            different.push(format!("{name}: made, found: {line:?}"));
        }
    }
    assert!(
        different.is_empty(),
        "{different:#?}\nif that is right: BESSEMER_UPDATE_GOLDEN=1 cargo test -p bessemer-bmc golden"
    );
}
