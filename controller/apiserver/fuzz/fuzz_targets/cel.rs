//! Rules of schemas.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::cel(data));
