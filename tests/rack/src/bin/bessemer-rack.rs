//! The rack's helper processes for this crate's own tests; other programs are their own helper.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == bessemer_rack::HELPER => bessemer_rack::helper(rest),
        _ => Err(anyhow::anyhow!("nothing to do: this program is for the rack's own tests")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
