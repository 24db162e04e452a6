//! CustomResourceDefinitions: checking one, naming its conditions, and turning it into served resources.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::jsonpath::JsonPath;
use crate::object::{self, set_field};
use crate::registry::{Cell, Column, Flavour, Resource, ScalePaths, group_version};
use crate::schema::Schema;
use crate::status::Cause;

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn texts(value: &Value, path: &str) -> Vec<String> {
    let list = value.pointer(path).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn versions(definition: &Value) -> &[Value] {
    definition.pointer("/spec/versions").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn flag(value: &Value, field: &str) -> bool {
    value.get(field).and_then(Value::as_bool).unwrap_or_default()
}

/// Defaults the names, checks the definition and, when it is good, accepts it: the kind is served from the moment the
/// definition is stored, so its conditions say so at once.
pub(crate) fn complete(definition: &mut Value, old: Option<&Value>) -> Vec<Cause> {
    let kind = text(definition, "/spec/names/kind").to_owned();
    if let Some(names) = definition.pointer_mut("/spec/names").and_then(Value::as_object_mut) {
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
    }
    if let Some(spec) = definition.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    }
    let causes = check(definition, old);
    if causes.is_empty() {
        accept(definition);
    }
    causes
}

fn check(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["/spec/group", "/spec/names/plural", "/spec/names/kind", "/spec/scope"] {
        if text(definition, field).is_empty() {
            causes.push(Cause::required(&field.trim_start_matches('/').replace('/', ".")));
        }
    }
    if !causes.is_empty() {
        return causes;
    }
    let name = format!("{}.{}", text(definition, "/spec/names/plural"), text(definition, "/spec/group"));
    if object::name(definition) != name {
        let detail = format!("must be spec.names.plural+\".\"+spec.group, \"{name}\"");
        causes.push(Cause::invalid("metadata.name", &object::name(definition).into(), &detail));
    }
    let scope = text(definition, "/spec/scope");
    if !matches!(scope, "Namespaced" | "Cluster") {
        causes.push(Cause::unsupported("spec.scope", &scope.into(), &["Cluster".into(), "Namespaced".into()]));
    }
    let strategy = text(definition, "/spec/conversion/strategy");
    if strategy != "None" {
        causes.push(Cause::unsupported("spec.conversion.strategy", &strategy.into(), &["None".into()]));
    }
    if versions(definition).iter().filter(|version| flag(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        let found = definition.pointer("/spec/versions").cloned().unwrap_or_default();
        causes.push(Cause::invalid("spec.versions", &found, detail));
    }
    for (at, version) in versions(definition).iter().enumerate() {
        let path = format!("spec.versions[{at}]");
        if text(version, "/name").is_empty() {
            causes.push(Cause::required(&format!("{path}.name")));
        }
        let Some(schema) = version.pointer("/schema/openAPIV3Schema") else {
            causes.push(Cause::required(&format!("{path}.schema.openAPIV3Schema")));
            continue;
        };
        if let Err(error) = Schema::parse(schema) {
            let detail = error.to_string();
            causes.push(Cause::invalid(&format!("{path}.schema.openAPIV3Schema"), &Value::Null, &detail));
        }
        for (nth, column) in columns_of(version).iter().enumerate() {
            if let Err(error) = JsonPath::parse(text(column, "/jsonPath")) {
                let field = format!("{path}.additionalPrinterColumns[{nth}].jsonPath");
                causes.push(Cause::invalid(&field, &text(column, "/jsonPath").into(), &error.to_string()));
            }
        }
    }
    if let Some(old) = old {
        for field in ["/spec/group", "/spec/names/plural", "/spec/names/kind", "/spec/scope"] {
            if text(old, field) != text(definition, field) {
                let field_name = field.trim_start_matches('/').replace('/', ".");
                causes.push(Cause::invalid(&field_name, &text(definition, field).into(), "field is immutable"));
            }
        }
    }
    causes
}

fn accept(definition: &mut Value) {
    let names = definition.pointer("/spec/names").cloned().unwrap_or_default();
    let storage = versions(definition).iter().find(|v| flag(v, "storage"));
    let storage = storage.map(|v| text(v, "/name").to_owned()).unwrap_or_default();
    let mut stored = texts(definition, "/status/storedVersions");
    if !stored.contains(&storage) {
        stored.push(storage);
    }
    let since = |kind: &str| {
        let conditions = definition.pointer("/status/conditions").and_then(Value::as_array);
        let before = conditions.into_iter().flatten().find(|c| text(c, "/type") == kind);
        before.map_or_else(object::timestamp_now, |c| text(c, "/lastTransitionTime").to_owned())
    };
    let condition = |kind: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": since(kind),
        })
    };
    let conditions = json!([
        condition("NamesAccepted", "NoConflicts", "no conflicts found"),
        condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]);
    let status = json!({"acceptedNames": names, "storedVersions": stored, "conditions": conditions});
    set_field(definition, "status", status);
}

