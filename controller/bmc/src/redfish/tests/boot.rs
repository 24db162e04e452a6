//! The boot override, against what BMCs were seen to do with it.

use serde_json::{Value, json};

use super::bmc;
use super::dump::Dump;
use super::scripted::{SYSTEM, Scripted, Seen, answer, ok, refusal, status, system};
use crate::{Bmc as _, BmcError, BootDevice, BootFirmware, BootLifetime, BootOverride, PowerAction, ReadBack};

fn boot(enabled: &str, target: &str, mode: &str) -> Value {
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
    let read_back = client.set_boot_override(&BootOverride::once(BootDevice::Pxe)).await.unwrap();
    assert_eq!(read_back, ReadBack::Confirmed);
    client.power(PowerAction::Reset).await.unwrap();
    assert_eq!(lines(&bmc), [format!("PATCH {SYSTEM}"), format!("POST {SYSTEM}/Actions/ComputerSystem.Reset")]);
}

const SETTINGS: &str = "/redfish/v1/Systems/1/Settings";

fn once(device: BootDevice) -> BootOverride {
    BootOverride::once(device)
}

fn lines(bmc: &Scripted) -> Vec<String> {
    bmc.writes().iter().map(Seen::line).collect()
}

/// A system whose later settings are at [`SETTINGS`].
fn with_settings(boot: Value) -> Value {
    let mut system = system("On", &["On"], boot);
    system["@Redfish.Settings"] = json!({"SettingsObject": {"@odata.id": SETTINGS}});
    system
}

