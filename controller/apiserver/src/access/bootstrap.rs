//! The roles and bindings that every cluster has. The data is a real server's, without the roles of components that are
//! not part of this one (nodes, schedulers, volume controllers).

use serde_json::Value;

const DEFAULTS: &str = include_str!("bootstrap.json");

/// The default roles and bindings: what is missing of them is made at each start.
pub(crate) fn defaults() -> Vec<Value> {
    serde_json::from_str(DEFAULTS).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_is_read() {
        let defaults = defaults();
        let named =
            |kind: &str, name: &str| defaults.iter().any(|o| o["kind"] == kind && o["metadata"]["name"] == name);
        assert!(named("ClusterRole", "cluster-admin") && named("ClusterRoleBinding", "cluster-admin"));
        assert!(named("ClusterRole", "view") && named("ClusterRole", "system:aggregate-to-view"));
    }
}
