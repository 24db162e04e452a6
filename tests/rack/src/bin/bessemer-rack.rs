//! The rack's helper processes for this crate's own tests, and an owner that a test can kill; other programs are
//! their own helper.

use std::io::Read as _;
use std::process::ExitCode;

use bessemer_rack::{HostSpec, Rack, Spec};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.split_first() {
        Some((first, rest)) if first == bessemer_rack::HELPER => bessemer_rack::helper(rest),
        Some((first, rest)) if first == "hold" => hold(rest.first().map_or("test-hold", String::as_str)),
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

/// Starts a rack of one host, says so, and holds it until its input ends.
fn hold(id: &str) -> anyhow::Result<()> {
    let rack = Rack::start(&Spec::new(id, vec![HostSpec::small("a")]))?;
    println!("held");
    std::io::stdin().read_to_end(&mut vec![])?;
    rack.stop()
}
