//! The areas' fields.

use std::time::Duration;

use super::sum;
use crate::Malformed;
use crate::bytes::Reader;
use crate::text::{Language, fru_field};

/// The case (§10).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chassis {
    /// SMBIOS' chassis type number.
    pub kind: u8,
    /// Part number.
    pub part_number: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// The vendor's own fields.
    pub custom: Vec<String>,
}

/// The board (§11).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// When it was made, from 1970 on; to the minute.
    pub made: Option<Duration>,
    /// Who made it.
    pub manufacturer: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Part number.
    pub part_number: Option<String>,
    /// The vendor's own fields.
    pub custom: Vec<String>,
}

/// The product as it was sold (§12).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Product {
    /// Who sells it.
    pub manufacturer: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Part or model number.
    pub part_number: Option<String>,
    /// Version.
    pub version: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// What its owner calls it.
    pub asset_tag: Option<String>,
    /// The vendor's own fields.
    pub custom: Vec<String>,
}

/// An area as long as it says it is, or as there are bytes, and whether it sums up to zero.
pub(super) fn bounds(area: &[u8]) -> Result<(&[u8], bool), Malformed> {
    let mut reader = Reader::new("fru area", area);
    let [_version, length] = reader.array()?;
    let length = usize::from(length) * super::HEADER;
    if length == 0 {
        return reader.fail("says that it has no length");
    }
    let bytes = area.get(..length).unwrap_or(area);
    Ok((bytes, bytes.len() == length && sum(bytes) == 0))
}

impl Chassis {
    pub(super) fn parse(area: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("fru chassis area", area);
        let [_version, _length, kind] = reader.array()?;
        // Its fields have no language: they are English.
        let (named, custom) = fields::<2>(&mut reader, Language::English)?;
        let [part_number, serial] = named;
        Ok(Self { kind, part_number, serial, custom })
    }
}

impl Board {
    pub(super) fn parse(area: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("fru board area", area);
        let [_version, _length, language, m0, m1, m2] = reader.array()?;
        let (named, custom) = fields::<5>(&mut reader, spoken(language))?;
        let [manufacturer, name, serial, part_number, _file] = named;
        let made = made(u32::from_le_bytes([m0, m1, m2, 0]));
        Ok(Self { made, manufacturer, name, serial, part_number, custom })
    }
}

impl Product {
    pub(super) fn parse(area: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("fru product area", area);
        let [_version, _length, language] = reader.array()?;
        let (named, custom) = fields::<7>(&mut reader, spoken(language))?;
        let [manufacturer, name, part_number, version, serial, asset_tag, _file] = named;
        Ok(Self { manufacturer, name, part_number, version, serial, asset_tag, custom })
    }
}

/// The fields that have names, in order, and the others. An empty field is none; an area that ends early lacks the rest,
/// as does one whose last field is cut.
fn fields<const N: usize>(
    reader: &mut Reader<'_>,
    language: Language,
) -> Result<([Option<String>; N], Vec<String>), Malformed> {
    let mut named = [const { None }; N];
    let mut custom = Vec::new();
    let mut places = named.iter_mut();
    while let Ok(Some(text)) = fru_field(reader, language) {
        let text = Some(text).filter(|text| !text.is_empty());
        match places.next() {
            Some(place) => *place = text,
            None => custom.extend(text),
        }
    }
    Ok((named, custom))
}

fn spoken(language: u8) -> Language {
    const UNSPECIFIED: u8 = 0;
    const ENGLISH: u8 = 25;
    if matches!(language, UNSPECIFIED | ENGLISH) { Language::English } else { Language::Other }
}

/// Minutes since the beginning of 1996; 0 and all ones stand for "unspecified".
fn made(minutes: u32) -> Option<Duration> {
    const YEAR_1996: u64 = 820_454_400;
    (minutes != 0 && minutes != 0x00ff_ffff).then(|| Duration::from_secs(YEAR_1996 + u64::from(minutes) * 60))
}
