//! A body in protobuf, for every built-in kind: whatever the bytes, they are read or refused.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bessemer_apiserver::fuzzing::protobuf(data));
