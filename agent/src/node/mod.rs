//! The node role.
pub(crate) fn run() -> std::process::ExitCode { std::process::ExitCode::FAILURE }
