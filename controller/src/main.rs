//! The `bessemer` program: command line and wiring. Everything it does is another room's; here the rooms meet.

mod bmc;
mod boot;
mod cli;
mod connect;
mod controllers;
mod descriptors;
mod host;
mod logging;
mod metrics;
mod namespace;
mod parts;
mod serve;
mod signals;
mod up;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use cli::{Cli, Command};

/// What is still under way in the background may take this long.
const GOODBYE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let cli = Cli::parse();
    // a tool's own output is what matters; a server's log is all there is of it
    let least = if matches!(cli.command, Command::Bmc(_) | Command::Host(_)) {
        logging::TOOL_FILTER
    } else {
        logging::SERVER_FILTER
    };
    if let Err(error) = logging::start(cli.log_format, least) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    descriptors::raise();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start worker threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let code = match cli.command {
        Command::Up(options) => code_of(&runtime.block_on(Box::pin(up::run(options)))),
        Command::Serve(options) => code_of(&runtime.block_on(Box::pin(serve::run(options)))),
        Command::Boot(options) => code_of(&runtime.block_on(Box::pin(boot::run(options)))),
        Command::Bmc(options) => runtime.block_on(bmc::run(options)),
        Command::Host(options) => runtime.block_on(Box::pin(host::run(options))).unwrap_or_else(|error| failed(&error)),
    };
    // A blocking read that hangs must not keep the process.
    runtime.shutdown_timeout(GOODBYE);
    code
}

fn code_of(result: &anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(error),
    }
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::FAILURE
}
