//! JSON, merge and strategic patches.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::patch(data));
