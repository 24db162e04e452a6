use bessemer_fake_bmc::host::boot::BootMode;
use bessemer_fake_bmc::machine::BootSource;
use bessemer_fake_bmc::seed;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Bmc, SYSTEM};

fn boot(enabled: &str, target: &str, mode: &str) -> Value {
    json!({ "Boot": {
        "BootSourceOverrideEnabled": enabled, "BootSourceOverrideTarget": target, "BootSourceOverrideMode": mode
    } })
}

async fn shown(bmc: &Bmc) -> [Value; 3] {
    let boot = bmc.get(SYSTEM).await["Boot"].take();
    ["Enabled", "Target", "Mode"].map(|name| boot[format!("BootSourceOverride{name}")].clone())
}

fn last(bmc: &Bmc) -> (BootSource, BootMode) {
    let boot = bmc.fake.host().last_boot().unwrap();
    (boot.source, boot.mode)
}

#[tokio::test]
async fn once_is_used_up_by_the_next_start() {
    let bmc = Bmc::start().await;
    assert_eq!(bmc.patch(SYSTEM, boot("Once", "Pxe", "UEFI")).await.status, 204);
    assert_eq!(shown(&bmc).await, ["Once", "Pxe", "UEFI"]);
    bmc.reset("On").await;
    assert_eq!(last(&bmc), (BootSource::Pxe, BootMode::Uefi));
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "UEFI"]);
    bmc.reset("ForceRestart").await;
    assert_eq!(last(&bmc).0, BootSource::Disk);
}

#[tokio::test]
async fn continuous_holds_until_it_is_taken_away() {
    let bmc = Bmc::start().await;
    bmc.patch(SYSTEM, boot("Continuous", "Pxe", "Legacy")).await;
    for _ in 0..2 {
        bmc.reset("On").await;
        assert_eq!(last(&bmc), (BootSource::Pxe, BootMode::Legacy));
        bmc.reset("ForceOff").await;
    }
    bmc.patch(SYSTEM, json!({ "Boot": { "BootSourceOverrideEnabled": "Disabled" } })).await;
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "Legacy"]);
    bmc.reset("On").await;
    assert_eq!(last(&bmc).0, BootSource::Disk);
}

#[tokio::test]
async fn http_boot_takes_its_address() {
    let bmc = Bmc::start().await;
    let mut body = boot("Once", "UefiHttp", "UEFI");
    body["Boot"]["HttpBootUri"] = json!("http://192.0.2.1/boot.efi");
    assert_eq!(bmc.patch(SYSTEM, body).await.status, 204);
    assert_eq!(bmc.get(SYSTEM).await["Boot"]["HttpBootUri"], "http://192.0.2.1/boot.efi");
    bmc.reset("On").await;
    assert_eq!(last(&bmc).0, BootSource::Http { url: Some("http://192.0.2.1/boot.efi".to_owned()) });
}

#[tokio::test]
async fn what_the_model_has_not_is_refused() {
    let bmc = Bmc::start().await;
    let table = [
        (boot("Once", "Tape", "UEFI"), "PropertyValueNotInList"),
        (boot("Often", "Pxe", "UEFI"), "PropertyValueNotInList"),
        (boot("Once", "Pxe", "BIOS"), "PropertyValueNotInList"),
        (json!({ "Boot": { "Shoe": 1 } }), "PropertyUnknown"),
        (json!({ "UUID": "x" }), "PropertyNotWritable"),
        (json!({ "Nonsense": 1 }), "PropertyUnknown"),
        (json!({ "AssetTag": 1 }), "PropertyValueTypeError"),
        (json!({}), "NoOperation"),
    ];
    for (body, message) in table {
        let refused = bmc.patch(SYSTEM, body.clone()).await;
        assert_eq!((refused.status, refused.message()), (400, message), "{body}");
    }
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "UEFI"]);
    let mixed = bmc.patch(SYSTEM, json!({ "AssetTag": "rack 7", "UUID": "x" })).await;
    assert_eq!((mixed.status, &mixed.body["AssetTag"]), (200, &json!("rack 7")));
    let said = mixed.body["@Message.ExtendedInfo"][0]["MessageId"].as_str().unwrap();
    assert!(said.ends_with(".PropertyNotWritable"), "what could be done was done, and the rest said: {said}");
}

