//! The shell between one command and the next: cloud-init makes one script of a list of commands, so that what one sets and where it goes to
//! holds for the next. Here each command is a step of its own, and this carries variables, the folder and the umask over. Functions are not.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::warn;

/// Variables that some shells do not let anybody set.
const READ_ONLY: &str = "/^BASH/d;/^EUID=/d;/^PPID=/d;/^SHELLOPTS=/d;/^UID=/d;/^_=/d";

/// Where the state is kept.
#[derive(Debug)]
pub(super) struct Shell {
    state: PathBuf,
    instance: String,
}

impl Shell {
    /// In `folder`, for `claim` alone. `instance` is what commands find in `INSTANCE_ID`.
    pub(super) fn new(folder: &Path, claim: &str, instance: &str) -> Self {
        if let Err(error) = fs::create_dir_all(folder) {
            warn!("{}: {error}: commands do not see what others exported", folder.display());
        }
        let name = |text: &str| -> String { text.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect() };
        // A restarted agent goes on with it.
        let state = folder.join(format!("shell-{}", name(claim)));
        Self { state, instance: instance.chars().filter(|c| !c.is_control() && *c != '\'').collect() }
    }

    /// `line` in the state that the command before left.
    pub(super) fn line(&self, line: &str) -> String {
        let (state, instance) = (self.state.display(), &self.instance);
        format!(
            "export INSTANCE_ID='{instance}'; if [ -f '{state}' ]; then . '{state}'; cd \"$PWD\"; fi; \
             trap 'bessemer_status=$?; export PWD; bessemer_umask=$(umask); \
             (umask 077; {{ set | sed \"{READ_ONLY}\"; export -p; echo umask $bessemer_umask; }} > {state}) 2> /dev/null; \
             exit $bessemer_status' EXIT\n{line}"
        )
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // exported values may be secret
        let _ = fs::remove_file(&self.state);
    }
}
