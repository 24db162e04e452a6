//! Results on stdout: a table for people, JSON or YAML for programs.

use std::io::{self, Write as _};

use clap::ValueEnum;
use serde::Serialize;

use super::exit::Failure;

/// How results look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// Shows `result`, which `table` puts into words.
pub(super) fn show<T: Serialize>(format: Format, result: &T, table: impl FnOnce(&T) -> String) -> Result<(), Failure> {
    let text = match format {
        Format::Table => table(result),
        Format::Json => serde_json::to_string_pretty(result).map_err(|error| Failure::here(error.to_string()))? + "\n",
        Format::Yaml => serde_saphyr::to_string(result).map_err(|error| Failure::here(error.to_string()))?,
    };
    let written = io::stdout().lock().write_all(text.as_bytes());
    match written {
        // whoever reads has seen enough
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::here(format!("stdout: {error}"))),
    }
}
