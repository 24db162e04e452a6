//! The rules of a schema (`x-kubernetes-validations`): compiled with it, run on values that changed or are new.
//!
//! A rule that looks at `oldSelf` runs only where there is an old value, or always when it says `optionalOldSelf`.
//! A fault found by any other rule is tolerated while nothing changed. All rules on one object share a budget.

use serde_json::Value;

use super::path::Path;
use super::validate::{counterpart, same};
use super::{Schema, field_path};
use crate::cel::{Budget, Fault, Program, Root, Wanted, value::Value as Cel};
use crate::status::Cause;

/// Longest text that a `messageExpression` may give, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    source: String,
    message: String,
    reason: Option<String>,
    /// Where below the value the fault is.
    field: Option<String>,
    optional_old: bool,
    program: Result<Program, String>,
    message_program: Option<Result<Program, String>>,
}

impl Rule {
    /// Reads and compiles a rule of a schema. One that does not compile keeps the reason.
    pub(super) fn parse(json: &Value, schema: &Schema, root: Root) -> Self {
        let text = |name: &str| json.get(name).and_then(Value::as_str).map(str::to_owned);
        let source = text("rule").unwrap_or_default();
        let optional_old = json.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or_default();
        let program = Program::compile(&source, schema, root, optional_old, Wanted::Bool);
        let message_program = text("messageExpression").filter(|text| !text.trim().is_empty());
        let message_program =
            message_program.map(|text| Program::compile(&text, schema, root, optional_old, Wanted::Text));
        let field = text("fieldPath").and_then(|path| field_path::find(schema, &path, true).ok());
        Self {
            source,
            message: text("message").unwrap_or_default(),
            reason: text("reason"),
            field: field.map(|(path, _)| path),
            optional_old,
            program,
            message_program,
        }
    }

    /// Why the rule cannot run.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.program.as_ref().err().map(String::as_str)
    }

    /// Why its message cannot be made.
    pub(crate) fn message_fault(&self) -> Option<&str> {
        self.message_program.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// What one run on a value of `schema` can cost at most; nothing for what does not compile.
    pub(crate) fn cost(&self, schema: &Schema) -> u64 {
        self.program.as_ref().map_or(0, |program| program.cost(schema))
    }

    /// As [`Self::cost`], for the making of its message.
    pub(crate) fn message_cost(&self, schema: &Schema) -> Option<u64> {
        self.message_program.as_ref()?.as_ref().ok().map(|program| program.cost(schema))
    }

    pub(crate) fn uses_old(&self) -> bool {
        self.program.as_ref().is_ok_and(Program::uses_old)
    }

    /// The rule in errors about it.
    fn shown(&self) -> &str {
        if self.message.is_empty() { self.source.trim() } else { self.message.trim() }
    }
}

/// Adds the faults that rules find in an object.
pub(super) fn check(schema: &Schema, object: &Value, old: Option<&Value>, prefix: &str, causes: &mut Vec<Cause>) {
    let root = if prefix.is_empty() { Root::Resource } else { Root::of(schema) };
    let mut run = Run { causes, budget: Budget::default(), over: false };
    run.walk(&Place { schema, root, value: object, old, nearest: None }, &Path::root(prefix));
}

/// Adds the faults that rules find in the default of a schema at `path`: as a value that comes new, and as one that was
/// there before.
pub(crate) fn check_default(schema: &Schema, default: &Value, path: &str, causes: &mut Vec<Cause>) {
    let start = causes.len();
    check(schema, default, Some(default), path, causes);
    if causes.len() == start {
        check(schema, default, None, path, causes);
    }
}

/// A value, what it was, and the nearest value around it that has a past.
#[derive(Clone, Copy)]
struct Place<'v> {
    schema: &'v Schema,
    root: Root,
    value: &'v Value,
    old: Option<&'v Value>,
    nearest: Option<(&'v Schema, &'v Value, &'v Value)>,
}

impl<'v> Place<'v> {
    fn unchanged(&self) -> bool {
        match (self.old, self.nearest) {
            (Some(old), _) => same(Some(self.schema), self.value, old),
            (None, Some((schema, value, old))) => same(Some(schema), value, old),
            (None, None) => false,
        }
    }

    fn below(&self, schema: &'v Schema, value: &'v Value, old: Option<&'v Value>) -> Self {
        let nearest = self.old.map(|old| (self.schema, self.value, old)).or(self.nearest);
        Self { schema, root: Root::of(schema), value, old, nearest }
    }
}

struct Run<'c> {
    causes: &'c mut Vec<Cause>,
    budget: Budget,
    /// No further rules are run.
    over: bool,
}

