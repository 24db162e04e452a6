//! Byte vectors published with gebn/bmc's tests, read from `$BESSEMER_TEST_DATA` (default `../shared/data` beside the
//! checkout).

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail by panicking")]

use std::path::PathBuf;

use ipmi_client::command::{Command, GetBootFlags, GetChassisStatus, GetDeviceId, GetSystemGuid};
use ipmi_client::fru::Fru;
use ipmi_client::handshake::{Handshake, Progress, Randomness};
use ipmi_client::message::{RequestSequence, decode_response, encode_request};
use ipmi_client::packet::{PayloadType, decode_session, encode_plain};
use ipmi_client::sdr::{Record, SensorClass};
use ipmi_client::{Login, SUITE_3};
use serde_json::Value;

fn vectors() -> Option<Value> {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")), PathBuf::from);
    let path = data.join("ipmi/gebn-bmc-byte-vectors.json");
    match std::fs::read(&path) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).unwrap()),
        Err(_) => {
            println!("SKIP no test data: set BESSEMER_TEST_DATA");
            None
        }
    }
}

/// The vector of `file`'s test at `line`.
fn at(vectors: &Value, file: &str, line: u64) -> Vec<u8> {
    let found = vectors[file].as_array().unwrap().iter().find(|vector| vector["line"] == line).unwrap();
    unhex(found["hex"].as_str().unwrap())
}

#[test]
fn device_ids() {
    let Some(vectors) = vectors() else { return };
    for (line, manufacturer, product, firmware) in
        [(17, 0x1c4c, 0x3242, (3, 45)), (46, 0x02a2, 0x0100, (127, 41)), (75, 0x2a7c, 0x0804, (3, 72))]
    {
        let id = GetDeviceId::parse(&at(&vectors, "pkg/ipmi/get_device_id_test.go", line)).unwrap();
        assert_eq!((id.manufacturer, id.product), (manufacturer, product), "line {line}");
        assert_eq!((id.firmware_major, id.firmware_minor), firmware, "line {line}");
    }
}

#[test]
fn chassis_statuses() {
    let Some(vectors) = vectors() else { return };
    let parse = |line| GetChassisStatus::parse(&at(&vectors, "pkg/ipmi/get_chassis_status_test.go", line)).unwrap();
    assert!(!parse(23).power_is_on && !parse(23).power_fault);
    assert!(!parse(34).power_is_on && parse(34).power_fault);
    assert!(parse(55).power_is_on && parse(55).power_fault);
}

#[test]
fn messages() {
    let Some(vectors) = vectors() else { return };
    let file = "pkg/ipmi/message_test.go";
    // Ours always come from a console, so their first bytes are fixed; this vector is such a one.
    assert_eq!(encode_request(0x06, 0x38, RequestSequence::new(0x2f), &[])[..4], at(&vectors, file, 35)[..4]);
    let vector = at(&vectors, file, 116);
    let response = decode_response(&vector).unwrap();
    assert_eq!((response.network_function, response.command, response.completion.0), (0x2c, 0x9f, 0x00));
    assert_eq!(response.data, [0xdc, 1, 2]);
    assert!(decode_response(&at(&vectors, file, 115)).is_err());
}

#[test]
fn setup_messages() {
    let Some(vectors) = vectors() else { return };
    let response = at(&vectors, "pkg/ipmi/open_session_test.go", 59);
    let rakp2 = at(&vectors, "pkg/ipmi/rakp_message_2_test.go", 18);
    let random = Randomness { session_id: u32::from_le_bytes([0xa4, 0xa3, 0xa2, 0xa0]), nonce: [0; 16], tag: 0 };
    let mut handshake = Handshake::new(Login::new("admin", "secret").unwrap(), &SUITE_3, random);
    let progress = handshake.receive(&encode_plain(PayloadType::OpenSessionResponse, &response));
    assert!(matches!(progress, Progress::Next), "{progress:?}");
    // The recorded BMC's RAKP message 2 answers other numbers than ours, so only its tag keeps it out.
    let progress = handshake.receive(&encode_plain(PayloadType::Rakp2, &rakp2));
    assert!(matches!(progress, Progress::Ignored), "{progress:?}");
    // A refusal of seven bytes, one short of the specification's eight.
    let refusal = at(&vectors, "pkg/ipmi/open_session_test.go", 94);
    let random = Randomness { session_id: 1, nonce: [0; 16], tag: 1 };
    let mut handshake = Handshake::new(Login::new("admin", "secret").unwrap(), &SUITE_3, random);
    let progress = handshake.receive(&encode_plain(PayloadType::OpenSessionResponse, &refusal));
    assert!(matches!(progress, Progress::SuiteRefused), "{progress:?}");
}

