//! The terminal's modes for as long as they are needed.

use std::io;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::exit::Failure;

/// What is typed is not shown, until this is dropped.
pub(super) struct Quiet(Termios);

impl Quiet {
    pub(super) fn start() -> Result<Self, Failure> {
        change(|modes| modes.local_modes.remove(LocalModes::ECHO)).map(Self)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        restore(&self.0);
    }
}

/// Every key goes to the far side as it is, until this is dropped.
pub(super) struct Raw(Termios);

impl Raw {
    pub(super) fn start() -> Result<Self, Failure> {
        change(Termios::make_raw).map(Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore(&self.0);
    }
}

/// Changes stdin's modes and says what they were.
fn change(act: impl FnOnce(&mut Termios)) -> Result<Termios, Failure> {
    let failed = |error| Failure::here(format!("cannot change the terminal's modes: {error}"));
    let before = tcgetattr(io::stdin()).map_err(failed)?;
    let mut modes = before.clone();
    act(&mut modes);
    tcsetattr(io::stdin(), OptionalActions::Now, &modes).map_err(failed)?;
    Ok(before)
}

fn restore(modes: &Termios) {
    // a terminal that is gone has no modes
    tcsetattr(io::stdin(), OptionalActions::Now, modes).ok();
}
