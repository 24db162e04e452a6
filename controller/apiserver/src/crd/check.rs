//! Checking a definition, in the order in which upstream does. Upstream's internal form has one schema for all versions
//! where they agree, and so have the paths here: `spec.validation` rather than `spec.versions[0].schema`.

use serde_json::{Value, json};

use super::names::{label_fault, subdomain_fault};
use super::{flag, names, schema_check, text, texts, versions, webhook_check};
use crate::gotext;
use crate::object;
use crate::schema::{Kind, Schema, find_field};
use crate::status::Cause;

const COLUMN_TYPES: &[&str] = &["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: &[&str] = &["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MOST_SELECTABLE: usize = 8;
const APPROVED: &str = "api-approved.kubernetes.io";

/// Every fault of a definition; `old` is the one it replaces.
pub(super) fn check(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let name = object::name(definition);
    let wanted = format!("{}.{}", text(definition, "/spec/names/plural"), text(definition, "/spec/group"));
    if old.is_none() && name != wanted {
        let detail = "must be spec.names.plural+\".\"+spec.group";
        causes.push(Cause::invalid("metadata.name", &name.into(), detail));
    }
    check_spec(definition, old, &mut causes);
    if let Some(old) = old {
        check_immutable(definition, old, &mut causes);
    }
    check_stored(definition, &mut causes);
    check_approval(definition, old, &mut causes);
    if definition.pointer("/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                      instead";
        causes.push(Cause::invalid("spec.preserveUnknownFields", &true.into(), detail));
    }
    causes
}

/// Whether all versions say the same of something, so that upstream holds it once.
fn is_shared(definition: &Value, field: &str) -> bool {
    let mut found = versions(definition).iter().map(|version| version.get(field));
    let Some(Some(first)) = found.next() else { return false };
    found.all(|other| other == Some(first))
}

/// Whether the schema of this version was the same before.
fn is_unchanged(version: &Value, old: Option<&Value>) -> bool {
    let schema = |version: &Value| version.pointer("/schema/openAPIV3Schema").cloned();
    let before = old.map(versions).unwrap_or_default();
    let before = before.iter().find(|before| text(before, "/name") == text(version, "/name"));
    before.is_some_and(|before| schema(before) == schema(version))
}

fn check_spec(definition: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let group = text(definition, "/spec/group");
    let fault = subdomain_fault(group);
    if group.is_empty() {
        causes.push(Cause::required("spec.group"));
    } else if !fault.is_empty() {
        causes.push(Cause::invalid("spec.group", &group.into(), &fault));
    } else if !group.contains('.') {
        causes.push(Cause::invalid("spec.group", &group.into(), "should be a domain with at least one dot"));
    }
    match text(definition, "/spec/scope") {
        "" => causes.push(Cause::required("spec.scope")),
        "Cluster" | "Namespaced" => {}
        other => {
            let known = ["Cluster".into(), "Namespaced".into()];
            causes.push(Cause::unsupported("spec.scope", &other.into(), &known));
        }
    }
    let all = versions(definition);
    for (at, version) in all.iter().enumerate() {
        if version.pointer("/schema/openAPIV3Schema").is_none() {
            causes.push(Cause::required(&format!("spec.versions[{at}].schema.openAPIV3Schema")));
        }
    }
    for (at, version) in all.iter().enumerate() {
        check_version(definition, version, at, old, causes);
    }
    check_list(definition, causes);
    names::check(definition, causes);
    if let Some(first) = all.first() {
        let has_status = all.iter().any(|version| version.pointer("/subresources/status").is_some());
        if is_shared(definition, "schema")
            && let Some(schema) = first.pointer("/schema/openAPIV3Schema")
        {
            let unchanged = is_unchanged(first, old);
            schema_check::check(schema, "spec.validation.openAPIV3Schema", has_status, unchanged, causes);
        }
        if is_shared(definition, "subresources") {
            check_scale(first, "spec.subresources", causes);
        }
        if is_shared(definition, "additionalPrinterColumns") {
            check_columns(first, "spec.additionalPrinterColumns", causes);
        }
        if is_shared(definition, "selectableFields") {
            check_selectable(first, "spec.selectableFields", causes);
        }
    }
    webhook_check::check(definition, causes);
}

fn check_version(definition: &Value, version: &Value, at: usize, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let path = format!("spec.versions[{at}]");
    let name = text(version, "/name");
    let fault = label_fault(name);
    if !fault.is_empty() {
        causes.push(Cause::invalid(&format!("{path}.name"), &name.into(), &fault));
    }
    if let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) {
        let field = format!("{path}.deprecationWarning");
        for fault in warning_faults(flag(version, "deprecated"), warning) {
            causes.push(Cause::invalid(&field, &warning.into(), &fault));
        }
    }
    if !is_shared(definition, "schema")
        && let Some(schema) = version.pointer("/schema/openAPIV3Schema")
    {
        let has_status = version.pointer("/subresources/status").is_some();
        let path = format!("{path}.schema.openAPIV3Schema");
        schema_check::check(schema, &path, has_status, is_unchanged(version, old), causes);
    }
    if !is_shared(definition, "subresources") {
        check_scale(version, &format!("{path}.subresources"), causes);
    }
    if !is_shared(definition, "additionalPrinterColumns") {
        check_columns(version, &format!("{path}.additionalPrinterColumns"), causes);
    }
    if !is_shared(definition, "selectableFields") {
        check_selectable(version, &format!("{path}.selectableFields"), causes);
    }
}

