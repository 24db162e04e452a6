//! The Python programs that BMCs are tested beside, from PyPI, in a virtual environment of their own in the build cache.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result};
use bessemer_images::cache::Cache;
use sha2::{Digest as _, Sha256};

use crate::prerequisites::LIBVIRT_BINDING;
use crate::say::say;
use crate::workspace::Workspace;
use crate::{deadline, run};

/// Tells tests in which folder `sushy-emulator`, `redfishtool` and the like are, and the `python3` that has their
/// modules.
pub(crate) const PEERS_VARIABLE: &str = "BESSEMER_PYTHON_PEERS";

/// Debian's: the one its binding of libvirt is made for.
const PYTHON: &str = "/usr/bin/python3";

/// Of the build cache.
const SHELF: &str = "python";

/// Everything that is installed, with versions.
const REQUIREMENTS: &str = "tests/python/requirements.txt";

/// The folder of programs, installed first where they are not there yet.
pub(crate) fn ensure(workspace: &Workspace, until: Instant) -> Result<PathBuf> {
    let requirements = workspace.root.join(REQUIREMENTS);
    let pinned = fs::read(&requirements).with_context(|| format!("cannot read {REQUIREMENTS}"))?;
    let version = run::must(python(Path::new(PYTHON), &["--version"]), until, |_| {})?;
    let mut hash = Sha256::new();
    hash.update(&pinned);
    hash.update(version);
    // it may come, go and change its name with an upgrade of Debian's, and the environment holds links to it
    for binding in bindings()? {
        hash.update(binding.as_os_str().as_encoded_bytes());
        hash.update([0]);
    }
    let key: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let cache = Cache::from_env()?;
    let folder = cache.root().join(SHELF).join(&key);
    let entry = cache.entry(SHELF, &key, 2, |partial| {
        say("installing Python peers of BMCs, once");
        let start = Instant::now();
        run::must(python(Path::new(PYTHON), &["-m", "venv", &partial.to_string_lossy()]), until, |_| {})?;
        let mut pip = python(&partial.join("bin/python3"), &["-m", "pip", "install", "--quiet", "--no-deps"]);
        pip.args(["--disable-pip-version-check", "--only-binary", ":all:", "--requirement"]).arg(&requirements);
        run::must(pip, until, |_| {})?;
        libvirt(partial)?;
        move_programs(partial, &folder)?;
        say(format!("Python peers: installed in {}", deadline::show(start.elapsed())));
        anyhow::Ok(())
    })?;
    Ok(entry.join("bin"))
}

/// Programs name their interpreter by its path in the first line: the one where the environment will stay.
fn move_programs(from: &Path, to: &Path) -> Result<()> {
    let (from, to) = (from.to_string_lossy(), to.to_string_lossy());
    for entry in fs::read_dir(Path::new(&*from).join("bin"))?.flatten() {
        let path = entry.path();
        if entry.file_type()?.is_file()
            && let Ok(text) = fs::read_to_string(&path)
            && text.starts_with("#!")
        {
            fs::write(&path, text.replacen(&*from, &to, 1))?;
        }
    }
    Ok(())
}

/// Lets the environment see Debian's binding, and nothing else of Debian's.
fn libvirt(environment: &Path) -> Result<()> {
    let libraries = fs::read_dir(environment.join("lib"))?.flatten().map(|entry| entry.path().join("site-packages"));
    for ours in libraries {
        for file in bindings()? {
            let name = file.file_name().context("a file without a name")?;
            symlink(&file, ours.join(name))?;
        }
    }
    Ok(())
}

/// The files of Debian's binding, sorted; none where it is not installed.
fn bindings() -> Result<Vec<PathBuf>> {
    let theirs = Path::new(LIBVIRT_BINDING).parent().context("the binding is in no folder")?;
    bindings_in(theirs)
}

fn bindings_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libvirt") && (name.ends_with(".py") || name.ends_with(".so"))
    });
    files.sort();
    Ok(files)
}

fn python(interpreter: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(interpreter);
    // nobody else's modules
    command.args(arguments).env_remove("PYTHONPATH").env_remove("PYTHONHOME");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binding_is_its_files_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["libvirtmod.cpython-311.so", "libvirt.py", "libvirt_python-9.egg-info", "apt_pkg.so"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = bindings_in(folder.path()).unwrap();
        let names: Vec<_> = found.iter().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["libvirt.py", "libvirtmod.cpython-311.so"]);
        assert_eq!(bindings_in(&folder.path().join("missing")).unwrap(), Vec::<PathBuf>::new());
    }
}
