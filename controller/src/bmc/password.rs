//! Where a password comes from: a file, the environment, the terminal. Never the command line, which others can read.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::{env, fs};

use bessemer_bmc::Address;
use zeroize::Zeroizing;

use super::exit::Failure;
use super::terminal::Quiet;

/// The BMC's password, where no file is named.
const VARIABLE: &str = "BESSEMER_BMC_PASSWORD";

/// The longest line that is taken for a password.
const LONGEST: u64 = 4096;

pub(super) fn of_bmc(file: Option<&Path>, user: &str, address: &Address) -> Result<Zeroizing<String>, Failure> {
    if let Some(file) = file {
        return from_file(file, "--password-file");
    }
    if let Some(password) = env::var_os(VARIABLE) {
        let text = password.into_string().map_err(|_| Failure::usage(format!("{VARIABLE} is no text")))?;
        return Ok(Zeroizing::new(text));
    }
    if io::stdin().is_terminal() {
        let echo = Quiet::start()?;
        eprint!("password of {user} at {address}: ");
        // a prompt that cannot be shown is no reason to fail
        io::stderr().flush().ok();
        let read = from_stdin();
        drop(echo);
        eprintln!();
        return read;
    }
    from_stdin()
}

/// The first line of a file, of stdin for `-`.
pub(super) fn from_file(file: &Path, option: &str) -> Result<Zeroizing<String>, Failure> {
    if file == Path::new("-") {
        return from_stdin();
    }
    let text = fs::read_to_string(file).map(Zeroizing::new);
    let text = text.map_err(|error| Failure::usage(format!("{option} {}: {error}", file.display())))?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

fn from_stdin() -> Result<Zeroizing<String>, Failure> {
    let mut line = Zeroizing::new(String::new());
    let read = io::stdin().lock().take(LONGEST).read_line(&mut line);
    read.map_err(|error| Failure::usage(format!("no password from stdin: {error}")))?;
    let end = line.trim_end_matches(['\n', '\r']).len();
    if line.is_empty() {
        return Err(Failure::usage(format!(
            "no password: give --password-file FILE, or {VARIABLE}, or type it on a terminal"
        )));
    }
    line.truncate(end);
    Ok(line)
}
