//! Label and field selectors.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::selectors(data));
