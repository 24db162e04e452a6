//! A DHCPv6 message, whatever its bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bessemer_pxe::fuzz_dhcp6(data));
