//! What stands around the schema: names, scope, versions, columns, subresources.

use serde_json::{Value, json};

use crate::compare::Differences;
use crate::{labels, schema, upstream};

pub(crate) fn compare(found: &mut Differences, ours: &Value, theirs: &Value) {
    labels::compare(found, ours, theirs);
    found.value("spec", "group", &ours["spec"]["group"], &theirs["spec"]["group"]);
    found.value("spec", "scope", &ours["spec"]["scope"], &theirs["spec"]["scope"]);
    for name in ["kind", "listKind", "plural", "singular", "shortNames", "categories"] {
        found.value("names", name, &ours["spec"]["names"][name], &theirs["spec"]["names"][name]);
    }
    let wanted = upstream::version(theirs);
    let versions = ours["spec"]["versions"].as_array().unwrap();
    for version in versions.iter().filter(|version| version["name"] != wanted["name"]) {
        found.add("versions", format!("{} is ours alone", version["name"]));
    }
    let Some(version) = versions.iter().find(|version| version["name"] == wanted["name"]) else {
        return found.add("versions", format!("{} is missing in ours", wanted["name"]));
    };
    for flag in ["served", "storage", "deprecated", "selectableFields"] {
        found.value("version", flag, &version[flag], &wanted[flag]);
    }
    columns(found, version, wanted);
    subresources(found, &version["subresources"], &wanted["subresources"]);
    let root = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
    schema::compare(found, "", &root(version), &root(wanted));
}

fn columns(found: &mut Differences, ours: &Value, theirs: &Value) {
    let columns = |version: &Value| version["additionalPrinterColumns"].as_array().cloned().unwrap_or_default();
    let (ours, theirs) = (columns(ours), columns(theirs));
    let names = |columns: &[Value]| Value::Array(columns.iter().map(|column| column["name"].clone()).collect());
    found.value("columns", "order", &names(&ours), &names(&theirs));
    // two columns may have the same name
    for (column, wanted) in ours.iter().zip(&theirs).filter(|(column, wanted)| column["name"] == wanted["name"]) {
        for part in ["type", "jsonPath", "format"] {
            found.value(&format!("columns.{}", wanted["name"]), part, &column[part], &wanted[part]);
        }
        let priority = |column: &Value| json!(column["priority"].as_i64().unwrap_or(0));
        found.value(&format!("columns.{}", wanted["name"]), "priority", &priority(column), &priority(wanted));
    }
}

fn subresources(found: &mut Differences, ours: &Value, theirs: &Value) {
    found.value("subresources", "status", &json!(ours["status"].is_object()), &json!(theirs["status"].is_object()));
    for path in ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"] {
        found.value("subresources.scale", path, &ours["scale"][path], &theirs["scale"][path]);
    }
}
