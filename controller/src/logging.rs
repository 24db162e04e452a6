//! Logs: to stderr, so that stdout is for programs.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

/// What `RUST_LOG` defaults to in a server. The client library
/// names each object at each reconcile, which our own lines do once, and logs errors that it also returns.
pub(crate) const SERVER_FILTER: &str = "info,kube_client=off,kube_runtime=warn";

/// What it defaults to in a command that does one thing and ends.
pub(crate) const TOOL_FILTER: &str = "warn";

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people; coloured on a terminal unless `NO_COLOR` is set.
    Human,
    /// One JSON object a line.
    Json,
}

/// Starts logging for the process, of what `RUST_LOG` says or else `default`.
pub(crate) fn start(format: LogFormat, default: &str) -> anyhow::Result<()> {
    let filter = match std::env::var(EnvFilter::DEFAULT_ENV) {
        Ok(filter) if !filter.is_empty() => {
            EnvFilter::try_new(&filter).map_err(|error| anyhow::anyhow!("RUST_LOG={filter:?}: {error}"))?
        }
        _ => EnvFilter::new(default),
    };
    let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match format {
        LogFormat::Human => subscriber.with_ansi(colours).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).with_current_span(false).try_init(),
    };
    started.map_err(|error| anyhow::anyhow!("cannot start logging: {error}"))
}
