//! Running a checked expression.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::ast::{Kind, Literal, Loop, LoopKind, Node};
use super::check::{dotted, namespaced};
use super::functions;
use super::types::unescape;
use super::value::{Key, Value};

/// Why an evaluation gave no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// What went wrong, in upstream's words.
    Failed(String),
    /// More steps than one rule may take.
    TooLong,
}

pub(super) type Found<'v> = Result<Value<'v>, Fault>;

pub(super) fn failed<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Failed(message.into()))
}

pub(super) fn no_overload<T>() -> Result<T, Fault> {
    failed("no such overload")
}

/// One evaluation.
pub(super) struct Eval<'v> {
    pub(super) scope: Vec<(&'v str, Value<'v>)>,
    /// Steps left.
    pub(super) steps: u64,
}

impl<'v> Eval<'v> {
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), Fault> {
        self.steps = self.steps.checked_sub(steps).ok_or(Fault::TooLong)?;
        Ok(())
    }

    pub(super) fn run(&mut self, node: &'v Node) -> Found<'v> {
        self.spend(1)?;
        match &node.kind {
            Kind::Literal(literal) => Ok(of_literal(literal)),
            Kind::Ident(name) => self.ident(name),
            Kind::Select { of, field, optional } => {
                if let Some(name @ ("google.protobuf.Timestamp" | "google.protobuf.Duration")) = dotted(node).as_deref()
                {
                    let name = if name.ends_with("Timestamp") {
                        "google.protobuf.Timestamp"
                    } else {
                        "google.protobuf.Duration"
                    };
                    return Ok(Value::Type(name));
                }
                let of = self.run(of)?;
                select(&of, field, *optional)
            }
            Kind::Has { of, field } => {
                let of = self.run(of)?;
                match of {
                    Value::Optional(None) => Ok(Value::Bool(false)),
                    Value::Optional(Some(inner)) => Ok(Value::Bool(is_set(&inner, field))),
                    Value::Map(_) | Value::JsonMap(..) | Value::JsonObject(..) => Ok(Value::Bool(is_set(&of, field))),
                    _ => no_overload(),
                }
            }
            Kind::Index { of, key, optional } => {
                let (of, key) = (self.run(of)?, self.run(key)?);
                index(of, &key, *optional)
            }
            Kind::Call { name, target, args } => self.call(name, target.as_deref(), args),
            Kind::And(left, right) => self.logic(left, right, false),
            Kind::Or(left, right) => self.logic(left, right, true),
            Kind::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                match self.run(condition)? {
                    Value::Bool(true) => self.run(yes),
                    Value::Bool(false) => self.run(no),
                    _ => no_overload(),
                }
            }
            Kind::List(elements) => {
                let mut list = Vec::with_capacity(elements.len());
                for (element, optional) in elements {
                    list.extend(self.element(element, *optional)?);
                }
                Ok(Value::list(list))
            }
            Kind::Map(entries) => {
                let mut map = BTreeMap::new();
                for (key, value, optional) in entries {
                    let Some(key) = self.run(key)?.key() else { return failed("unsupported key type") };
                    if let Some(value) = self.element(value, *optional)? {
                        map.insert(key, value);
                    }
                }
                Ok(Value::Map(Rc::new(map)))
            }
            Kind::Loop(inner) => self.each(inner),
        }
    }

    fn ident(&self, name: &str) -> Found<'v> {
        if let Some((_, value)) = self.scope.iter().rev().find(|(known, _)| *known == name) {
            return Ok(value.clone());
        }
        const TYPES: &[&str] =
            &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type"];
        match TYPES.iter().find(|known| **known == name) {
            Some(name) => Ok(Value::Type(name)),
            None => failed(format!("no such attribute(s): {name}")),
        }
    }

    fn element(&mut self, node: &'v Node, optional: bool) -> Result<Option<Value<'v>>, Fault> {
        match (self.run(node)?, optional) {
            (Value::Optional(found), true) => Ok(found.map(|value| value.as_ref().clone())),
            (value, _) => Ok(Some(value)),
        }
    }

    /// `&&` and `||`: either side decides alone, even when the other fails.
    fn logic(&mut self, left: &'v Node, right: &'v Node, decisive: bool) -> Found<'v> {
        let mut fault = None;
        for side in [left, right] {
            match self.run(side) {
                Ok(Value::Bool(found)) if found == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => fault = fault.or(Some(Fault::Failed("no such overload".to_owned()))),
                Err(Fault::TooLong) => return Err(Fault::TooLong),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        fault.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    fn call(&mut self, name: &'v str, target: Option<&'v Node>, args: &'v [Node]) -> Found<'v> {
        let qualified = target.and_then(|target| namespaced(target, name));
        let target = if qualified.is_some() { None } else { target };
        let mut values = Vec::with_capacity(args.len().saturating_add(1));
        if let Some(target) = target {
            values.push(self.run(target)?);
        }
        for arg in args {
            values.push(self.run(arg)?);
        }
        for value in &values {
            self.spend(value.weight())?;
        }
        let name = qualified.as_deref().unwrap_or(name);
        if target.is_some() { functions::method(name, &values) } else { functions::function(name, &values) }
    }

    fn each(&mut self, inner: &'v Loop) -> Found<'v> {
        let range = self.run(&inner.range)?;
        if matches!(inner.kind, LoopKind::OptMap | LoopKind::OptFlatMap) {
            return self.optional(inner, &range);
        }
        let mut state = Progress::new(inner.kind);
        let count = range.len().filter(|_| !matches!(range, Value::Text(_) | Value::Bytes(_)));
        let Some(count) = count else { return no_overload() };
        let entries = if range.items().is_none() { range.entries() } else { None };
        for at in 0..count {
            self.spend(1)?;
            let at_index = i64::try_from(at).unwrap_or(i64::MAX);
            let (first, second) = match &entries {
                Some(entries) => match entries.get(at) {
                    Some((key, value)) => (key.value(), Some(value.clone())),
                    None => break,
                },
                None => {
                    let Some(item) = range.item(at) else { break };
                    if inner.var2.is_some() { (Value::Int(at_index), Some(item)) } else { (item, None) }
                }
            };
            let outside = self.scope.len();
            self.scope.push((&inner.var, first.clone()));
            if let (Some(name), Some(second)) = (&inner.var2, second) {
                self.scope.push((name, second));
            }
            let wanted = match &inner.filter {
                Some(filter) => self.run(filter),
                None => Ok(Value::Bool(true)),
            };
            let body = match wanted {
                Ok(Value::Bool(true)) => Some(self.run(&inner.body)),
                Ok(Value::Bool(false)) => None,
                Ok(_) => Some(no_overload()),
                Err(fault) => Some(Err(fault)),
            };
            self.scope.truncate(outside);
            if let Some(body) = body
                && state.step(first, body)?
            {
                break;
            }
        }
        state.end()
    }

    fn optional(&mut self, inner: &'v Loop, range: &Value<'v>) -> Found<'v> {
        let Value::Optional(found) = range else { return no_overload() };
        let Some(value) = found else { return Ok(Value::Optional(None)) };
        let outside = self.scope.len();
        self.scope.push((&inner.var, value.as_ref().clone()));
        let body = self.run(&inner.body);
        self.scope.truncate(outside);
        if inner.kind == LoopKind::OptMap { body.map(Value::some) } else { body }
    }
}

/// What a macro has gathered so far.
struct Progress<'v> {
    kind: LoopKind,
    fault: Option<Fault>,
    decided: bool,
    count: usize,
    list: Vec<Value<'v>>,
    keys: Vec<Value<'v>>,
    map: BTreeMap<Key, Value<'v>>,
}

impl<'v> Progress<'v> {
    fn new(kind: LoopKind) -> Self {
        Self { kind, fault: None, decided: false, count: 0, list: Vec::new(), keys: Vec::new(), map: BTreeMap::new() }
    }

    /// Takes one body's value; true when the rest cannot matter.
    fn step(&mut self, first: Value<'v>, body: Found<'v>) -> Result<bool, Fault> {
        use LoopKind as L;
        match (self.kind, body) {
            (_, Err(Fault::TooLong)) => return Err(Fault::TooLong),
            (L::All | L::Exists, Err(fault)) => self.fault = self.fault.take().or(Some(fault)),
            (L::All, Ok(Value::Bool(false))) | (L::Exists, Ok(Value::Bool(true))) => {
                self.decided = true;
                return Ok(true);
            }
            (L::ExistsOne, Ok(Value::Bool(true))) => self.count = self.count.saturating_add(1),
            (L::Filter, Ok(Value::Bool(true))) => self.list.push(first),
            (L::All | L::Exists | L::ExistsOne | L::Filter, Ok(Value::Bool(_))) => {}
            (L::All | L::Exists | L::ExistsOne | L::Filter, Ok(_)) => return no_overload(),
            (_, Err(fault)) => return Err(fault),
            (L::Map | L::TransformList, Ok(value)) => self.list.push(value),
            (L::SortBy, Ok(key)) => {
                self.list.push(first);
                self.keys.push(key);
            }
            (L::TransformMap, Ok(value)) => {
                let Some(key) = first.key() else { return failed("unsupported key type") };
                self.map.insert(key, value);
            }
            (L::TransformMapEntry, Ok(value)) => {
                for (key, value) in value.entries().unwrap_or_default() {
                    if self.map.insert(key.clone(), value).is_some() {
                        return failed(format!("insert failed: key {} already exists", key.shown()));
                    }
                }
            }
            (L::OptMap | L::OptFlatMap, Ok(_)) => {}
        }
        Ok(false)
    }

    fn end(self) -> Found<'v> {
        use LoopKind as L;
        match self.kind {
            L::All | L::Exists => match (self.decided, self.fault) {
                (false, Some(fault)) => Err(fault),
                (decided, _) => Ok(Value::Bool(decided == (self.kind == L::Exists))),
            },
            L::ExistsOne => Ok(Value::Bool(self.count == 1)),
            L::TransformMap | L::TransformMapEntry => Ok(Value::Map(Rc::new(self.map))),
            L::SortBy => functions::lists::sorted_by(self.list, &self.keys),
            L::Map | L::Filter | L::TransformList | L::OptMap | L::OptFlatMap => Ok(Value::list(self.list)),
        }
    }
}

fn of_literal<'v>(literal: &'v Literal) -> Value<'v> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(flag) => Value::Bool(*flag),
        Literal::Int(number) => Value::Int(*number),
        Literal::UInt(number) => Value::UInt(*number),
        Literal::Double(number) => Value::Double(*number),
        Literal::Text(text) => Value::Text(text.as_str().into()),
        Literal::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
    }
}

