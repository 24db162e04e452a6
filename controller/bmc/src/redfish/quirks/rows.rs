//! The rows. Each says where it was seen.

use super::{Habit, LoginRow, Row};

pub(super) const ROWS: &[Row] = &[
    // Dell's users found `Cd` to mean the drive in the server: dell/iDRAC-Redfish-Scripting#90,
    // ansible-collections/community.general#3423.
    Row { id: "Q58", what: Habit::VirtualCdIsAnAttribute, vendor: "Dell", model: "", bios: "" },
    // NVIDIA/libredfish, src/lenovo.rs: seen with UEFI 7.10 and BMC 9.10. All versions, because the other way costs
    // nothing but ten seconds.
    Row { id: "Q70", what: Habit::RestartHangs, vendor: "Lenovo", model: "SR675 V3", bios: "" },
];

pub(super) const LOGINS: &[LoginRow] = &[
    // Huawei's iBMC knows users of several directories; the built-in ones are in this.
    LoginRow { id: "Q26", vendor: "Huawei", field: ("Domain", "LocaliBMC") },
];
