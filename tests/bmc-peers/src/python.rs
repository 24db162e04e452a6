//! Where the Python peers are: see `tests/python/requirements.txt`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use crate::daemon::bound_to_us;

/// The folder of their programs.
const VARIABLE: &str = "BESSEMER_PYTHON_PEERS";

/// The folder with `sushy-emulator`, `redfishtool` and the like, or why there is none.
///
/// # Errors
/// In words for a skipped test.
pub fn peers() -> Result<PathBuf, String> {
    match env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => Err(format!("no Python peers: {VARIABLE} is not set")),
    }
}

/// One of those programs, which nothing of the user's reaches.
pub(crate) fn program(name: &str) -> Result<Command, String> {
    let mut command = bound_to_us(peers()?.join(name));
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env("PYTHONUNBUFFERED", "1");
    Ok(command)
}
