//! Boot media that firmware takes whole, with the overlay of one boot put in while they are served: a unified kernel
//! image for UEFI HTTP boot, and an ISO for a BMC's virtual drive.
//!
//! Knows the layout of both and nothing of HTTP, hosts or boots: what goes in is octets, what comes out is pieces.

mod iso;
mod uki;

use bytes::Bytes;

pub use iso::{Iso, IsoError, Part, SLOT_MAGIC};
pub use uki::{Uki, UkiError};

/// For fuzzing: what is no medium is refused in one short line; what is one holds the overlay afterwards, and a UKI is
/// still one.
///
/// # Panics
/// If not.
#[doc(hidden)]
pub fn fuzz(data: &[u8]) {
    const OVERLAY: &[u8] = b"070701 an overlay";
    let one_line = |error: &dyn std::error::Error| {
        let text = error.to_string();
        assert!(!text.chars().any(char::is_control) && text.len() < 300, "{text:?}");
    };
    let has_overlay = |octets: &[u8]| octets.windows(OVERLAY.len()).any(|window| window == OVERLAY);
    match Uki::parse(Bytes::copy_from_slice(data)) {
        Err(error) => one_line(&error),
        Ok(uki) if uki.is_signed() => assert!(uki.with_overlay(OVERLAY.into()).is_ok_and(|same| same.concat() == data)),
        Ok(uki) => match uki.with_overlay(OVERLAY.into()) {
            Err(error) => one_line(&error),
            Ok(pieces) => {
                let after = pieces.concat();
                assert!(has_overlay(&after));
                assert!(Uki::parse(after.into()).is_ok_and(|again| !again.is_signed()));
            }
        },
    }
    let written = rustix::fs::memfd_create("iso", rustix::fs::MemfdFlags::empty()).map(std::fs::File::from);
    let Ok(mut file) = written else { return };
    if std::io::Write::write_all(&mut file, data).is_err() {
        return;
    }
    match Iso::find(std::path::Path::new("iso"), file) {
        Err(error) => one_line(&error),
        Ok(iso) => match iso.with_overlay(OVERLAY.into()) {
            Err(error) => one_line(&error),
            Ok(parts) => {
                let lengths = parts.into_iter().map(|part| match part {
                    Part::Stored(range) => range.end - range.start,
                    Part::Made(octets) => octets.len() as u64,
                });
                assert_eq!(lengths.sum::<u64>(), data.len() as u64);
            }
        },
    }
}
