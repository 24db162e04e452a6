//! The name servers, from wherever they are learnt, in the file where every resolver looks.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::warn;

/// The C library's resolver looks at three.
const MOST: usize = 3;

/// What is known so far.
#[derive(Debug, Clone)]
pub(super) struct Resolvers {
    file: PathBuf,
    known: Arc<Mutex<Vec<IpAddr>>>,
}

impl Resolvers {
    /// None yet. `file` is `/etc/resolv.conf` outside tests.
    pub(super) fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), known: Arc::default() }
    }

    /// Adds more, after those that were learnt before.
    pub(super) fn learn(&self, more: impl Iterator<Item = IpAddr>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for resolver in more {
            if !known.contains(&resolver) && known.len() < MOST {
                known.push(resolver);
            }
        }
        let text: String = known.iter().map(|resolver| format!("nameserver {resolver}\n")).collect();
        if let Err(error) = fs::write(&self.file, text) {
            warn!("{}: {error}; names in image URLs will not resolve", self.file.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_are_kept_in_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let resolvers = Resolvers::new(file.path());
        let learn = |addresses: &[&str]| resolvers.learn(addresses.iter().map(|address| address.parse().unwrap()));
        learn(&["192.0.2.1", "192.0.2.2"]);
        learn(&["192.0.2.1", "2001:db8::1", "192.0.2.3"]);
        assert_eq!(
            fs::read_to_string(file.path()).unwrap(),
            "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 2001:db8::1\n"
        );
    }
}