/// A field by its name in CEL: names of objects are escaped there, keys of maps are not.
fn field_of<'v>(of: &Value<'v>, field: &str) -> Option<Value<'v>> {
    match of {
        Value::JsonObject(..) => of.get(&Key::Text(unescape(field))),
        _ => of.get(&Key::Text(field.to_owned())),
    }
}

/// Whether a field has a value: a null in a named field is none.
fn is_set(of: &Value<'_>, field: &str) -> bool {
    match (of, field_of(of, field)) {
        (_, None) | (Value::JsonObject(..), Some(Value::Null)) => false,
        (_, Some(_)) => true,
    }
}

fn select<'v>(of: &Value<'v>, field: &str, optional: bool) -> Found<'v> {
    match of {
        Value::Optional(None) => Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => select(inner, field, true),
        Value::Map(_) | Value::JsonMap(..) | Value::JsonObject(..) => match (field_of(of, field), optional) {
            (Some(_), true) if !is_set(of, field) => Ok(Value::Optional(None)),
            (Some(found), true) => Ok(Value::some(found)),
            (None, true) => Ok(Value::Optional(None)),
            (Some(found), false) => Ok(found),
            (None, false) => failed(format!("no such key: {field}")),
        },
        _ => no_overload(),
    }
}

fn index<'v>(of: Value<'v>, key: &Value<'v>, optional: bool) -> Found<'v> {
    let (of, optional) = match of {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(inner)) => (inner.as_ref().clone(), true),
        of => (of, optional),
    };
    let (found, missing) = match (&of, key.key()) {
        (Value::List(_) | Value::JsonList(..), Some(Key::Int(at))) => {
            let found = usize::try_from(at).ok().and_then(|at| of.item(at));
            (found, format!("index out of bounds: {at}"))
        }
        (Value::Map(_) | Value::JsonMap(..) | Value::JsonObject(..), Some(key)) => {
            let missing = format!("no such key: {}", key.shown());
            (of.get(&key), missing)
        }
        _ => return no_overload(),
    };
    match (found, optional) {
        (Some(found), true) => Ok(Value::some(found)),
        (None, true) => Ok(Value::Optional(None)),
        (Some(found), false) => Ok(found),
        (None, false) => failed(missing),
    }
}
