//! One script of `kubectl` commands, run against two API servers, and the differences between what it printed.
//! The script is in `script/`, what it applies in `files/`, the differences that may remain with their reasons in
//! `differences.txt`. This room knows shells and texts; it must not know which servers it runs against.

mod diff;
mod differences;
mod normal;
mod script;
mod session;

use std::path::PathBuf;

pub use differences::{Differences, Found};
pub use script::{Script, Step};
pub use session::{Answer, Session};

/// This room's folder.
#[must_use]
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
