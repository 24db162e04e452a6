//! A transfer: a request, then the messages of its client, each after an octet that says how long it is.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut messages = Vec::new();
    let mut rest = data;
    while let [len, more @ ..] = rest {
        let (message, after) = more.split_at(usize::from(*len).min(more.len()));
        messages.push(message);
        rest = after;
    }
    bessemer_pxe::fuzz_tftp(&messages);
});