#[tokio::test]
async fn q33_an_override_that_is_read_only_is_written_to_the_settings_with_their_own_etag() {
    let bmc = Scripted::start(|seen, before| {
        let changed = before.iter().any(|seen| seen.line() == format!("PATCH {SETTINGS}"));
        let held = if changed { boot("Once", "Pxe", "UEFI") } else { boot("Disabled", "None", "UEFI") };
        match (seen.method.as_str(), seen.path.as_str(), seen.header("if-match")) {
            ("GET", SETTINGS, _) => {
                let mut settings = held;
                settings["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] = json!(["None", "Pxe", "Cd"]);
                answer(200, &[("ETag", "\"settings\"")], &settings.to_string())
            }
            ("GET", ..) => {
                answer(200, &[("ETag", "\"system\"")], &with_settings(boot("Disabled", "None", "UEFI")).to_string())
            }
            ("PATCH", SETTINGS, Some("\"settings\"")) => status(200),
            ("PATCH", SETTINGS, _) => status(412),
            _ => refusal(400, "Base.1.18.PropertyNotWritable"),
        }
    });
    let bmc = bmc.await;
    let read_back = bmc.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap();
    assert!(matches!(read_back, ReadBack::Pending(_)), "{read_back:?}");
    assert_eq!(lines(&bmc), [format!("PATCH {SETTINGS}")]);
    let error = bmc.bmc().set_boot_override(&once(BootDevice::Disk)).await.unwrap_err().to_string();
    assert!(error.contains("it boots only from None, Pxe, Cd"), "{error}");
}

#[tokio::test]
async fn q34_settings_without_the_override_are_passed_by_and_settings_that_refuse_too() {
    for (settings, wanted) in [
        (json!({"Boot": {"BootOrder": ["Boot0003"]}}), vec![SYSTEM]),
        (boot("Disabled", "None", "UEFI"), vec![SETTINGS, SYSTEM]),
    ] {
        let bmc = Scripted::start(move |seen, before| {
            let changed = before.iter().any(|seen| seen.line() == format!("PATCH {SYSTEM}"));
            match (seen.method.as_str(), seen.path.as_str()) {
                ("GET", SETTINGS) => ok(&settings),
                ("GET", _) if changed => ok(&with_settings(boot("Once", "Pxe", "UEFI"))),
                ("GET", _) => ok(&with_settings(boot("Disabled", "None", "UEFI"))),
                (_, SETTINGS) => refusal(400, "Base.1.8.PropertyUnknown"),
                _ => status(204),
            }
        });
        let bmc = bmc.await;
        assert_eq!(bmc.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap(), ReadBack::Confirmed);
        assert_eq!(lines(&bmc), wanted.iter().map(|at| format!("PATCH {at}")).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn q36_c197_a_change_that_is_taken_and_not_kept_is_an_error_that_names_the_fields() {
    let bmc = Scripted::start(|seen, _| match seen.method.as_str() {
        "GET" => ok(&system("On", &["On"], boot("Disabled", "Pxe", "Legacy"))),
        _ => ok(&json!({})),
    });
    let bmc = bmc.await;
    let error = bmc.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Contradicted { .. }), "{error}");
    assert!(error.to_string().contains("reads back enabled Disabled, target Pxe, mode Legacy"), "{error}");
}

/// A BMC that refuses a boot change `times` times because the server is in its self-test.
async fn in_post(times: usize) -> Scripted {
    Scripted::start(move |seen, before| {
        let tried = before.iter().filter(|seen| seen.method == "PATCH").count();
        match seen.method.as_str() {
            "GET" if tried > times => ok(&system("On", &["On"], boot("Once", "Pxe", "UEFI"))),
            "GET" => ok(&system("On", &["On"], boot("Disabled", "None", "UEFI"))),
            _ if tried < times => refusal(400, "iLO.2.15.UnableToModifyDuringSystemPOST"),
            _ => status(200),
        }
    })
    .await
}

#[tokio::test]
async fn q49_a_change_during_the_self_test_is_made_after_it() {
    let bmc = in_post(3).await;
    assert_eq!(bmc.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(bmc.writes().len(), 4);
    let stuck = in_post(usize::MAX).await;
    let error = stuck.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap_err();
    assert!(matches!(&error, BmcError::Busy { .. }), "{error}");
    assert!(stuck.writes().len() < 30, "{}", stuck.writes().len());
}

#[tokio::test]
async fn q52_disk_is_not_set_where_it_is_set() {
    let bmc = Scripted::start(|seen, _| match seen.method.as_str() {
        "GET" => ok(&system("On", &["On"], boot("Continuous", "Hdd", "UEFI"))),
        _ => status(500),
    });
    let bmc = bmc.await;
    let disk = BootOverride { lifetime: BootLifetime::Persistent, ..once(BootDevice::Disk) };
    assert_eq!(bmc.bmc().set_boot_override(&disk).await.unwrap(), ReadBack::Confirmed);
    assert!(bmc.writes().is_empty());
}

#[tokio::test]
async fn q42_q53_a_bmc_with_a_boot_order_only_is_given_another_order() {
    let Some(dump) = Dump::load("hpe-cray-ex4252-4node") else { return };
    let node = bmc(&dump, "/redfish/v1/Systems/Node2").await;
    // The network is first already.
    let read_back = node.set_boot_override(&once(BootDevice::Pxe)).await.unwrap();
    assert_eq!(
        read_back,
        ReadBack::Unverifiable("it has a boot order only, which holds until it is changed".to_owned())
    );
    assert_eq!(node.set_boot_override(&once(BootDevice::None)).await.unwrap(), ReadBack::Confirmed);
    assert!(dump.writes().is_empty());
    let shuffled =
        ["Boot0007", "ME0-PXE-IP4", "ME0-PXE-IP6", "HSN0-PXE-IP4", "HSN0-PXE-IP6", "HSN1-PXE-IP4", "HSN1-PXE-IP6"];
    dump.set("/redfish/v1/Systems/Node2", json!({"Boot": {"BootOrder": shuffled}}));
    let lasting = BootOverride { lifetime: BootLifetime::Persistent, ..once(BootDevice::Pxe) };
    assert_eq!(node.set_boot_override(&lasting).await.unwrap(), ReadBack::Confirmed);
    let mut wanted = shuffled;
    wanted.rotate_left(1);
    let body = json!({"Boot": {"BootOrder": wanted}});
    assert_eq!(dump.writes(), [("PATCH /redfish/v1/Systems/Node2".to_owned(), body)]);
    let error = node.set_boot_override(&once(BootDevice::Disk)).await.unwrap_err().to_string();
    assert!(error.contains("its boot order has no disk"), "{error}");
}

/// Entries are told with their names behind a colon, and written without.
#[tokio::test]
async fn q54_entries_with_names_behind_them_are_written_by_their_keys() {
    let (disk, network) = ("Boot0019: ubuntu", "Boot0003: UEFI PXEv4 (MAC:0040A696A681)");
    let option = |key: &str, path: &str| json!({"BootOptionReference": key, "UefiDevicePath": path});
    let bmc = Scripted::start(move |seen, before| {
        let changed = before.iter().any(|seen| seen.method == "PATCH");
        let order = if changed { [network, disk] } else { [disk, network] };
        let options = format!("{SYSTEM}/BootOptions");
        match (seen.method.as_str(), seen.path.strip_prefix(SYSTEM)) {
            ("PATCH", _) if seen.body == json!({"Boot": {"BootOrder": ["Boot0003", "Boot0019"]}}) => status(204),
            ("PATCH", _) => refusal(400, "Base.1.8.PropertyValueNotInList"),
            (_, Some("")) => {
                let boot = json!({"Boot": {"BootOrder": order, "BootOptions": {"@odata.id": options}}});
                ok(&system("On", &["On"], boot))
            }
            (_, Some("/BootOptions")) => ok(&json!({"Members": [
                {"@odata.id": format!("{options}/1")}, {"@odata.id": format!("{options}/2")},
            ]})),
            (_, Some("/BootOptions/1")) => ok(&option("Boot0019", "HD(1,GPT)")),
            (_, Some("/BootOptions/2")) => ok(&option("Boot0003", "PciRoot(0x2)/MAC(0040A696A681,0x1)")),
            _ => status(404),
        }
    });
    let bmc = bmc.await;
    let lasting = BootOverride { lifetime: BootLifetime::Persistent, ..once(BootDevice::Pxe) };
    assert_eq!(bmc.bmc().set_boot_override(&lasting).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(lines(&bmc), [format!("PATCH {SYSTEM}")]);
}

#[tokio::test]
async fn q58_a_dell_boots_from_its_virtual_drive_by_attributes() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let dell = bmc(&dump, "").await;
    assert_eq!(dell.set_boot_override(&once(BootDevice::Cd)).await.unwrap(), ReadBack::Confirmed);
    let at = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1";
    let attributes =
        json!({"Attributes": {"ServerBoot.1.BootOnce": "Enabled", "ServerBoot.1.FirstBootDevice": "VCD-DVD"}});
    assert_eq!(dump.writes(), [(format!("PATCH {at}"), attributes)]);
    // An older one shows no such attributes.
    let Some(older) = Dump::load("dell-r630-idrac8-2.81") else { return };
    assert_eq!(bmc(&older, "").await.set_boot_override(&once(BootDevice::Cd)).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(older.writes()[0].1["Boot"]["BootSourceOverrideTarget"], "Cd");
}

#[tokio::test]
async fn q60_the_address_of_uefi_http_goes_to_the_settings_in_its_exact_name() {
    let Some(dump) = Dump::load("nvidia-bluefield3-bmc-24.10") else { return };
    let uri = "http://10.0.0.1/ipxe.efi";
    let wanted = once(BootDevice::UefiHttp(Some(uri.to_owned())));
    let read_back = bmc(&dump, "").await.set_boot_override(&wanted).await.unwrap();
    assert!(matches!(read_back, ReadBack::Pending(_)), "{read_back:?}");
    let body = json!({"Boot": {
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideMode": "UEFI",
        "HttpBootUri": uri,
    }});
    assert_eq!(dump.writes(), [("PATCH /redfish/v1/Systems/Bluefield/Settings".to_owned(), body)]);
    // Where there is no place for an address, that is said.
    let Some(hpe) = Dump::load("hpe-dl325gen10plus-ilo5-2.46") else { return };
    let read_back = bmc(&hpe, "").await.set_boot_override(&wanted).await.unwrap();
    assert!(matches!(&read_back, ReadBack::Unverifiable(why) if why.contains("dhcp")), "{read_back:?}");
    assert_eq!(hpe.writes()[0].1["Boot"].get("HttpBootUri"), None);
}

#[tokio::test]
async fn q10_q12_a_dgx_takes_the_override_at_sd_without_a_mode() {
    let Some(dump) = Dump::load("nvidia-dgxh100-ami-23.11") else { return };
    let read_back = bmc(&dump, "").await.set_boot_override(&once(BootDevice::Pxe)).await.unwrap();
    assert!(matches!(read_back, ReadBack::Pending(_)), "{read_back:?}");
    let body = json!({"Boot": {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Pxe"}});
    assert_eq!(dump.writes(), [("PATCH /redfish/v1/Systems/DGX/SD".to_owned(), body)]);
    // No ETag on the system of an iDRAC: none is sent, and none is missed.
    let bmc = Scripted::start(|seen, before| match (seen.method.as_str(), seen.header("if-match")) {
        ("GET", _) if before.iter().any(|seen| seen.method == "PATCH") => {
            ok(&system("On", &["On"], boot("Once", "Pxe", "UEFI")))
        }
        ("GET", _) => ok(&system("On", &["On"], boot("Disabled", "None", "UEFI"))),
        (_, None) => status(200),
        _ => status(412),
    });
    let bmc = bmc.await;
    assert_eq!(bmc.bmc().set_boot_override(&once(BootDevice::Pxe)).await.unwrap(), ReadBack::Confirmed);
    assert_eq!(bmc.writes().len(), 1);
}

#[tokio::test]
async fn an_idracs_virtual_drive_is_taken_back_where_it_was_set() {
    let Some(dump) = Dump::load("dell-r750-idrac9-6.00") else { return };
    let dell = bmc(&dump, "").await;
    assert_eq!(dell.set_boot_override(&once(BootDevice::Cd)).await.unwrap(), ReadBack::Confirmed);
    for _ in 0..2 {
        assert_eq!(dell.set_boot_override(&once(BootDevice::None)).await.unwrap(), ReadBack::Confirmed);
    }
    let at = "/redfish/v1/Managers/iDRAC.Embedded.1/Oem/Dell/DellAttributes/iDRAC.Embedded.1";
    let back = (format!("PATCH {at}"), json!({"Attributes": {"ServerBoot.1.FirstBootDevice": "Normal"}}));
    assert_eq!(dump.writes()[1..], [back]);
    // They cannot be told for which firmware.
    let legacy = BootOverride { firmware: BootFirmware::Legacy, ..once(BootDevice::Cd) };
    let read_back = dell.set_boot_override(&legacy).await.unwrap();
    assert_eq!(read_back, ReadBack::Unverifiable("it cannot be told legacy or uefi".to_owned()));
}

#[tokio::test]
async fn legacy_firmware_that_cannot_be_told_is_not_confirmed() {
    let Some(x10) = Dump::load("supermicro-x10-b") else { return };
    let Some(dgx) = Dump::load("nvidia-dgxh100-ami-23.11") else { return };
    let legacy = |device| BootOverride { firmware: BootFirmware::Legacy, ..once(device) };
    let read_back = bmc(&x10, "").await.set_boot_override(&legacy(BootDevice::Disk)).await.unwrap();
    assert_eq!(read_back, ReadBack::Unverifiable("it cannot be told legacy or uefi".to_owned()));
    assert_eq!(x10.writes()[0].1["Boot"]["BootSourceOverrideTarget"], "Hdd");
    let read_back = bmc(&dgx, "").await.set_boot_override(&legacy(BootDevice::Pxe)).await.unwrap();
    assert!(matches!(&read_back, ReadBack::Pending(why) if why.ends_with("told legacy or uefi")), "{read_back:?}");
}

#[tokio::test]
async fn an_override_that_is_there_without_the_address_is_not_met() {
    let Some(dump) = Dump::load("nvidia-bluefield3-bmc-24.10") else { return };
    let settings = "/redfish/v1/Systems/Bluefield/Settings";
    let held = json!({"Boot": {
        "BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "UefiHttp", "BootSourceOverrideMode": "UEFI",
        "HttpBootUri": "",
    }});
    dump.set(settings, held);
    let wanted = once(BootDevice::UefiHttp(Some("http://10.0.0.1/ipxe.efi".to_owned())));
    let read_back = bmc(&dump, "").await.set_boot_override(&wanted).await.unwrap();
    assert!(matches!(read_back, ReadBack::Pending(_)), "{read_back:?}");
    // Without an address the old one is taken away.
    let _ = bmc(&dump, "").await.set_boot_override(&once(BootDevice::UefiHttp(None))).await.unwrap();
    let sent: Vec<Value> = dump.writes().iter().map(|(_, body)| body["Boot"]["HttpBootUri"].clone()).collect();
    assert_eq!(sent, [json!("http://10.0.0.1/ipxe.efi"), Value::Null]);
    let error = bmc(&dump.clone().deaf(), "").await.set_boot_override(&wanted).await.unwrap_err().to_string();
    assert!(error.ends_with("reads back no HttpBootUri, target UefiHttp"), "{error}");
}

#[tokio::test]
async fn an_override_that_a_task_has_yet_to_write_is_pending() {
    const TASK: &str = "/redfish/v1/TaskService/Tasks/9";
    for (state, ends_well) in [("Starting", true), ("Exception", false)] {
        let bmc = Scripted::start(move |seen, _| match (seen.method.as_str(), seen.path.as_str()) {
            ("GET", TASK) => ok(&json!({"TaskState": state, "TaskStatus": "OK"})),
            ("GET", _) => ok(&system("On", &["On"], boot("Disabled", "None", "UEFI"))),
            _ => answer(202, &[("Location", TASK)], ""),
        });
        match bmc.await.bmc().set_boot_override(&once(BootDevice::Pxe)).await {
            Ok(read_back) => {
                assert_eq!(read_back, ReadBack::Pending(format!("task {TASK} is Starting")));
                assert!(ends_well);
            }
            Err(error) => assert!(!ends_well && error.to_string().contains("ended Exception"), "{error}"),
        }
    }
}
