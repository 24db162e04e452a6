//! Real firmware boots from this crate: OVMF and SeaBIOS in QEMU, behind a tap in a network namespace of its own, also
//! beside a DHCP server of somebody else and from behind a relay agent of somebody else. Real clients of installed
//! systems are served too.
//!
//! Needs root, QEMU, OVMF, iPXE, dnsmasq, dhcrelay and Debian's archive (a kernel and busybox are taken from it once,
//! into `$BESSEMER_TEST_CACHE`, by default `~/.cache/bessemer/test`); without them it says `SKIP` and why. Each scenario
//! runs this test program again inside the namespace, and prints how long each machine took (`WALL`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod artefacts;
mod clients;
mod clients_tftp;
mod clients_v6;
mod contract;
mod dhcp;
mod disk;
mod host;
mod machine;
mod network;
mod paths;
#[cfg(feature = "firmware-tls")]
mod paths_tls;
mod paths_v6;

use bessemer_pxe::{BootId, MacAddr};

const MAC: MacAddr = MacAddr([0x52, 0x54, 0, 0, 0, 1]);
const BOOT: BootId = BootId(0x5eed_0000_0000_0000_0000_0000_0000_0001);
const MARKER: &str = "overlay-of-this-boot";
