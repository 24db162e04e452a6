//! Requests, paths and ranges, whatever their bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| bessemer_pxe::fuzz_http(data));
