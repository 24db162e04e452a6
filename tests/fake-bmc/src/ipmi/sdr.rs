//! Sensor data records (§43) of the sensors in [`super::sensors`].

use super::sensors::{CPU, FAN, INLET, POWER, RAIL, SUPPLIES};

/// What differs between the full records here.
struct Full {
    number: u8,
    entity: u8,
    kind: u8,
    /// Raw thresholds: lower non-critical, critical, non-recoverable, then upper; with the mask of those there are.
    thresholds: ([u8; 6], u8),
    signed: bool,
    unit: u8,
    /// M, and the exponent of the result.
    factor: (u8, i8),
    name: &'static str,
}

const FULL: [Full; 5] = [
    Full {
        number: INLET,
        entity: 0x37,
        kind: 1,
        thresholds: ([3, 0, 0, 38, 42, 0], 0b01_1001),
        signed: false,
        unit: 1,
        factor: (1, 0),
        name: "Inlet Temp",
    },
    Full {
        number: CPU,
        entity: 0x03,
        kind: 1,
        thresholds: ([0, 0, 0, 90, 95, 100], 0b11_1000),
        signed: true,
        unit: 1,
        factor: (1, 0),
        name: "CPU1 Temp",
    },
    Full {
        number: FAN,
        entity: 0x1d,
        kind: 4,
        thresholds: ([7, 5, 0, 0, 0, 0], 0b00_0011),
        signed: false,
        unit: 18,
        factor: (120, 0),
        name: "Fan1",
    },
    Full {
        number: RAIL,
        entity: 0x07,
        kind: 2,
        thresholds: ([180, 175, 0, 200, 205, 0], 0b01_1011),
        signed: false,
        unit: 4,
        factor: (63, -3),
        name: "12V",
    },
    Full {
        number: POWER,
        entity: 0x13,
        kind: 0x0b,
        thresholds: ([0; 6], 0),
        signed: false,
        unit: 6,
        factor: (4, 0),
        name: "Pwr Consumption",
    },
];

/// The repository: records in order, each with its header.
pub(super) fn records() -> Vec<Vec<u8>> {
    let locators = [(0u8, "Builtin FRU", 0x07), (1, "PSU1", 0x0a)].map(|(device, name, entity)| {
        (0x11, [&[0x20, device, 0x80, 0, 0, 0x10, 0, entity, 1, 0][..], &text(name)].concat())
    });
    let bodies = FULL.iter().map(|sensor| (0x01, full(sensor))).chain([(0x02, supplies())]).chain(locators);
    let with_header = |(id, (kind, body)): (u16, (u8, Vec<u8>))| {
        let length = u8::try_from(body.len()).unwrap_or(u8::MAX);
        [&id.to_le_bytes()[..], &[0x51, kind, length], &body].concat()
    };
    (1..).zip(bodies).map(with_header).collect()
}

/// Thresholds as Get Sensor Thresholds gives them.
pub(super) fn thresholds(number: u8) -> Option<Vec<u8>> {
    let sensor = FULL.iter().find(|sensor| sensor.number == number)?;
    let (values, mask) = sensor.thresholds;
    Some([&[mask][..], &values].concat())
}

fn full(sensor: &Full) -> Vec<u8> {
    let ([lnc, lc, lnr, unc, uc, unr], mask) = sensor.thresholds;
    let (m, exponent) = sensor.factor;
    let access = if mask == 0 { 0 } else { 0x04 };
    let mut body = vec![0x20, 0, sensor.number, sensor.entity, 1, 0x7f, 0x68 & !0x0c | access, sensor.kind, 0x01];
    body.extend([0, 0, 0, 0, mask, 0]);
    body.extend([if sensor.signed { 0x80 } else { 0 }, sensor.unit, 0]);
    // Linear; M, B, accuracy; exponents; no characteristics; nominal and extreme readings.
    body.extend([0, m, 0, 0, 0, 0, exponent.cast_unsigned() << 4]);
    body.extend([0, 0, 0, 0, 0xff, 0]);
    body.extend([unr, uc, unc, lnr, lc, lnc]);
    body.extend([1, 1, 0, 0, 0]);
    body.extend(text(sensor.name));
    body
}

/// One compact record for both.
fn supplies() -> Vec<u8> {
    let [first, _] = SUPPLIES;
    let mut body = vec![0x20, 0, first, 0x0a, 1, 0x7f, 0x40, 0x08, 0x6f];
    body.extend([0x0f, 0, 0x0f, 0, 0x0f, 0]);
    body.extend([0xc0, 0, 0]);
    // Two share it, with numbers from 1 on behind the name, each with an entity of its own.
    body.extend([0x02, 0x81, 0, 0, 0, 0, 0, 0]);
    body.extend(text("PS Status "));
    body
}

/// 8-bit text with its type and length.
fn text(text: &str) -> Vec<u8> {
    [&[0xc0 | u8::try_from(text.len()).unwrap_or_default()], text.as_bytes()].concat()
}
