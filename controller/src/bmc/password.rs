//! Where a password comes from: a file, the environment, the terminal. Never the command line, which others can read.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Write as _};
use std::path::Path;

use bessemer_bmc::Address;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use super::exit::Failure;
use super::terminal::Quiet;

/// The BMC's password, where no file is named.
const VARIABLE: &str = "BESSEMER_BMC_PASSWORD";

/// The longest line that is taken for a password.
const LONGEST: u64 = 4096;

pub(super) async fn of_bmc(file: Option<&Path>, user: &str, address: &Address) -> Result<Zeroizing<String>, Failure> {
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
        let read = typed().await;
        drop(echo);
        eprintln!();
        return read;
    }
    typed().await
}

/// From stdin, on a thread of its own: nothing else can interrupt it, and whoever asks must be free to leave and to give
/// the terminal its echo back.
async fn typed() -> Result<Zeroizing<String>, Failure> {
    let (told, line) = oneshot::channel();
    // nobody may be there to hear it any more
    std::thread::spawn(move || told.send(from_stdin()).ok());
    line.await.unwrap_or_else(|_| Err(Failure::here("the thread that reads stdin has ended")))
}

/// The first line of a file, of stdin for `-`.
pub(super) fn from_file(file: &Path, option: &str) -> Result<Zeroizing<String>, Failure> {
    if file == Path::new("-") {
        return from_stdin();
    }
    let wrong = |why: String| Failure::usage(format!("{option} {}: {why}", file.display()));
    let opened = File::open(file).map_err(|error| wrong(error.to_string()))?;
    let line = first_line(BufReader::new(opened)).map_err(|error| wrong(error.to_string()))?;
    line.ok_or_else(|| wrong("is empty: its first line is to be the password".to_owned()))
}

/// Without its end; none where there is not even that.
fn first_line(from: impl BufRead) -> io::Result<Option<Zeroizing<String>>> {
    let mut line = Zeroizing::new(String::new());
    from.take(LONGEST).read_line(&mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    let end = line.trim_end_matches(['\n', '\r']).len();
    if end == line.len() && line.len() as u64 == LONGEST {
        return Err(io::Error::other(format!("its first line is no password: it is longer than {LONGEST} bytes")));
    }
    line.truncate(end);
    Ok(Some(line))
}

fn from_stdin() -> Result<Zeroizing<String>, Failure> {
    let line = first_line(io::stdin().lock());
    let line = line.map_err(|error| Failure::usage(format!("no password from stdin: {error}")))?;
    line.ok_or_else(|| {
        Failure::usage(format!("no password: give --password-file FILE, or {VARIABLE}, or type it on a terminal"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_password() {
        let line = |text: &str| first_line(text.as_bytes()).unwrap().map(|line| line.as_str().to_owned());
        assert_eq!(line("secret\nrest\n").as_deref(), Some("secret"));
        assert_eq!(line("secret\r\n").as_deref(), Some("secret"));
        assert_eq!(line(" s \n").as_deref(), Some(" s "));
        // somebody who means it writes a line
        assert_eq!(line("\n").as_deref(), Some(""));
        assert_eq!(line(""), None);
        assert_eq!(line(&"x".repeat(4095)).map(|line| line.len()), Some(4095));
        assert!(first_line("x".repeat(5000).as_bytes()).unwrap_err().to_string().contains("longer than 4096 bytes"));
    }

    #[test]
    fn an_empty_file_is_no_password() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let failure = from_file(file.path(), "--password-file").unwrap_err().to_string();
        assert!(failure.starts_with("--password-file /") && failure.contains("is empty"), "{failure}");
    }
}