/// The resources that a definition adds, one per served version.
pub(crate) fn resources(definition: &Value) -> Result<Vec<Resource>, crate::schema::SchemaError> {
    let group = text(definition, "/spec/group");
    let plural = text(definition, "/spec/names/plural");
    let storage = versions(definition).iter().find(|v| flag(v, "storage"));
    let storage = storage.map(|v| text(v, "/name")).unwrap_or_default();
    let served = versions(definition).iter().filter(|version| flag(version, "served"));
    served
        .map(|version| {
            let open_api = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_default();
            Ok(Resource {
                group: group.to_owned(),
                version: text(version, "/name").to_owned(),
                kind: text(definition, "/spec/names/kind").to_owned(),
                plural: plural.to_owned(),
                singular: text(definition, "/spec/names/singular").to_owned(),
                list_kind: text(definition, "/spec/names/listKind").to_owned(),
                short_names: texts(definition, "/spec/names/shortNames"),
                categories: texts(definition, "/spec/names/categories"),
                namespaced: text(definition, "/spec/scope") == "Namespaced",
                has_status: version.pointer("/subresources/status").is_some(),
                verbs: crate::registry::ALL_VERBS,
                message: None,
                scale: version.pointer("/subresources/scale").map(scale_paths),
                schema: Arc::new(Schema::parse(&open_api)?),
                open_api: Some(open_api),
                columns: columns(version),
                selectable: Vec::new(),
                stored_as: format!("{group}/{plural}").into(),
                stored_api_version: group_version(group, storage),
                conversion: Arc::default(),
                flavour: Flavour::Custom,
            })
        })
        .collect()
}

fn scale_paths(scale: &Value) -> ScalePaths {
    let path = |field: &str| -> Vec<String> {
        let path = text(scale, field).trim_start_matches('.');
        path.split('.').filter(|step| !step.is_empty()).map(str::to_owned).collect()
    };
    ScalePaths {
        spec_replicas: path("/specReplicasPath"),
        status_replicas: path("/statusReplicasPath"),
        selector: path("/labelSelectorPath"),
    }
}

fn columns_of(version: &Value) -> &[Value] {
    version.get("additionalPrinterColumns").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn columns(version: &Value) -> Vec<Column> {
    let column = |name: &str, kind: &str, path: &str, from: &Value| {
        let cell = Cell::Path(JsonPath::parse(path).ok()?);
        Some(Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: text(from, "/format").to_owned(),
            description: match text(from, "/description") {
                "" => format!("Custom resource definition column (in JSONPath format): {}", text(from, "/jsonPath")),
                description => description.to_owned(),
            },
            priority: from.get("priority").and_then(Value::as_i64).unwrap_or_default(),
            cell,
        })
    };
    let wanted = columns_of(version);
    if wanted.is_empty() {
        return column("Age", "date", ".metadata.creationTimestamp", &Value::Null).into_iter().collect();
    }
    wanted.iter().filter_map(|c| column(text(c, "/name"), text(c, "/type"), text(c, "/jsonPath"), c)).collect()
}
