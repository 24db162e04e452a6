//! Where upstream's files are, which are not part of the project: in `$BESSEMER_TEST_DATA`, by default `../shared/data`
//! beside the checkout.

use std::path::{Path, PathBuf};

/// The folder `name` of the test data. Without it the test has to end, and the skip has been told.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("BESSEMER_TEST_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let folder = data.join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("SKIP no test data: set BESSEMER_TEST_DATA");
    None
}
