//! The `bessemer` program: command line and wiring. Everything it does is another room's; here the rooms meet.

mod cli;
mod controllers;
mod logging;
mod metrics;
mod namespace;
mod serve;
mod signals;
mod up;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = logging::start(cli.log_format) {
        eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: cannot start worker threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = match cli.command {
        Command::Up(options) => runtime.block_on(Box::pin(up::run(options))),
        Command::Serve(options) => runtime.block_on(Box::pin(serve::run(options))),
    };
    // A blocking read that hangs must not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
