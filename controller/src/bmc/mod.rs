//! `bessemer bmc`: one server's management controller from the command line, without any cluster.
//!
//! Here a command becomes calls of [`bessemer_bmc::Bmc`], and what came of them becomes words, JSON or YAML, and an exit
//! code. This room must not know a protocol or a vendor: those are `bessemer_bmc`'s.

mod access;
mod boot;
mod console;
mod ends;
mod escape;
mod exit;
mod info;
mod log;
mod media;
mod options;
mod outcome;
mod output;
mod password;
mod power;
mod sensors;
mod table;
mod terminal;

use std::process::ExitCode;

use bessemer_bmc::Bmc;

use ends::Ends;
use exit::Failure;
pub(crate) use options::BmcOptions;
use options::{BmcCommand, MediaCommand, PowerCommand};

/// Runs one command and says how it ended. Its errors are told here.
pub(crate) async fn run(options: BmcOptions) -> ExitCode {
    match Box::pin(carry_out(options)).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            failure.exit_code()
        }
    }
}

async fn carry_out(options: BmcOptions) -> Result<(), Failure> {
    // before anything that must not stay behind: a terminal without echo, a session
    let mut ends = Ends::listen()?;
    let bmc = tokio::select! {
        bmc = access::connect(&options.access) => bmc?,
        signal = ends.next() => return Err(Failure::interrupted(signal)),
    };
    let ended = match options.command {
        // it ends on a signal as it does on a key
        BmcCommand::Console { ways: false, take_over } => {
            console::run(&*bmc, take_over, options.output, &mut ends).await
        }
        _ => tokio::select! {
            ended = command(&*bmc, &options) => ended,
            // what was asked for may still come about; its session must not stay behind
            signal = ends.next() => Err(Failure::interrupted(signal)),
        },
    };
    bmc.close().await;
    ended
}

async fn command(bmc: &dyn Bmc, options: &BmcOptions) -> Result<(), Failure> {
    let format = options.output;
    match &options.command {
        BmcCommand::Info(what) => info::show(bmc, what, format).await,
        BmcCommand::Power { command: PowerCommand::Status } => power::status(bmc, format).await,
        BmcCommand::Power { command } => power::act(bmc, command, format).await,
        BmcCommand::Boot(wanted) => boot::choose(bmc, wanted, format).await,
        BmcCommand::Media { command: MediaCommand::List } => media::list(bmc, format).await,
        BmcCommand::Media { command: MediaCommand::Insert(what) } => media::insert(bmc, what, format).await,
        BmcCommand::Media { command: MediaCommand::Eject { kind } } => media::eject(bmc, *kind, format).await,
        BmcCommand::Sensors => sensors::show(bmc, format).await,
        BmcCommand::Log { limit } => log::show(bmc, *limit, format).await,
        BmcCommand::Console { .. } => console::list(bmc, format).await,
    }
}
