//! `bessemer host`: what operators ask about one server, answered from the objects. Reads only.

mod conversation;
mod trace;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Which server, and what is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostOptions {
    #[command(subcommand)]
    command: HostCommand,
}

#[derive(Debug, Clone, Subcommand)]
enum HostCommand {
    /// What a server and the boot servers said to each other by DHCP, TFTP and HTTP, and why it was answered so. Also of
    /// servers that no BareMetalHost knows yet.
    Trace(TraceOptions),
}

#[derive(Debug, Clone, Args)]
struct TraceOptions {
    /// Name of the BareMetalHost (`NAME` or `NAMESPACE/NAME`), or a MAC address.
    server: String,

    /// Look for the name in this namespace only [default: in all].
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    /// Go on showing what is said, until Ctrl-C.
    #[arg(short, long)]
    follow: bool,

    /// How to reach the cluster [default: as kubectl does].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Which of the kubeconfig's contexts.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Answers, with exit code 0 if there is something to show, else 1.
pub(crate) async fn run(options: HostOptions) -> anyhow::Result<ExitCode> {
    match options.command {
        HostCommand::Trace(options) => trace::run(options).await,
    }
}
