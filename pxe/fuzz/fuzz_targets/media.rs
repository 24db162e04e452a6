//! A UKI and an ISO, whatever their bytes: refused in words, or served with an overlay of the right length in them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bessemer_pxe::fuzz_media(data));