fn warning_faults(deprecated: bool, warning: &str) -> Vec<String> {
    if !deprecated {
        return vec!["can only be set for deprecated versions".to_owned()];
    }
    let mut faults = Vec::new();
    if warning.len() > 256 {
        faults.push("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        faults.push("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, c)| c.is_control()) {
        let what = "must only contain printable UTF-8 characters; non-printable character found at index";
        faults.push(format!("{what} {at}"));
    }
    faults
}

fn check_list(definition: &Value, causes: &mut Vec<Cause>) {
    let all = versions(definition);
    let names: Vec<&str> = all.iter().map(|version| text(version, "/name")).collect();
    let shown = definition.pointer("/spec/versions").map_or_else(|| "null".to_owned(), |_| versions_shown(definition));
    if names.iter().enumerate().any(|(at, name)| names.iter().take(at).any(|before| before == name)) {
        causes.push(Cause::invalid_text("spec.versions", &shown, "must contain unique version names"));
    }
    if all.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid_text("spec.versions", &shown, detail));
    }
    let first = names.first().copied().unwrap_or_default();
    let fault = label_fault(first);
    if !first.is_empty() && !fault.is_empty() {
        causes.push(Cause::invalid("spec.version", &first.into(), &fault));
    }
}

/// Versions as upstream's errors print them, without what is held elsewhere.
fn versions_shown(definition: &Value) -> String {
    let own = |version: &Value, field: &str| {
        let shared = is_shared(definition, field) || version.get(field).is_none();
        if shared { "null".to_owned() } else { gotext::json(version.get(field).unwrap_or(&Value::Null)) }
    };
    let one = |version: &Value| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            gotext::json(&text(version, "/name").into()),
            flag(version, "served"),
            flag(version, "storage"),
            flag(version, "deprecated"),
            gotext::json(version.get("deprecationWarning").unwrap_or(&Value::Null)),
            own(version, "schema"),
            own(version, "subresources"),
            own(version, "additionalPrinterColumns"),
            own(version, "selectableFields"),
        )
    };
    format!("[{}]", versions(definition).iter().map(one).collect::<Vec<_>>().join(","))
}

fn check_scale(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(scale) = version.pointer("/subresources/scale") else { return };
    let mut check = |name: &str, below: &str, detail: &str, required: bool| {
        let field = format!("{path}.scale.{name}");
        let found = text(scale, &format!("/{name}"));
        if found.is_empty() {
            if required {
                causes.push(Cause::required(&field));
            }
        } else if !found.starts_with('.') {
            causes.push(Cause::invalid(&field, &found.into(), "must be a simple json path starting with ."));
        } else if !below.split('|').any(|below| found.starts_with(below)) {
            causes.push(Cause::invalid(&field, &found.into(), detail));
        }
    };
    check("specReplicasPath", ".spec.", "should be a json path under .spec", true);
    check("statusReplicasPath", ".status.", "should be a json path under .status", true);
    check("labelSelectorPath", ".spec.|.status.", "should be a json path under either .spec or .status", false);
}

fn check_columns(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (at, column) in super::columns_of(version).iter().enumerate() {
        let field = |name: &str| format!("{path}[{at}].{name}");
        let (kind, format, json_path) = (text(column, "/type"), text(column, "/format"), text(column, "/jsonPath"));
        if text(column, "/name").is_empty() {
            causes.push(Cause::required(&field("name")));
        }
        let detail = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            causes.push(Cause::required_as(&field("type"), &detail));
        } else if !COLUMN_TYPES.contains(&kind) {
            causes.push(Cause::invalid(&field("type"), &kind.into(), &detail));
        }
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            causes.push(Cause::invalid(&field("format"), &format.into(), &detail));
        }
        if json_path.is_empty() {
            causes.push(Cause::required(&field("JSONPath")));
        } else if !json_path.starts_with('.') {
            let detail = "must be a simple json path starting with .";
            causes.push(Cause::invalid(&field("JSONPath"), &json_path.into(), detail));
        }
    }
}

