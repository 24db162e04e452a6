//! Tasks and their monitors.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| redfish_client::fuzzing::task(data));
