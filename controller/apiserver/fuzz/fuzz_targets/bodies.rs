//! A body in JSON or YAML: whatever the bytes, they are read or refused, and what is read can be written.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::bodies(data));
