use bessemer_fake_bmc::host::power::PowerAction;
use bessemer_fake_bmc::{HostOptions, seed};
use serde_json::json;

use crate::client::{Bmc, SYSTEM};

const BIOS: &str = "/redfish/v1/Systems/1/Bios";
const SETTINGS: &str = "/redfish/v1/Systems/1/Bios/Settings";

#[tokio::test]
async fn firmware_attributes_hold_from_the_next_start() {
    let bmc = Bmc::start().await;
    let wanted = json!({ "Attributes": { "SriovGlobalEnable": "Enabled", "MemPatrolInterval": 4294967296_u64 } });
    assert_eq!(bmc.patch(BIOS, wanted.clone()).await.message(), "PropertyNotWritable");
    assert_eq!(bmc.patch(SETTINGS, wanted.clone()).await.status, 204);
    assert_eq!(bmc.get(SETTINGS).await["Attributes"], wanted["Attributes"]);
    assert_eq!(bmc.get(BIOS).await["Attributes"]["SriovGlobalEnable"], "Disabled");
    bmc.change(|behaviour| behaviour.bios_shows_pending = true);
    assert_eq!(bmc.get(BIOS).await["Attributes"]["SriovGlobalEnable"], "Enabled", "a lie of some");
    bmc.change(|behaviour| behaviour.bios_shows_pending = false);
    bmc.reset("On").await;
    let attributes = bmc.get(BIOS).await["Attributes"].take();
    assert_eq!(attributes["SriovGlobalEnable"], "Enabled");
    assert_eq!(attributes["MemPatrolInterval"], 4294967296_u64);
    assert_eq!(bmc.get(SETTINGS).await["Attributes"], json!({}));
    assert_eq!(bmc.post(&format!("{BIOS}/Actions/Bios.ResetBios"), json!({})).await.status, 204);
    bmc.reset("ForceRestart").await;
    assert_eq!(bmc.get(BIOS).await["Attributes"]["SriovGlobalEnable"], "Disabled");
}

#[tokio::test]
async fn the_registry_refuses() {
    let bmc = Bmc::start().await;
    let table = [
        (json!({ "SriovGlobalEnable": "Maybe" }), "PropertyValueNotInList"),
        (json!({ "SriovGlobalEnable": true }), "PropertyValueTypeError"),
        (json!({ "MemPatrolInterval": 0 }), "PropertyValueNotInList"),
        (json!({ "MemPatrolInterval": "1" }), "PropertyValueTypeError"),
        (json!({ "FastBoot": "yes" }), "PropertyValueTypeError"),
        (json!({ "AssetLabel": "x".repeat(64) }), "PropertyValueNotInList"),
        (json!({ "FirmwareBuild": "x" }), "PropertyNotWritable"),
        (json!({ "Shoe": 1 }), "PropertyUnknown"),
    ];
    for (attributes, message) in table {
        let refused = bmc.patch(SETTINGS, json!({ "Attributes": attributes })).await;
        assert_eq!((refused.status, refused.message()), (400, message), "{attributes}");
    }
}

#[tokio::test]
async fn secure_boot_shows_in_the_current_boot_after_a_start() {
    let bmc = Bmc::start().await;
    let path = format!("{SYSTEM}/SecureBoot");
    assert_eq!(bmc.patch(&path, json!({ "SecureBootEnable": true })).await.status, 204);
    let shown = async || {
        let body = bmc.get(&path).await;
        (body["SecureBootEnable"].clone(), body["SecureBootCurrentBoot"].clone())
    };
    assert_eq!(shown().await, (json!(true), json!("Disabled")));
    bmc.reset("On").await;
    assert_eq!(shown().await, (json!(true), json!("Enabled")));
    assert_eq!(bmc.patch(&path, json!({ "SecureBootEnable": "yes" })).await.status, 400);
    let reset = format!("{path}/Actions/SecureBoot.ResetKeys");
    assert_eq!(bmc.post(&reset, json!({ "ResetKeysType": "DeletePK" })).await.status, 204);
    assert_eq!(bmc.get(&path).await["SecureBootMode"], "SetupMode");
}

#[tokio::test]
async fn dumps_have_their_settings_elsewhere() {
    for (dump, bios, settings) in [
        ("dell-r750-idrac9-6.00", "/redfish/v1/Systems/System.Embedded.1/Bios", "Settings"),
        ("lenovo-sr670v2-xcc-2.83", "/redfish/v1/Systems/1/Bios", "Pending"),
        ("supermicro-sys821ge-tnhr", "/redfish/v1/Systems/1/Bios", "SD"),
    ] {
        let Ok(tree) = seed::dump(dump) else { return println!("SKIP no test data: set BESSEMER_TEST_DATA") };
        let bmc = Bmc::with(HostOptions::numbered(0), &tree).await;
        let attributes = bmc.get(bios).await["Attributes"].take();
        let (name, value) = attributes.as_object().unwrap().iter().find(|(_, value)| value.is_string()).unwrap();
        let changed = format!("{}x", value.as_str().unwrap());
        let wanted = json!({ "Attributes": { name: changed } });
        assert_eq!(bmc.patch(&format!("{bios}/{settings}"), wanted).await.status, 204, "{dump} {name}");
        assert_eq!(bmc.get(bios).await["Attributes"][name], *value, "{dump}");
        bmc.fake.host().power_action(PowerAction::On).unwrap();
        assert_eq!(bmc.get(bios).await["Attributes"][name], changed.as_str(), "{dump}");
    }
}
