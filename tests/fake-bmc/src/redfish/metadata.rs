//! The documents about the service that OData asks for.

use std::collections::BTreeSet;

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer::{Answer, Body};
use super::json::text;
use super::tree::Tree;
use super::{ROOT, views};

/// Where schemas are published.
pub(super) const SCHEMAS: &str = "http://redfish.dmtf.org/schemas/v1";

/// `/redfish`.
pub(super) fn versions() -> Answer {
    Answer::ok(json!({ "v1": format!("{ROOT}/") }))
}

/// `/redfish/v1/odata`: what the root links to.
pub(super) fn service_document(tree: &Tree) -> Answer {
    let root = tree.get(ROOT).and_then(Value::as_object);
    let linked = root.into_iter().flatten().filter_map(|(name, value)| Some((name, text(value, "@odata.id")?)));
    let value: Vec<Value> =
        linked.map(|(name, url)| json!({ "name": name, "kind": "Singleton", "url": url })).collect();
    Answer::ok(json!({ "@odata.context": format!("{ROOT}/$metadata"), "value": value }))
}

/// `/redfish/v1/$metadata`: the schemas of what is served.
pub(super) fn metadata(tree: &Tree) -> Answer {
    let mut namespaces = BTreeSet::new();
    let of_tree = tree.bodies().values().filter_map(|body| text(body, "@odata.type"));
    for name in of_tree.chain(views::MADE_TYPES) {
        let parts: Vec<&str> = name.trim_start_matches('#').split('.').collect();
        if let [schema, version @ .., _] = parts.as_slice() {
            namespaces.insert(((*schema).to_owned(), version.first().map(|version| (*version).to_owned())));
        }
    }
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<edmx:Edmx xmlns:edmx=\"http://docs.oasis-open.org/odata/ns/edmx\" \
         Version=\"4.0\">\n",
    );
    let mut include = |file: &str, namespace: &str| {
        xml += &format!(
            "  <edmx:Reference Uri=\"{SCHEMAS}/{file}.xml\">\n    <edmx:Include Namespace=\"{namespace}\"/>\n  \
             </edmx:Reference>\n"
        );
    };
    for (schema, version) in namespaces {
        let file = format!("{schema}_v1");
        include(&file, &schema);
        if let Some(version) = version {
            include(&file, &format!("{schema}.{version}"));
        }
    }
    include("RedfishExtensions_v1", "RedfishExtensions.v1_0_0");
    xml += "  <edmx:DataServices>\n    <Schema xmlns=\"http://docs.oasis-open.org/odata/ns/edm\" \
            Namespace=\"Service\">\n      <EntityContainer Name=\"Service\" \
            Extends=\"ServiceRoot.v1_0_0.ServiceContainer\"/>\n    </Schema>\n  </edmx:DataServices>\n</edmx:Edmx>\n";
    Answer::new(200, Body::Raw("application/xml; charset=utf-8", Bytes::from(xml)))
}
