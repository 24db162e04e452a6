//! Checking the schema of a definition's version: what OpenAPI features there are, how extensions go together, and
//! whether defaults and rules hold.

use serde_json::{Map, Value, json};

use super::costs::{self, Costs};
use super::place::Place;
use super::{structural, text};
use crate::gotext;
use crate::schema::{Schema, SchemaError, find_field};
use crate::status::Cause;

const TYPES: &[&str] = &["array", "boolean", "integer", "number", "object", "string"];
const UNSUPPORTED: &[&str] = &["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"];
/// Upstream's names of what a root may have beside a status subresource.
const AT_ROOT: &[(&str, &str)] = &[
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Adds the faults of a schema at `path`; `is_unchanged` when it was there before.
pub(super) fn check(schema: &Value, path: &str, has_status: bool, is_unchanged: bool, causes: &mut Vec<Cause>) {
    let place = Place::root(path);
    let start = causes.len();
    check_root(schema, path, has_status, causes);
    let structural = structural::check(schema, &place);
    let is_structural = structural.is_empty();
    causes.extend(structural);
    let parsed = if is_structural {
        Schema::parse(schema).map_err(|error: SchemaError| error.to_string())
    } else {
        Err(String::new())
    };
    if let Ok(parsed) = &parsed {
        super::defaults::check(schema, parsed, &place, causes);
    }
    let defaults_hold = causes.len() == start;
    let costs = Costs::new(is_unchanged);
    let mut walk = Walk { schema_causes: Vec::new(), rule_causes: Vec::new(), costs };
    let top = Top { root: true, defaults: Ok(()), inside_meta: false, uncorrelated: None, runs: Some(1) };
    walk.node(schema, parsed.as_ref().ok().filter(|_| defaults_hold), &place, &top);
    causes.append(&mut walk.schema_causes);
    causes.append(&mut walk.rule_causes);
    causes.extend(walk.costs.causes(path));
    if let Err(error) = parsed
        && causes.len() == start
    {
        causes.push(Cause::invalid(path, &"".into(), &error));
    }
}

fn check_root(schema: &Value, path: &str, has_status: bool, causes: &mut Vec<Cause>) {
    let fields = schema.as_object().into_iter().flat_map(Map::keys);
    if has_status {
        let kind = text(schema, "/type");
        let foreign = fields.into_iter().find(|name| !AT_ROOT.iter().any(|(known, _)| known == name));
        if !kind.is_empty() && kind != "object" {
            let detail =
                "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            causes.push(Cause::invalid(&format!("{path}.type"), &kind.into(), detail));
        } else if foreign.is_some() {
            let names = AT_ROOT.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(" ");
            let detail = format!(
                "only [{names}] fields are allowed at the root of the schema if the status subresource is enabled"
            );
            causes.push(Cause::invalid_hidden(path, &detail));
        }
    }
    if schema.get("nullable") == Some(&Value::Bool(true)) {
        causes.push(Cause::forbidden(&format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
}

/// What the schemas above say about one.
#[derive(Clone)]
struct Top {
    root: bool,
    /// The reason why there may be no default.
    defaults: Result<(), String>,
    inside_meta: bool,
    /// The nearest place above whose values have no past.
    uncorrelated: Option<String>,
    /// How many values of it there can be; `None` when nothing but the size of a request limits them.
    runs: Option<u64>,
}

struct Walk {
    schema_causes: Vec<Cause>,
    rule_causes: Vec<Cause>,
    costs: Costs,
}

impl Walk {
    /// `parsed` is the same schema with its rules compiled, when it could be.
    fn node(&mut self, schema: &Value, parsed: Option<&Schema>, place: &Place<'_>, top: &Top) {
        let start = self.schema_causes.len();
        self.supported(schema, place, top);
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
            self.forbid(
                place,
                "uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
            );
        }
        let mut inner = Top { root: false, ..top.clone() };
        if let Some(parsed) = parsed {
            inner.runs = top.runs.zip(parsed.multiplies()).map(|(runs, times)| runs.saturating_mul(times));
        }
        self.additional(schema, parsed, place, &inner);
        self.properties(schema, parsed, place, top);
        if let Some(not) = schema.get("not") {
            self.node(not, None, &place.child("not"), &inner);
        }
        for name in ["allOf", "oneOf", "anyOf"] {
            for (at, part) in schema.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
                self.node(part, None, &place.child(name).index(at), &inner);
            }
        }
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let mut inner = inner.clone();
            if text(schema, "/x-kubernetes-list-type") != "map" {
                inner.uncorrelated.get_or_insert_with(|| place.path());
            }
            self.node(items, parsed.and_then(Schema::element), &place.child("items"), &inner);
        }
        super::lists::check(schema, place, &mut self.schema_causes);
        self.rules(schema, parsed, place, top, start);
    }

    fn forbid(&mut self, place: &Place<'_>, name: &str, detail: &str) {
        self.schema_causes.push(Cause::forbidden(&place.child(name).path(), detail));
    }

    fn supported(&mut self, schema: &Value, place: &Place<'_>, top: &Top) {
        let kind = text(schema, "/type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            let types: Vec<Value> = TYPES.iter().map(|name| (*name).into()).collect();
            self.schema_causes.push(Cause::unsupported(&place.child("type").path(), &kind.into(), &types));
        }
        if let (Some(_), Err(reason)) = (schema.get("default"), &top.defaults) {
            self.forbid(place, "default", &format!("must not be set {reason}"));
        }
        for name in UNSUPPORTED.iter().filter(|name| schema.get(**name).is_some()) {
            self.forbid(place, name, &format!("{name} is not supported"));
        }
        if kind == "null" {
            self.forbid(place, "type", "type cannot be set to null, use nullable as an alternative");
        }
        if schema.get("items").is_some_and(Value::is_array) {
            self.forbid(place, "items", "items must be a schema object and not an array");
        }
        if top.inside_meta && schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
            self.forbid(place, "x-kubernetes-embedded-resource", "must not be used inside of resource meta");
        }
    }

    fn additional(&mut self, schema: &Value, parsed: Option<&Schema>, place: &Place<'_>, top: &Top) {
        let Some(additional) = schema.get("additionalProperties") else { return };
        let named = schema.get("properties").and_then(Value::as_object).is_some_and(|named| !named.is_empty());
        if named && *additional != Value::Bool(true) {
            self.forbid(place, "additionalProperties", "additionalProperties and properties are mutual exclusive");
        }
        if additional.is_object() {
            let mut top = top.clone();
            if top.inside_meta {
                top.defaults = Err("inside additionalProperties applying to object metadata".to_owned());
            }
            self.node(additional, parsed.and_then(Schema::any_key), &place.child("additionalProperties"), &top);
        }
    }

    fn properties(&mut self, schema: &Value, parsed: Option<&Schema>, place: &Place<'_>, top: &Top) {
        let embedded = schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        let properties = place.child("properties");
        for (name, inner) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let mut below = Top { root: false, ..top.clone() };
            if (top.root || embedded) && matches!(name.as_str(), "metadata" | "kind" | "apiVersion") {
                below.inside_meta = true;
                if top.root {
                    below.defaults = Err(format!("in top-level {name}"));
                }
            }
            self.node(inner, parsed.and_then(|parsed| parsed.property(name)), &properties.key(name), &below);
        }
    }

    fn rules(&mut self, schema: &Value, parsed: Option<&Schema>, place: &Place<'_>, top: &Top, start: usize) {
        let rules: Vec<&Value> =
            schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten().collect();
        let list = place.child("x-kubernetes-validations");
        for (at, rule) in rules.iter().enumerate() {
            self.written(rule, schema, &list.index(at));
        }
        if self.schema_causes.len() != start {
            return;
        }
        let compiled = parsed.map(Schema::rules).unwrap_or_default();
        for (at, (json, rule)) in rules.iter().zip(compiled).enumerate() {
            let place = list.index(at);
            let (path, message_path) = (place.child("rule").path(), place.child("messageExpression").path());
            if let Some(parsed) = parsed {
                let cost = rule.cost(parsed).saturating_mul(costs::runs(parsed, top.runs));
                self.rule_causes.extend(self.costs.add(&path, "estimated rule cost", cost));
            }
            if let Some(fault) = rule.fault() {
                self.rule_causes.push(Cause::invalid_text(&path, &shown(json), fault));
            }
            if let Some(fault) = rule.message_fault() {
                let fault = fault.replacen("compilation failed", "messageExpression compilation failed", 1);
                self.rule_causes.push(Cause::invalid_text(&message_path, &shown(json), &fault));
            }
            if let Some(cost) = parsed.and_then(|parsed| rule.message_cost(parsed)) {
                self.rule_causes.extend(self.costs.add(&message_path, "estimated messageExpression cost", cost));
            }
            if rule.uses_old() {
                if let Some(above) = &top.uncorrelated {
                    let detail =
                        format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {above}");
                    self.rule_causes.push(Cause::invalid(&path, &text(json, "/rule").into(), &detail));
                }
            } else if let Some(optional) = json.get("optionalOldSelf") {
                let detail = "may not be set if oldSelf is not used in rule";
                self.rule_causes.push(Cause::invalid(&place.child("optionalOldSelf").path(), optional, detail));
            }
        }
    }

    fn written(&mut self, rule: &Value, schema: &Value, place: &Place<'_>) {
        let (source, message) = (text(rule, "/rule"), text(rule, "/message"));
        let breaks = |text: &str| text.contains(['\n', '\r']);
        let path = |name: &str| place.child(name).path();
        if source.trim().is_empty() {
            self.schema_causes.push(Cause::required_as(&path("rule"), "rule is not specified"));
        } else if !message.is_empty() && message.trim().is_empty() {
            self.schema_causes.push(Cause::invalid(
                &path("message"),
                &message.into(),
                "must be non-empty if specified",
            ));
        } else if breaks(message.trim()) {
            self.schema_causes.push(Cause::invalid(&path("message"), &message.into(), "must not contain line breaks"));
        } else if breaks(source.trim()) && message.trim().is_empty() {
            let detail = "message must be specified if rule contains line breaks";
            self.schema_causes.push(Cause::required_as(&path("message"), detail));
        }
        let expression = text(rule, "/messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            self.schema_causes.push(Cause::required_as(&path("messageExpression"), detail));
        }
        const REASONS: &[&str] =
            &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
        if let Some(reason) = rule.get("reason").filter(|reason| !REASONS.iter().any(|known| *reason == known)) {
            let reasons: Vec<Value> = REASONS.iter().map(|name| (*name).into()).collect();
            self.schema_causes.push(Cause::unsupported(&path("reason"), reason, &reasons));
        }
        let field = text(rule, "/fieldPath");
        let mut fault =
            |detail: &str| self.schema_causes.push(Cause::invalid(&path("fieldPath"), &field.into(), detail));
        if !field.is_empty() && field.trim().is_empty() {
            fault("must be non-empty if specified");
        }
        if breaks(field) {
            fault("must not contain line breaks");
        }
        let without_rules = || {
            let mut plain = schema.clone();
            plain.as_object_mut().map(|fields| fields.remove("x-kubernetes-validations"));
            Schema::parse(&plain)
        };
        if !field.is_empty() && without_rules().is_ok_and(|schema| find_field(&schema, field, true).is_err()) {
            fault("must be a valid path");
        }
    }
}

/// A rule as upstream's errors print it: a struct, with its fields in their order.
fn shown(rule: &Value) -> String {
    let text = |name: &str| json!(rule.get(name).and_then(Value::as_str).unwrap_or_default());
    let any = |name: &str| rule.get(name).cloned().unwrap_or_default();
    let fields = [
        ("Rule", text("rule")),
        ("Message", text("message")),
        ("MessageExpression", text("messageExpression")),
        ("Reason", any("reason")),
        ("FieldPath", text("fieldPath")),
        ("OptionalOldSelf", any("optionalOldSelf")),
    ];
    let fields = fields.iter().map(|(name, value)| format!("\"{name}\":{}", gotext::json(value)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}