impl Run<'_> {
    fn walk(&mut self, place: &Place<'_>, path: &Path<'_>) {
        if place.value.is_null() || !place.schema.inside.rules || self.over {
            return;
        }
        for rule in &place.schema.rules {
            self.rule(rule, place, path);
            if self.over {
                return;
            }
        }
        match place.value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    let old = place.old.and_then(|old| old.get(name));
                    if let Some(inner) = place.schema.properties.get(name) {
                        self.walk(&place.below(inner, value, old), &path.field(name));
                    } else if let Some(inner) = &place.schema.additional {
                        self.walk(&place.below(inner, value, old), &path.key(name));
                    }
                }
            }
            Value::Array(items) => {
                let Some(inner) = &place.schema.items else { return };
                for (at, item) in items.iter().enumerate() {
                    let old = place.old.and_then(|old| counterpart(place.schema, old, item));
                    self.walk(&place.below(inner, item, old), &path.index(at));
                }
            }
            _ => {}
        }
    }

    fn rule(&mut self, rule: &Rule, place: &Place<'_>, path: &Path<'_>) {
        let field = match path.bracketed() {
            empty if empty.is_empty() => "<nil>".to_owned(),
            field => field,
        };
        let type_name = Value::from(place.schema.kind.map_or("", super::Kind::name));
        if self.budget.is_spent() {
            let detail = "validation failed due to running out of cost budget, no further validation rules will be run";
            self.causes.push(Cause::invalid(&field, &type_name, detail));
            self.over = true;
            return;
        }
        let program = match &rule.program {
            Ok(program) => program,
            Err(fault) => {
                self.causes.push(Cause::invalid(&field, &type_name, &format!("rule compile error: {fault}")));
                return;
            }
        };
        if program.uses_old() && place.old.is_none() && !rule.optional_old {
            return;
        }
        let own = Cel::of(place.value, Some(place.schema), place.root);
        let old = place.old.map(|old| Cel::of(old, Some(place.schema), place.root));
        match program.run(own.clone(), old.clone(), &mut self.budget) {
            Ok(Cel::Bool(true)) => {}
            Ok(_) => {
                let message = self.message(rule, own, old);
                if program.uses_old() || !place.unchanged() {
                    self.report(rule, place, &field, &message);
                }
            }
            Err(Fault::TooLong) => {
                let detail = format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                     call cost exceeds limit for rule: {}",
                    rule.shown()
                );
                self.causes.push(Cause::invalid(&field, &type_name, &detail));
                self.over = true;
            }
            Err(Fault::Failed(why)) if why.starts_with("no such overload") => {
                let detail = format!(
                    "'{why}': call arguments did not match a supported operator, function or macro signature for \
                     rule: {}",
                    rule.shown()
                );
                self.causes.push(Cause::invalid(&field, &type_name, &detail));
            }
            Err(Fault::Failed(why)) => {
                let detail = format!("{why} evaluating rule: {}", rule.shown());
                self.causes.push(Cause::invalid(&field, &type_name, &detail));
            }
        }
    }

    fn message<'v>(&mut self, rule: &'v Rule, own: Cel<'v>, old: Option<Cel<'v>>) -> String {
        if let Some(Ok(program)) = &rule.message_program
            && let Ok(Cel::Text(text)) = program.run(own, old, &mut self.budget)
        {
            let text = text.trim();
            if !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n') {
                return text.to_owned();
            }
        }
        if rule.message.is_empty() {
            format!("failed rule: {}", rule.source.trim())
        } else {
            rule.message.trim().to_owned()
        }
    }

    fn report(&mut self, rule: &Rule, place: &Place<'_>, field: &str, message: &str) {
        let field = match (&rule.field, field) {
            (Some(below), "<nil>") => below.clone(),
            (Some(below), field) => format!("{field}.{below}"),
            (None, field) => field.to_owned(),
        };
        let hidden = matches!(place.schema.kind, Some(super::Kind::Object | super::Kind::Array));
        self.causes.push(match (rule.reason.as_deref(), hidden) {
            (Some("FieldValueForbidden"), _) => Cause::forbidden(&field, message),
            (Some("FieldValueRequired"), _) => Cause::required_as(&field, message),
            (Some("FieldValueDuplicate"), true) => Cause::duplicate_hidden(&field),
            (Some("FieldValueDuplicate"), false) => Cause::duplicate(&field, place.value),
            (_, true) => Cause::invalid_hidden(&field, message),
            (_, false) => Cause::invalid(&field, place.value, message),
        });
    }
}
