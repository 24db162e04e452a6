//! Finding the registry that a server's settings are described by: named by one resource, listed by another, kept in a
//! file by language, and seldom called the same in all places.

use redfish_client::{Reference, Resource};
use serde_json::Value;

use super::RedfishBmc;
use super::registry::Registry;
use crate::BmcError;

/// Listed registries that are looked into when none has the name.
const CANDIDATES: usize = 4;

/// A registry's name without version and language, to compare by: `BiosAttributeRegistry113.en-US.1.1.3`,
/// `BiosAttributeRegistry113.1.1.3` and `biosattributeregistry113.v1_1_3` are one.
fn stem(name: &str) -> String {
    name.split('.').next().unwrap_or_default().to_ascii_lowercase()
}

/// Where a registry's file may be, best first: English, then whatever there is; the service's own copy before a packed
/// one. A place on the maker's site is left out: credentials are for the BMC only.
fn places(file: &Resource) -> Vec<Reference> {
    let locations = file.value("Location").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut ranked: Vec<(u8, Reference)> = Vec::new();
    for location in locations {
        let language = location.get("Language").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        let foreign = if language.starts_with("en") || language == "default" { 0 } else { 2 };
        for (packed, name) in [(0, "Uri"), (1, "ArchiveUri")] {
            let place = location.get(name);
            // iLO 4 and early iLO 5 write an object.
            let place = place.and_then(|place| place.get("extref").or(place.get("@odata.id")).or(Some(place)));
            if let Some(at) = place.and_then(Value::as_str).and_then(Reference::parse) {
                ranked.push((foreign + packed, at));
            }
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, at)| at).collect()
}

impl RedfishBmc {
    /// The registry called `name`; none when the BMC does not show it, which many do not.
    pub(super) async fn bios_registry(&self, act: &str, name: &str) -> Result<Option<Registry>, BmcError> {
        let root = self.client.root().await.map_err(|error| self.explain(act, error))?;
        let Some(collection) = root.link("Registries") else { return Ok(None) };
        let listed = self.client.list(&collection).await.map_err(|error| self.explain(act, error))?;
        let exact = |at: &&Reference| at.id().eq_ignore_ascii_case(name);
        let alike = |at: &&Reference| !exact(at) && stem(at.id()) == stem(name);
        let bios = |at: &&Reference| !exact(at) && !alike(at) && stem(at.id()).contains("biosattributeregistry");
        let candidates = listed.iter().filter(exact).chain(listed.iter().filter(alike));
        for at in candidates.chain(listed.iter().filter(bios)).take(CANDIDATES) {
            let Some(file) = self.find_quietly(at).await else { continue };
            if let Some(registry) = Registry::read(file.body()) {
                return Ok(Some(registry));
            }
            for place in places(&file) {
                if let Some(registry) = self.find_quietly(&place).await.and_then(|found| Registry::read(found.body())) {
                    return Ok(Some(registry));
                }
            }
        }
        tracing::info!(bmc = %self.address, registry = name, "the bmc does not show the registry of its bios settings");
        Ok(None)
    }

    /// A resource that settings can be read without, whatever becomes of it: a file that is damaged, or packed in a way
    /// that we do not know, is as good as none.
    async fn find_quietly(&self, at: &Reference) -> Option<Resource> {
        match self.client.find(at).await {
            Ok(found) => found,
            Err(error) => {
                tracing::debug!(bmc = %self.address, %error, "part of a registry cannot be read");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_are_one() {
        for name in
            ["BiosAttributeRegistry113.en-US.1.1.3", "BiosAttributeRegistry113.1.1.3", "biosattributeregistry113"]
        {
            assert_eq!(stem(name), "biosattributeregistry113");
        }
        assert_ne!(stem("BiosAttributeRegistryA42.v1_2_60"), stem("BiosAttributeRegistryU32.v1_2_60"));
    }

    #[test]
    fn places_in_order() {
        let file = json!({"Location": [
            {"Language": "zh", "Uri": "/r/zh"},
            {"Language": "en", "ArchiveUri": "/r/en.gz", "PublicationUri": "https://maker.example/r.json"},
            {"Language": "en-US", "Uri": {"extref": "/r/en/"}},
            {"Uri": null},
        ]});
        let file = Resource::new(Reference::root(), None, file);
        assert_eq!(places(&file).iter().map(Reference::as_str).collect::<Vec<_>>(), ["/r/en", "/r/en.gz", "/r/zh"]);
    }
}
