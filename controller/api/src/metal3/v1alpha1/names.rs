//! A name with its namespace.

use bessemer_api_macros::api;

/// An object of a known kind in some namespace.
#[api]
#[derive(Eq)]
pub struct NamespacedName {
    /// Name.
    pub name: String,
    /// Namespace.
    pub namespace: String,
}
