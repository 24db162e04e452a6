//! The part of Debian that kube-proxy's image carries: the iptables and modprobe programs, with
//! the libraries and extensions they load.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::error::OsImageError;
use super::oci::Entry;
use crate::file::FileError;
use crate::tool::Tool;

const PROGRAMS: [&str; 2] = ["/usr/sbin/xtables-nft-multi", "/usr/bin/kmod"];

/// Names under which kube-proxy calls them.
const NAMES: [(&str, &str); 8] = [
    ("/usr/sbin/iptables", "xtables-nft-multi"),
    ("/usr/sbin/iptables-save", "xtables-nft-multi"),
    ("/usr/sbin/iptables-restore", "xtables-nft-multi"),
    ("/usr/sbin/ip6tables", "xtables-nft-multi"),
    ("/usr/sbin/ip6tables-save", "xtables-nft-multi"),
    ("/usr/sbin/ip6tables-restore", "xtables-nft-multi"),
    ("/usr/sbin/modprobe", "../bin/kmod"),
    ("/usr/sbin/lsmod", "../bin/kmod"),
];

/// Extensions, opened by name at run time: no program's list of libraries has them.
const EXTENSIONS: &str = "/usr/lib/x86_64-linux-gnu/xtables";

/// Debian's merged `/usr`, which the libraries' recorded paths rely on.
const MERGED: [&str; 4] = ["bin", "sbin", "lib", "lib64"];

/// What an image needs for the programs to run as in `root`.
pub(super) fn iptables(root: &Path) -> Result<Vec<Entry>, OsImageError> {
    let mut entries: Vec<_> =
        MERGED.iter().map(|name| Entry::link(&format!("/{name}"), &format!("usr/{name}"))).collect();
    let mut files: BTreeSet<_> = PROGRAMS.iter().map(|program| (*program).to_owned()).collect();
    let folder = root.join(EXTENSIONS.trim_start_matches('/'));
    let mut names = BTreeSet::new();
    for extension in fs::read_dir(&folder).map_err(FileError::io("list", &folder))? {
        names.insert(extension.map_err(FileError::io("list", &folder))?.file_name());
    }
    for name in names {
        let inside = format!("{EXTENSIONS}/{}", name.to_string_lossy());
        match fs::read_link(folder.join(&name)) {
            Ok(target) => entries.push(Entry::link(&inside, &target.to_string_lossy())),
            Err(_) => drop(files.insert(inside)),
        }
    }
    let listing = Tool::new("chroot", Duration::from_secs(120)).arg(root).arg("ldd").args(&files).run()?;
    files.extend(parse(&listing));
    entries.extend(files.iter().map(|path| Entry::file(path, &root.join(path.trim_start_matches('/')))));
    entries.extend(NAMES.iter().map(|(name, target)| Entry::link(name, target)));
    Ok(entries)
}

/// The libraries and the loader in what `ldd` says of several files.
fn parse(listing: &str) -> Vec<String> {
    let path = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(str::to_owned);
    let merged = |path: String| if path.starts_with("/lib") { format!("/usr{path}") } else { path };
    listing.lines().filter(|line| line.starts_with('\t')).filter_map(path).map(merged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_and_the_libraries_are_found_in_what_ldd_says() {
        let listing = "/usr/bin/kmod:\n\tlinux-vdso.so.1 (0x00007ffd)\n\tlibmnl.so.0 => /lib/x86_64-linux-gnu/libmnl.so.0 (0x00007f)\n\
                       \tlibzstd.so.1 => /usr/lib/x86_64-linux-gnu/libzstd.so.1 (0x7f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        assert_eq!(
            parse(listing),
            [
                "/usr/lib/x86_64-linux-gnu/libmnl.so.0",
                "/usr/lib/x86_64-linux-gnu/libzstd.so.1",
                "/usr/lib64/ld-linux-x86-64.so.2"
            ]
        );
    }
}
