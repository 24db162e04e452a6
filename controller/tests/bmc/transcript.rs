//! What was typed and what came back, as text that is compared with a file beside this.
//! `BESSEMER_UPDATE_GOLDEN=1` rewrites the files.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The password of every fake; it must not be seen anywhere.
pub(crate) const PASSWORD: &str = "never-to-be-seen";

/// Commands so far.
pub(crate) struct Transcript {
    name: &'static str,
    text: String,
    /// What differs from run to run, and what stands for it.
    hidden: Vec<(String, String)>,
}

impl Transcript {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, text: String::new(), hidden: Vec::new() }
    }

    pub(crate) fn hide(&mut self, what: impl ToString, by: &str) {
        self.hidden.push((what.to_string(), by.to_owned()));
    }

    /// Runs `bessemer bmc` with these words, and writes down all that comes of it. Gives the exit code.
    pub(crate) fn run(&mut self, words: &str) -> i32 {
        self.run_with(words, &[("BESSEMER_BMC_PASSWORD", PASSWORD)], "")
    }

    pub(crate) fn run_with(&mut self, words: &str, environment: &[(&str, &str)], input: &str) -> i32 {
        let output = bessemer(words, environment, input);
        let code = output.status.code().expect("an exit code");
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        self.text += &format!("$ bessemer bmc {words}\n{out}");
        error.lines().for_each(|line| self.text += &format!("! {line}\n"));
        if code != 0 {
            self.text += &format!("[exit {code}]\n");
        }
        self.text.push('\n');
        code
    }

    /// What was written down so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Compares with the file.
    pub(crate) fn check(mut self) {
        for (what, by) in &self.hidden {
            self.text = self.text.replace(what, by);
        }
        assert!(!self.text.contains(PASSWORD), "{}", self.text);
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bmc").join(format!("{}.txt", self.name));
        if std::env::var_os("BESSEMER_UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &self.text).unwrap();
        }
        let wanted = std::fs::read_to_string(&path).unwrap_or_default();
        let differs = wanted.lines().zip(self.text.lines()).find(|(wanted, is)| wanted != is);
        assert!(wanted == self.text, "{}: first difference: {differs:?}\nit is now:\n{}", path.display(), self.text);
    }
}

fn bessemer(words: &str, environment: &[(&str, &str)], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bessemer"));
    command.arg("bmc").args(words.split_whitespace());
    command.env_clear().envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // one that reads no input may have ended by now
    child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
