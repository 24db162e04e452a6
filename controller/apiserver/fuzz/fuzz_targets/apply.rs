//! Server-side apply, with any managedFields.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::server_side_apply(data));
