//! A map of paths to bodies, as crawlers write it, made into a tree.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::{Error, thinned};
use crate::redfish::{ROOT, Tree};

/// Those bodies that are objects, by their paths without a trailing slash.
pub(super) fn tree(what: &str, bodies: BTreeMap<String, Value>) -> Result<Arc<Tree>, Error> {
    let mut bodies: BTreeMap<String, Value> = bodies
        .into_iter()
        .filter(|(path, body)| path.starts_with(ROOT) && body.is_object())
        .map(|(path, body)| (path.trim_end_matches('/').to_owned(), body))
        .collect();
    if !bodies.contains_key(ROOT) {
        return Err(Error::NoRoot(what.to_owned()));
    }
    thinned::close(&mut bodies);
    Ok(Arc::new(Tree::new(bodies)))
}
