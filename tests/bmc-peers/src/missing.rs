//! What a peer needs and this machine may not have.

use std::env;
use std::path::Path;

/// The first of `programs` that is not on the path, in words for a skipped test.
#[must_use]
pub fn missing_program(programs: &[&str]) -> Option<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    // administrators' tools are not on every user's path
    let folders: Vec<_> =
        env::split_paths(&path).chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(Into::into)).collect();
    let missing = programs.iter().find(|program| !folders.iter().any(|folder| folder.join(program).is_file()));
    missing.map(|program| format!("no {program}"))
}

/// Why virtual machines of libvirt cannot be had here, if they cannot.
#[must_use]
pub fn libvirt_cannot_run() -> Option<String> {
    let root = Path::new("/proc/self").metadata().is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !root {
        return Some("not root: libvirt needs namespaces of its own".to_owned());
    }
    missing_program(&["libvirtd", "virsh", "unshare", "dnsmasq", "ip", bessemer_rack::QEMU])
}
