//! Understanding what libtest prints.

use super::tally::Tally;
use crate::run;

/// What a test prints, followed by the reason, when it cannot run here.
const SKIP: &str = "SKIP ";

/// What a line begins with that is to be read even where everything passed: how long something took, how large it is.
const MEASURES: [&str; 2] = ["WALL ", "SIZE "];

/// What a program of tests has told so far.
#[derive(Debug, Default)]
pub(super) struct Reader {
    passed: usize,
    /// Tests that the programs said they would run.
    promised: usize,
    pub(super) failures: Vec<String>,
    skips: Vec<(String, String)>,
    /// What was measured, each behind the name of its test.
    measures: Vec<(String, String)>,
    /// Whose output is being shown.
    of: String,
}

impl Reader {
    pub(super) fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            name.clone_into(&mut self.of);
        } else if let Some(reason) = line.strip_prefix(SKIP) {
            self.skips.push((self.of.clone(), reason.trim().to_owned()));
        } else if MEASURES.iter().any(|mark| line.starts_with(mark)) {
            self.measures.push((self.of.clone(), line.to_owned()));
        } else if let Some(count) = line.strip_prefix("running ").and_then(|rest| rest.split_whitespace().next()) {
            self.promised += count.parse::<usize>().unwrap_or_default();
        } else if let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            match result {
                "FAILED" => self.failures.push(name.to_owned()),
                // its reason stands behind it
                _ if result.starts_with("ignored") => {
                    let reason = result.strip_prefix("ignored, ").unwrap_or("ignored without a reason");
                    self.skips.push((name.to_owned(), reason.to_owned()));
                    // only tests that passed are counted, and skips are taken off
                    self.passed += 1;
                }
                _ => self.passed += 1,
            }
        }
    }

    /// How many tests it told of.
    pub(super) fn seen(&self) -> usize {
        self.passed + self.failures.len()
    }

    /// What was measured, a line each, under the name of the test where that begins.
    pub(super) fn measured(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut of = "";
        for (name, line) in &self.measures {
            if of != name {
                lines.push(format!("  {name}"));
                of = name;
            }
            lines.push(format!("    {line}"));
        }
        lines
    }

    /// How many of those that were to run it did not tell of.
    pub(super) fn missing(&self) -> usize {
        self.promised.saturating_sub(self.seen())
    }

    pub(super) fn settle(self, tally: &mut Tally) {
        tally.pass(self.passed.saturating_sub(self.skips.len()));
        self.failures.iter().for_each(|name| tally.fail(name));
        self.skips.iter().for_each(|(name, reason)| tally.skip(name, reason));
    }
}

/// The output of tests that failed, or of the compiler.
pub(super) fn failures_of(output: &str) -> String {
    let from = ["\nfailures:\n", "\nerror"].iter().filter_map(|mark| output.find(mark)).min().unwrap_or_default();
    run::tail(output.get(from..).unwrap_or(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libtests_words_are_counted() {
        let mut reader = Reader::default();
        for line in "\
running 5 tests
test a ... ok
test b ... FAILED
test c ... ignored, needs a server
test d - should panic ... ok
test src/lib.rs - (line 9) - compile ... ok
---- a stdout ----
SKIP not root
---- b stdout ----
no luck
test result: FAILED. 3 passed; 1 failed; 1 ignored"
            .lines()
        {
            reader.line(line);
        }
        assert_eq!((reader.passed, reader.missing()), (4, 0));
        assert_eq!(reader.failures, ["b"]);
        let skip = |name: &str, reason: &str| (name.to_owned(), reason.to_owned());
        assert_eq!(reader.skips, [skip("c", "needs a server"), skip("a", "not root")]);
    }

    #[test]
    fn what_was_measured_is_told_though_all_passed() {
        let mut reader = Reader::default();
        for line in "\
running 2 tests
test a ... ok
test b ... ok
successes:
---- a stdout ----
   1.20 | booting
WALL 7.9 s from power on to `INIT`
WALL 9.0 s from power on to the end
---- b stdout ----
SIZE kernel 1 + agent 2 = 3 bytes"
            .lines()
        {
            reader.line(line);
        }
        let told = [
            "  a",
            "    WALL 7.9 s from power on to `INIT`",
            "    WALL 9.0 s from power on to the end",
            "  b",
            "    SIZE kernel 1 + agent 2 = 3 bytes",
        ];
        assert_eq!(reader.measured(), told);
        assert_eq!((reader.seen(), reader.missing()), (2, 0));
    }

    #[test]
    fn a_program_that_ends_early_owes_its_tests() {
        let mut reader = Reader::default();
        ["running 3 tests", "test a ... ok"].iter().for_each(|line| reader.line(line));
        assert_eq!((reader.seen(), reader.missing()), (1, 2));
    }
}
