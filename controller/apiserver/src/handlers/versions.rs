//! The versions of one kind, as field ownership needs them: an entry may name fields in another version than that of the
//! request.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::apply::{Versioned, Versions};
use crate::flavour;
use crate::registry::{Registry, Resource};
use crate::schema::Schema;

/// All served versions of the kind of `resource`.
pub(super) struct KindVersions {
    pub(super) registry: Arc<Registry>,
    pub(super) resource: Arc<Resource>,
}

impl KindVersions {
    fn find(&self, api_version: &str) -> Option<&Arc<Resource>> {
        if self.resource.api_version() == api_version {
            return Some(&self.resource);
        }
        let same_kind = |other: &&Arc<Resource>| other.stored_as == self.resource.stored_as;
        self.registry.all().filter(same_kind).find(|other| other.api_version() == api_version)
    }

    /// The versions that are served, as `apiVersion` says them.
    pub(super) fn names(&self) -> Vec<String> {
        let same_kind = self.registry.all().filter(|other| other.stored_as == self.resource.stored_as);
        same_kind.map(|other| other.api_version()).collect()
    }
}

impl Versions for KindVersions {
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>> {
        let target = self.find(api_version)?;
        let said = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let object = match self.find(said) {
            Some(source) if !Arc::ptr_eq(source, target) && source.is_custom() => {
                Cow::Owned(source.conversion.convert(object.clone(), api_version).ok()?)
            }
            Some(source) if !Arc::ptr_eq(source, target) => {
                let stored = flavour::to_stored(source, object.clone()).ok()?;
                Cow::Owned(flavour::to_served(target, stored).ok()?)
            }
            _ => Cow::Borrowed(object),
        };
        Some(Versioned { object, schema: Arc::clone(&target.schema) })
    }

    fn schema(&self, api_version: &str) -> Option<Arc<Schema>> {
        self.find(api_version).map(|resource| Arc::clone(&resource.schema))
    }
}
