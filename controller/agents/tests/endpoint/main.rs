//! The agents' endpoint against a real HTTP/2 and TLS client, over loopback, with a fake of the objects behind it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub,
    reason = "a test may fail loudly, and its modules are nobody's interface"
)]

mod certificates;
mod discovery;
mod enrolment;
mod renewal;
mod site;
mod streams;
mod versions;
