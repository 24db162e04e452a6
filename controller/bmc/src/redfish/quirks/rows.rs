//! The rows. Each says where it was seen.

use super::{Habit, Row};

pub(super) const ROWS: &[Row] = &[
    // NVIDIA/libredfish, src/lenovo.rs: seen with UEFI 7.10 and BMC 9.10. All versions, because the other way costs
    // nothing but ten seconds.
    Row { id: "Q70", what: Habit::RestartHangs, vendor: "Lenovo", model: "SR675 V3", bios: "" },
];
