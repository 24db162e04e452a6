//! The administrator's kubeconfig, where the user wants it besides the state directory. A file that is not ours is never
//! written over: it may hold the way into other clusters.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use kube::config::Kubeconfig;

/// The names of cluster and user in the kubeconfigs that the embedded API writes.
const CLUSTER: &str = "bessemer";
const USER: &str = "bessemer-admin";

/// Whether `wanted` may be written: there is nothing, or something that we wrote.
///
/// # Errors
/// What is in the way, with the remedy.
pub(super) fn check(wanted: &Path) -> Result<(), String> {
    let shown = wanted.display();
    let another = "choose another file with --kubeconfig";
    match std::fs::metadata(wanted) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let parent = wanted.parent().filter(|parent| !parent.as_os_str().is_empty());
            return match parent.filter(|parent| !parent.is_dir()) {
                Some(parent) => Err(format!("cannot write {shown}: {} is no directory; {another}", parent.display())),
                None => Ok(()),
            };
        }
        Err(error) => return Err(format!("cannot write {shown}: {error}; {another}")),
        // As `mktemp` makes it.
        Ok(found) if found.is_file() && found.len() == 0 => return Ok(()),
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(format!("cannot write {shown}: it is no file; {another}")),
    }
    match Kubeconfig::read_from(wanted) {
        Ok(found) if is_ours(&found) => Ok(()),
        _ => Err(format!("{shown} is there and was not written by this program; {another}, or move it away")),
    }
}

/// One that names any cluster or user besides ours has been added to.
fn is_ours(found: &Kubeconfig) -> bool {
    let mut users = found.auth_infos.iter().map(|user| &user.name);
    let mut clusters = found.clusters.iter().map(|cluster| &cluster.name);
    let mut contexts = found.contexts.iter().map(|context| &context.name);
    !found.clusters.is_empty()
        && clusters.all(|name| name == CLUSTER)
        && users.all(|name| name == USER)
        && contexts.all(|name| name == CLUSTER)
}

/// Copies the kubeconfig that the API server wrote to where the user wants it: its owner's only, and never half written.
pub(super) fn copy(written: &Path, wanted: &Path) -> anyhow::Result<()> {
    if let Err(problem) = check(wanted) {
        bail!(problem);
    }
    let mut beside = wanted.to_owned();
    beside.as_mut_os_string().push(".bessemer-new");
    let copy = || {
        remove(&beside)?;
        // The copy takes the permissions of the original.
        std::fs::copy(written, &beside)?;
        std::fs::rename(&beside, wanted)
    };
    copy()
        .inspect_err(|_| _ = remove(&beside))
        .with_context(|| format!("cannot write {}; choose another file with --kubeconfig", wanted.display()))
}

/// `kubeconfig` in the state directory, as a link to where the API server wrote it.
pub(super) fn link(state: &Path, written: &Path) -> anyhow::Result<PathBuf> {
    let link = state.join("kubeconfig");
    let target = written.strip_prefix(state).unwrap_or(written);
    remove(&link)
        .and_then(|()| std::os::unix::fs::symlink(target, &link))
        .with_context(|| format!("cannot make {}", link.display()))?;
    Ok(link)
}

fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use bessemer_apiserver::ApiServer;

    use super::*;

    const THEIRS: &str = "apiVersion: v1\nkind: Config\ncurrent-context: work\n\
        clusters:\n- {name: work, cluster: {server: 'https://work:6443'}}\nusers:\n- {name: me, user: {token: secret}}\n\
        contexts:\n- {name: work, context: {cluster: work, user: me}}\n";

    #[tokio::test]
    async fn what_the_embedded_api_writes_is_ours_and_nothing_else_is() {
        let dir = tempfile::tempdir().unwrap();
        let api = ApiServer::open(&dir.path().join("state")).await.unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let serving = api.serve_https(address, &[], std::future::pending()).await.unwrap();
        let wanted = dir.path().join("config");
        for _ in 0..2 {
            copy(&serving.kubeconfig_path, &wanted).unwrap();
        }
        let ours = std::fs::read_to_string(&wanted).unwrap();
        assert_eq!(ours, std::fs::read_to_string(&serving.kubeconfig_path).unwrap());

        let more = ours.replace("users:\n", "users:\n- {name: me, user: {token: secret}}\n");
        assert_ne!(ours, more);
        for theirs in [THEIRS, more.as_str(), "notes to myself", "apiVersion: v1\nkind: Config\n"] {
            std::fs::write(&wanted, theirs).unwrap();
            let error = copy(&serving.kubeconfig_path, &wanted).unwrap_err().to_string();
            assert!(error.contains("not written by this program") && error.contains("--kubeconfig"), "{error}");
            assert_eq!(std::fs::read_to_string(&wanted).unwrap(), theirs);
        }
    }

    #[test]
    fn nothing_is_left_of_a_copy_that_fails() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = dir.path().join("config");
        assert!(copy(&dir.path().join("missing"), &wanted).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(check(dir.path()).unwrap_err().contains("is no file"));
        assert!(check(&dir.path().join("no/config")).unwrap_err().contains("is no directory"));
        std::fs::write(&wanted, "").unwrap();
        assert_eq!((check(&wanted), check(Path::new("not-there"))), (Ok(()), Ok(())));
    }
}
