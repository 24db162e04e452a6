//! Datagrams, messages and the answers inside them, whatever their bytes.
#![no_main]

use ipmi_client::command::{
    Command, GetBootFlags, GetChassisStatus, GetDeviceId, GetSelEntry, GetSensorReading, GetSensorThresholds,
    ReadFruData,
};
use ipmi_client::{message, packet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(packet) = packet::decode(data) {
        let _ = message::decode_response(packet.payload);
    }
    let _ = packet::decode_session(data);
    let answer = message::decode_response(data).map_or(data, |response| response.data);
    let _ = GetDeviceId::parse(answer);
    let _ = GetChassisStatus::parse(answer);
    let _ = GetBootFlags::parse(answer);
    let _ = GetSelEntry::parse(answer);
    let _ = GetSensorReading::parse(answer);
    let _ = GetSensorThresholds::parse(answer);
    let _ = ReadFruData::parse(answer);
});
