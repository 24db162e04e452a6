//! `bessemer bmc` as a person or a script meets it, against fake BMCs: every command's words, JSON and YAML, errors and
//! exit codes, held to transcripts; and that it had the effect, kept no session and told no password.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod ipmi;
mod redfish;
mod signals;
mod transcript;
