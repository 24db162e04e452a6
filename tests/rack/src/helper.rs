//! The parts of a rack that are processes of their own: the keeper, and the hook that a BMC calls. Both are the
//! program that started the rack, called with [`HELPER`] as first argument.

use std::path::Path;

use anyhow::{Result, bail};

use crate::keeper;
use crate::protocol::{Request, ask};

/// The first argument of a helper's command line.
pub const HELPER: &str = "rack-helper";

/// Runs a helper with the arguments after [`HELPER`].
///
/// # Errors
/// What the helper could not do. A hook's words go to the BMC's log, a keeper's first line of output to its owner.
pub fn helper(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keeper", id] => keeper::main(id),
        ["hook", socket, host, words @ ..] => {
            let words = words.iter().map(|&word| word.to_owned()).collect();
            let answer = ask(Path::new(socket), &Request::Chassis { host: (*host).to_owned(), words })?;
            print!("{answer}");
            Ok(())
        }
        _ => bail!("{HELPER} is called by the rack itself, as keeper or hook"),
    }
}