#[tokio::test]
async fn quirks_of_the_override() {
    let target_only = json!({ "Boot": { "BootSourceOverrideTarget": "Pxe" } });
    let bmc = Bmc::start().await;
    bmc.change(|behaviour| behaviour.boot_needs_all = true);
    assert_eq!(bmc.patch(SYSTEM, target_only.clone()).await.status, 204);
    assert_eq!(shown(&bmc).await, ["Disabled", "None", "UEFI"], "silently nothing");
    bmc.patch(SYSTEM, boot("Continuous", "Hdd", "UEFI")).await;
    assert_eq!(shown(&bmc).await, ["Continuous", "Hdd", "UEFI"]);
    bmc.change(|behaviour| {
        behaviour.boot_needs_all = false;
        behaviour.boot_forgets_mode = true;
        behaviour.boot_falls_to_once = true;
    });
    bmc.patch(SYSTEM, target_only).await;
    assert_eq!(shown(&bmc).await, ["Once", "Pxe", "Legacy"]);
}

#[tokio::test]
async fn a_settings_resource_takes_the_override() {
    let Ok(tree) = seed::dump("nvidia-dgxh100-ami-23.11") else {
        return println!("SKIP no test data: set BESSEMER_TEST_DATA");
    };
    let bmc = Bmc::with(bessemer_fake_bmc::HostOptions::numbered(0), &tree).await;
    bmc.change(|behaviour| behaviour.boot_in_settings_only = true);
    let body = json!({ "Boot": { "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp" } });
    let refused = bmc.patch("/redfish/v1/Systems/DGX", body.clone()).await;
    assert_eq!((refused.status, refused.message()), (400, "PropertyNotWritable"));
    assert_eq!(bmc.patch("/redfish/v1/Systems/DGX/SD", body).await.status, 204);
    for path in ["/redfish/v1/Systems/DGX/SD", "/redfish/v1/Systems/DGX"] {
        assert_eq!(bmc.get(path).await["Boot"]["BootSourceOverrideTarget"], "UefiHttp", "{path}");
    }
    assert_eq!(bmc.get("/redfish/v1/Systems/DGX").await["Boot"]["BootSourceOverrideMode"], Value::Null);
}

#[tokio::test]
async fn etags_guard_writes() {
    use bessemer_fake_bmc::redfish::behaviour::{Etags, IfMatch};
    let bmc = Bmc::start().await;
    let write = async |if_match: Option<&str>| {
        let request = bmc.request(Method::PATCH, SYSTEM).basic_auth("admin", Some("password"));
        let request = request.json(&json!({ "AssetTag": if_match.unwrap_or_default() }));
        let request = if let Some(etag) = if_match { request.header("If-Match", etag) } else { request };
        request.send().await.unwrap().status().as_u16()
    };
    bmc.change(|behaviour| behaviour.etags = Etags::Strong);
    let first = bmc.send(Method::GET, SYSTEM, None).await;
    let etag = first.header("etag").to_owned();
    assert!(etag.starts_with('"') && first.body["@odata.etag"] == etag.as_str());
    assert_eq!(write(Some("\"wrong\"")).await, 412);
    assert_eq!(write(Some(&etag)).await, 204);
    assert_eq!(write(Some(&etag)).await, 412, "the write changed it");
    assert_eq!(write(None).await, 204);
    bmc.change(|behaviour| behaviour.if_match = IfMatch::Required);
    assert_eq!(write(None).await, 428);
    bmc.change(|behaviour| (behaviour.etags, behaviour.if_match) = (Etags::Weak, IfMatch::StrongOnly));
    let weak = bmc.send(Method::GET, SYSTEM, None).await.header("etag").to_owned();
    assert!(weak.starts_with("W/\""));
    assert_eq!(write(Some(&weak)).await, 412);
    assert_eq!(write(Some(weak.trim_start_matches("W/"))).await, 204);
    bmc.change(|behaviour| behaviour.etags = Etags::Off);
    assert_eq!(bmc.send(Method::GET, SYSTEM, None).await.header("etag"), "");
    assert_eq!(write(Some("\"anything\"")).await, 204);
}
