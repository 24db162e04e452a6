//! What a measurement says: one row, beside what a peer reached in the same run. A suite is a program
//! `bench-NAME` that prints its rows, one JSON object a line, with [`Row::print`]; `cargo xtask bench` runs it and
//! makes the table. Any other line it prints is shown as progress. This room must not know what is measured.

mod rounds;

use serde::{Deserialize, Serialize};

pub use rounds::Rounds;

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `api`, `bmc`, `boot`, `image`, `hosts` or `capi`.
    pub suite: String,
    /// What was measured, with its size: `creates, 64 clients`.
    pub name: String,
    /// What we reached.
    pub value: f64,
    /// Of both values: `/s`, `ms`, `MiB`.
    pub unit: String,
    /// Who was measured beside us, with its version; empty when nobody does the same.
    #[serde(default)]
    pub peer: String,
    /// What the peer reached.
    #[serde(default)]
    pub peer_value: Option<f64>,
    /// Ours divided by the peer's.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// What is wanted, if something is: `>= 5x`, `<= 300 ms`.
    #[serde(default)]
    pub target: Option<String>,
    /// Whether it was reached.
    #[serde(default)]
    pub met: Option<bool>,
}

impl Row {
    /// A measurement without a peer.
    #[must_use]
    pub fn new(suite: &str, name: impl Into<String>, value: f64, unit: &str) -> Self {
        let (suite, name, unit) = (suite.to_owned(), name.into(), unit.to_owned());
        Self { suite, name, value, unit, peer: String::new(), peer_value: None, ratio: None, target: None, met: None }
    }

    /// Beside what `peer` reached in the same run.
    #[must_use]
    pub fn beside(mut self, peer: &str, value: f64) -> Self {
        peer.clone_into(&mut self.peer);
        self.peer_value = Some(value);
        self.ratio = (value != 0.0).then(|| self.value / value);
        self
    }

    /// Wanted: at least `times` the peer's value.
    #[must_use]
    pub fn at_least_times(mut self, times: f64) -> Self {
        self.target = Some(format!(">= {times}x"));
        self.met = Some(self.ratio.is_some_and(|ratio| ratio >= times));
        self
    }

    /// Wanted: at most `times` the peer's value.
    #[must_use]
    pub fn at_most_times(mut self, times: f64) -> Self {
        self.target = Some(format!("<= {times}x"));
        self.met = Some(self.ratio.is_some_and(|ratio| ratio <= times));
        self
    }

    /// Wanted: at most `limit`, in the row's unit, whatever the peer reaches.
    #[must_use]
    pub fn at_most(mut self, limit: f64) -> Self {
        self.target = Some(format!("<= {limit} {}", self.unit));
        self.met = Some(self.value <= limit);
        self
    }

    /// Prints it for `cargo xtask bench`.
    ///
    /// # Errors
    /// When a value is no number or the output is closed.
    pub fn print(&self) -> std::io::Result<()> {
        use std::io::Write as _;
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, self)?;
        out.write_all(b"\n")?;
        out.flush()
    }

    /// The row in a line of a suite's output, if it is one.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_what_they_say_and_judge_targets() {
        let row = Row::new("api", "creates, 1 client", 500.0, "/s").beside("kube-apiserver", 100.0);
        assert_eq!(row.ratio, Some(5.0));
        assert_eq!(row.clone().at_least_times(5.0).met, Some(true));
        assert_eq!(row.clone().at_least_times(6.0).met, Some(false));
        assert_eq!(row.clone().at_most_times(0.1).met, Some(false));
        assert_eq!(row.clone().at_most(500.0).target.as_deref(), Some("<= 500 /s"));
        let line = serde_json::to_string(&row).unwrap();
        assert_eq!(Row::parse(&line), Some(row));
        assert_eq!(Row::parse("compiling"), None);
    }

    #[test]
    fn without_a_peer_nothing_is_reached_beside_it() {
        let row = Row::new("api", "x", 1.0, "s");
        assert_eq!(row.clone().at_least_times(1.0).met, Some(false));
        assert_eq!(row.beside("p", 0.0).ratio, None);
    }
}
