//! Sensor data records, inventories and log entries, whatever their bytes.
#![no_main]

use ipmi_client::fru::Fru;
use ipmi_client::sdr::Record;
use ipmi_client::sel::{Event, SelEntry};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(Record::Sensors(sensors)) = Record::parse(data) {
        for sensor in sensors {
            let _ = sensor.unit.to_string();
            for raw in [0, 1, 0x7f, 0x80, 0xff] {
                let _ = sensor.conversion.map(|conversion| conversion.apply(raw));
            }
        }
    }
    let _ = Fru::parse(data);
    // Past the header's checksum, where the areas are.
    let mut inventory = data.to_vec();
    if let Some(header) = inventory.first_chunk_mut::<8>() {
        header[0] = 1;
        header[7] = header[..7].iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)).wrapping_neg();
        let _ = Fru::parse(&inventory).unwrap();
    }
    if let Some(entry) = data.first_chunk::<16>()
        && let Ok(SelEntry { event: Event::Sensor(event), .. }) = SelEntry::parse(entry)
    {
        let _ = event.to_string();
    }
});
