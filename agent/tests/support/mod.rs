//! What stands around an agent under test: a controller, an image server and a virtual machine.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]
#![allow(missing_docs, reason = "for tests only")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "for tests only")]

pub mod controller;
pub mod image;
pub mod machine;