fn check_selectable(version: &Value, path: &str, causes: &mut Vec<Cause>) {
    let fields = super::selectable_of(version);
    let Some(schema) = version.pointer("/schema/openAPIV3Schema").and_then(|schema| Schema::parse(schema).ok()) else {
        return;
    };
    let mut seen: Vec<String> = Vec::new();
    for (at, wanted) in fields.iter().enumerate() {
        let field = format!("{path}[{at}].jsonPath");
        let value = Value::from(wanted.as_str());
        if wanted.is_empty() {
            causes.push(Cause::required(&field));
            continue;
        }
        match find_field(&schema, wanted, false) {
            Err(why) => causes.push(Cause::invalid(&field, &value, &format!("is an invalid path: {why}"))),
            Ok((shown, found)) => {
                if shown == "metadata" || shown.starts_with("metadata.") {
                    causes.push(Cause::invalid(&field, &value, "must not point to fields in metadata"));
                }
                if !matches!(found.kind(), Some(Kind::String | Kind::Boolean | Kind::Integer)) {
                    let detail = "must point to a field of type string, boolean or integer. Enum string fields and \
                                  strings with formats are allowed.";
                    causes.push(Cause::invalid(&field, &value, detail));
                }
                if seen.contains(&shown) {
                    causes.push(Cause::duplicate(&field, &value));
                } else {
                    seen.push(shown);
                }
            }
        }
    }
    if seen.len() > MOST_SELECTABLE {
        causes.push(Cause::too_many(path, seen.len(), MOST_SELECTABLE as u64));
    }
}

fn check_immutable(definition: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let established = old.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
    let mut established = established.filter(|condition| text(condition, "/type") == "Established");
    let established = established.any(|condition| text(condition, "/status") == "True");
    let fields = [("scope", established), ("names/kind", established), ("group", true), ("names/plural", true)];
    for (field, fixed) in fields {
        let pointer = format!("/spec/{field}");
        let now = text(definition, &pointer);
        if fixed && now != text(old, &pointer) {
            let field = format!("spec.{}", field.replace('/', "."));
            causes.push(Cause::invalid(&field, &now.into(), "field is immutable"));
        }
    }
}

fn check_stored(definition: &Value, causes: &mut Vec<Cause>) {
    let path = "status.storedVersions";
    let stored = texts(definition, "/status/storedVersions");
    if stored.is_empty() {
        causes.push(Cause::invalid(path, &Value::Null, "must have at least one stored version"));
        return;
    }
    for version in versions(definition).iter().filter(|version| flag(version, "storage")) {
        let name = text(version, "/name");
        if !stored.iter().any(|stored| stored == name) {
            causes.push(Cause::invalid(path, &json!(stored), &format!("must have the storage version {name}")));
        }
    }
    for (at, name) in stored.iter().enumerate() {
        if !versions(definition).iter().any(|version| text(version, "/name") == name) {
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            causes.push(Cause::invalid(&format!("{path}[{at}]"), &name.as_str().into(), &detail));
        }
    }
}

/// Groups of the Kubernetes community need its approval, or the word that they have none.
fn check_approval(definition: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let group = text(definition, "/spec/group");
    let protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owner| group == *owner || group.strip_suffix(owner).is_some_and(|rest| rest.ends_with('.')));
    let annotation = |definition: &Value| {
        let found = definition.pointer("/metadata/annotations").and_then(|annotations| annotations.get(APPROVED));
        found.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let state = |text: &str| match text {
        "" => "missing",
        text if text.starts_with("unapproved") => "bypassed",
        text if text.split_once("://").is_some_and(|(_, rest)| !rest.is_empty()) => "approved",
        _ => "invalid",
    };
    let found = annotation(definition);
    if !protected || old.is_some_and(|old| state(&annotation(old)) == state(&found)) {
        return;
    }
    let field = format!("metadata.annotations[{APPROVED}]");
    let lead = format!("protected groups must have approval annotation \"{APPROVED}\"");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    match state(&found) {
        "missing" => causes.push(Cause::required_as(&field, &format!("{lead}, {see}"))),
        "invalid" => {
            let detail = format!("{lead} with either a URL or a reason starting with \"unapproved\", {see}");
            causes.push(Cause::invalid(&field, &found.into(), &detail));
        }
        _ => {}
    }
}
