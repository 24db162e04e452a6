//! Every crate's own tests.

use std::time::Instant;

use anyhow::Result;

use super::tally::Tally;
use crate::say::say;
use crate::workspace::Workspace;
use crate::{kubernetes, run};

/// What a test prints, followed by the reason, when it cannot run here.
const SKIP: &str = "SKIP ";

pub(super) fn run(workspace: &Workspace, until: Instant, tally: &mut Tally) -> Result<()> {
    let mut cargo = workspace.cargo(&["test", "--workspace", "--no-fail-fast", "--", "--show-output"]);
    // the embedded API is tested with and against the real one, which the lane `rack` needs anyway
    let kubernetes = kubernetes::ensure(&workspace.root)?.dir;
    cargo.env("BESSEMER_KUBECTL", kubernetes.join("kubectl"));
    cargo.env(kubernetes::BINARIES_VARIABLE, kubernetes);
    let mut reader = Reader::default();
    let finished = run::run(cargo, until, |line| {
        if let Some(crate_name) =
            line.trim_start().strip_prefix("Running ").or(line.trim_start().strip_prefix("Doc-tests "))
        {
            say(crate_name);
        }
        reader.line(line);
    })?;
    let failed = !reader.failures.is_empty();
    tally.pass(reader.passed.saturating_sub(reader.skips.len()));
    reader.failures.iter().for_each(|name| tally.fail(name));
    reader.skips.iter().for_each(|(name, reason)| tally.skip(name, reason));
    if !finished.success {
        println!("{}", failures_of(&finished.output));
        if !failed {
            // it did not come to running tests
            tally.fail("cargo test");
        }
    }
    Ok(())
}

/// Understands what libtest prints.
#[derive(Debug, Default)]
struct Reader {
    passed: usize,
    failures: Vec<String>,
    skips: Vec<(String, String)>,
    /// Whose output is being shown.
    of: String,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            name.clone_into(&mut self.of);
        } else if let Some(reason) = line.strip_prefix(SKIP) {
            self.skips.push((self.of.clone(), reason.trim().to_owned()));
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
}

/// The output of tests that failed, or of the compiler.
fn failures_of(output: &str) -> String {
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
        assert_eq!(reader.passed, 4);
        assert_eq!(reader.failures, ["b"]);
        let skip = |name: &str, reason: &str| (name.to_owned(), reason.to_owned());
        assert_eq!(reader.skips, [skip("c", "needs a server"), skip("a", "not root")]);
    }
}