#[test]
fn sessions() {
    let Some(vectors) = vectors() else { return };
    let plain = at(&vectors, "pkg/ipmi/v2session_test.go", 58);
    let packet = decode_session(&plain).unwrap();
    assert_eq!((packet.session_id, packet.sequence, packet.payload), (0x0403_0201, 0x0102_0304, &[0][..]));
    assert!(packet.signed.is_none() && !packet.encrypted);
    let signed = at(&vectors, "pkg/ipmi/v2session_test.go", 154);
    let packet = decode_session(&signed).unwrap();
    assert_eq!((packet.payload, packet.encrypted), (&[0, 0][..], true));
    assert_eq!(packet.signed, Some(&signed[..]));
}

#[test]
fn nothing_published_makes_a_decoder_panic() {
    let Some(vectors) = vectors() else { return };
    let all = vectors.as_object().unwrap().values().flat_map(|file| file.as_array().unwrap());
    let mut count = 0;
    for vector in all {
        let bytes = unhex(vector["hex"].as_str().unwrap());
        let _ = decode_session(&bytes);
        let _ = decode_response(&bytes);
        let _ = (GetDeviceId::parse(&bytes), GetChassisStatus::parse(&bytes));
        let _ = (GetSystemGuid::parse(&bytes), GetBootFlags::parse(&bytes));
        count += 1;
    }
    assert!(count > 200, "{count}");
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn sensor_records() {
    let Some(vectors) = vectors() else { return };
    let file = "pkg/ipmi/full_sensor_record_test.go";
    // Published without their headers.
    let parse = |line| {
        let body = at(&vectors, file, line);
        let record = [&[1, 0, 0x51, 1, u8::try_from(body.len()).unwrap()][..], &body].concat();
        match Record::parse(&record) {
            Ok(Record::Sensors(mut sensors)) => sensors.remove(0),
            other => panic!("line {line}: {other:?}"),
        }
    };
    let cpu = parse(17);
    assert_eq!((cpu.name.as_str(), cpu.number, cpu.kind, cpu.entity), ("CPU Temp", 1, 1, (3, 1)));
    assert_eq!((cpu.class, cpu.unit.to_string().as_str()), (SensorClass::Threshold, "°C"));
    assert_eq!(cpu.conversion.unwrap().apply(0x28), 40.0);
    assert_eq!(cpu.conversion.unwrap().apply(0xfc), -4.0);
    assert_eq!((cpu.thresholds.upper_critical, cpu.thresholds.lower_critical), (Some(100), Some(0)));
    let voltage = parse(222);
    assert_eq!((voltage.name.as_str(), voltage.unit.to_string().as_str()), ("Voltage", "V"));
    assert!(Record::parse(&at(&vectors, file, 172)).is_ok());
}

/// `BESSEMER_TEST_DATA`'s images of real boards, as published with python-ipmi.
#[test]
fn real_inventories() {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data")), PathBuf::from);
    for (name, board, product, damaged) in [
        (
            "fru_supermicro_x11scz-f",
            ["Supermicro", "X11SCZ-F", "VM211S003599"],
            ["SRV-RNT-1U-DED-3-0002", "DS03210109"],
            0,
        ),
        ("kontron_am4904", ["Kontron", "AM4904-SRIO", "0400058419"], ["AM4904-SRIO", "0400058419"], 0),
        ("kontron_am4010", ["Kontron", "AM4010", "0023721003"], ["AM4010", "0000000000000000000000000"], 0),
        ("vadatech_utc017", ["VadaTech", "UTCA PM", "4451956"], ["UTCA PM", "4451956"], 0),
    ] {
        let Ok(image) = std::fs::read(data.join(format!("ipmi/python-ipmi-{name}.bin"))) else {
            println!("SKIP no test data: set BESSEMER_TEST_DATA");
            return;
        };
        let fru = Fru::parse(&image).unwrap();
        let text = |field: Option<String>| field.unwrap_or_default();
        let found = fru.board.unwrap();
        assert_eq!([text(found.manufacturer), text(found.name), text(found.serial)], board, "{name}");
        let found = fru.product.unwrap();
        assert_eq!([text(found.name), text(found.serial)], product, "{name}");
        assert_eq!((fru.chassis, fru.damaged.len()), (None, damaged), "{name}");
    }
}
