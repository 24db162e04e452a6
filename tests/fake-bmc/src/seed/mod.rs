//! Where a tree of answers comes from: a dump of a real machine, or a small server of our own words. It must not know
//! what becomes of the tree.

mod dump;
mod thinned;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use crate::redfish::Tree;

/// The environment variable that names the folder of test data; dumps are in its `redfish`.
pub const DATA_VARIABLE: &str = "BESSEMER_TEST_DATA";

/// A seed that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It is not a map of paths to bodies.
    #[error("{what}: not a JSON object of paths and bodies: {source}")]
    Json {
        /// Which.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
    /// There is no service root in it.
    #[error("{0}: no body for /redfish/v1: this is a set of fixtures, not a tree")]
    NoRoot(String),
    /// There is no test data.
    #[error("no test data: set {DATA_VARIABLE}")]
    NoData,
}

/// Our own small server.
///
/// # Errors
/// None, unless the files of this crate are damaged.
pub fn minimal() -> Result<Arc<Tree>, Error> {
    let parts = [
        ("services", include_str!("minimal/services.json")),
        ("system", include_str!("minimal/system.json")),
        ("chassis", include_str!("minimal/chassis.json")),
        ("manager", include_str!("minimal/manager.json")),
    ];
    let mut bodies = BTreeMap::new();
    for (name, text) in parts {
        let part: BTreeMap<String, Value> =
            serde_json::from_str(text).map_err(|source| Error::Json { what: format!("seed {name}"), source })?;
        bodies.extend(part);
    }
    dump::tree("the minimal seed", bodies)
}

/// A dump by the name of its folder.
///
/// # Errors
/// When there is no test data, no such dump, or no tree in it.
pub fn dump(name: &str) -> Result<Arc<Tree>, Error> {
    let data = std::env::var_os(DATA_VARIABLE).ok_or(Error::NoData)?;
    file(&Path::new(&data).join("redfish").join(name).join("map.json"))
}

/// A dump by the path of its map.
///
/// # Errors
/// When it cannot be read, or there is no tree in it.
pub fn file(path: &Path) -> Result<Arc<Tree>, Error> {
    let text = std::fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let what = path.display().to_string();
    let bodies = serde_json::from_slice(&text).map_err(|source| Error::Json { what: what.clone(), source })?;
    dump::tree(&what, bodies)
}
