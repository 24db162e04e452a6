//! Inventories of field replaceable units: the *Platform Management FRU Information Storage Definition v1.0 rev. 1.3*.
//! Pure decoding of bytes that may be damaged in any way; reading them from a BMC is [`Client`](crate::Client)'s.

mod area;

use std::fmt;

pub use area::{Board, Chassis, Product};

use crate::Malformed;
use crate::bytes::Reader;

/// Length of the common header, and the unit of its offsets.
pub(crate) const HEADER: usize = 8;

/// What a unit's inventory says of it. Areas may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fru {
    /// The case.
    pub chassis: Option<Chassis>,
    /// The board.
    pub board: Option<Board>,
    /// The product as it was sold.
    pub product: Option<Product>,
    /// Areas that could not be read or whose checksum is wrong, as vendors' tools and users leave them behind.
    pub damaged: Vec<Damage>,
}

/// What is wrong with an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which area.
    pub area: Area,
    /// What is wrong.
    pub why: &'static str,
}

/// The areas that are read here, in the order of the common header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// The case.
    Chassis,
    /// The board.
    Board,
    /// The product.
    Product,
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Chassis => "chassis",
            Self::Board => "board",
            Self::Product => "product",
        })
    }
}

/// Where the areas are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout(pub(crate) [(Area, Option<usize>); 3]);

impl Layout {
    /// From the common header.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new("fru common header", header);
        let header: [u8; HEADER] = reader.array()?;
        let [version, _internal, chassis, board, product, ..] = header;
        if version & 0x0f != 1 {
            return reader.fail("is not of version 1: the inventory is empty or erased");
        }
        if sum(&header) != 0 {
            return reader.fail("has a wrong checksum");
        }
        let at = |offset: u8| (offset != 0).then_some(usize::from(offset) * HEADER);
        Ok(Self([(Area::Chassis, at(chassis)), (Area::Board, at(board)), (Area::Product, at(product))]))
    }
}

impl Fru {
    /// Reads an inventory from its first byte on. An area that is damaged does not hide the others.
    ///
    /// # Errors
    /// When the common header cannot be made out.
    pub fn parse(inventory: &[u8]) -> Result<Self, Malformed> {
        let Layout(areas) = Layout::parse(inventory)?;
        let mut fru = Self::default();
        for (area, offset) in areas {
            let Some(bytes) = offset.map(|offset| inventory.get(offset..).unwrap_or_default()) else { continue };
            if let Err(Malformed { why, .. }) = fru.take(area, bytes) {
                fru.damaged.push(Damage { area, why });
            }
        }
        Ok(fru)
    }

    fn take(&mut self, area: Area, bytes: &[u8]) -> Result<(), Malformed> {
        let (body, checksum_is_right) = area::bounds(bytes)?;
        if !checksum_is_right {
            self.damaged.push(Damage { area, why: "has a wrong checksum" });
        }
        match area {
            Area::Chassis => self.chassis = Some(Chassis::parse(body)?),
            Area::Board => self.board = Some(Board::parse(body)?),
            Area::Product => self.product = Some(Product::parse(body)?),
        }
        Ok(())
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(mut area: Vec<u8>) -> Vec<u8> {
        area.push(0xc1);
        while area.len() % 8 != 7 {
            area.push(0);
        }
        area[1] = u8::try_from((area.len() + 1) / 8).unwrap();
        area.push(sum(&area).wrapping_neg());
        area
    }

    fn header(offsets: [u8; 5]) -> Vec<u8> {
        let mut header = [&[1][..], &offsets, &[0]].concat();
        header.push(sum(&header).wrapping_neg());
        header
    }

    fn field(text: &str) -> Vec<u8> {
        [&[0xc0 | u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat()
    }

    fn product() -> Vec<u8> {
        let fields: Vec<u8> =
            ["Acme", "Box", "B-1", "v2", "S123", "", "", "extra"].into_iter().flat_map(field).collect();
        sealed([&[1, 0, 0][..], &fields].concat())
    }

    #[test]
    fn a_product_area() {
        let inventory = [header([0, 0, 0, 1, 0]), product()].concat();
        let fru = Fru::parse(&inventory).unwrap();
        let product = fru.product.unwrap();
        assert_eq!(product.manufacturer.as_deref(), Some("Acme"));
        assert_eq!((product.serial.as_deref(), product.asset_tag), (Some("S123"), None));
        assert_eq!(product.custom, ["extra"]);
        assert!(fru.damaged.is_empty() && fru.board.is_none());
    }

    #[test]
    fn a_damaged_area_is_told_and_hides_nothing() {
        let mut inventory = [header([0, 0, 9, 1, 0]), product()].concat();
        let last = inventory.len() - 1;
        inventory[last] ^= 0x55;
        let fru = Fru::parse(&inventory).unwrap();
        assert_eq!(fru.product.unwrap().name.as_deref(), Some("Box"));
        let damaged: Vec<_> = fru.damaged.iter().map(|damage| (damage.area, damage.why)).collect();
        assert_eq!(damaged, [(Area::Board, "is too short"), (Area::Product, "has a wrong checksum")]);
    }

    #[test]
    fn an_erased_inventory_is_an_error() {
        for erased in [&[0xff; 256][..], &[0; 256], &[1, 0, 0, 0, 0, 0, 0, 0], &[1, 0]] {
            assert!(Fru::parse(erased).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn parsing_anything_never_panics(body: Vec<u8>, offsets: [u8; 5]) {
            let _ = Fru::parse(&[header(offsets), body].concat());
        }
    }
}
