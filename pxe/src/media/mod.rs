//! Boot media that firmware takes whole, with the overlay of one boot put in while they are served: a unified kernel
//! image for UEFI HTTP boot, and an ISO for a BMC's virtual drive.
//!
//! Knows the layout of both and nothing of HTTP, hosts or boots: what goes in is octets, what comes out is pieces.

mod iso;
mod uki;

pub use iso::{Iso, IsoError, Part, SLOT_MAGIC};
pub use uki::{Uki, UkiError};
