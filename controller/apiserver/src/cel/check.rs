//! Type checking: names and fields must be declared, functions must take what they are given. What passes here can
//! still fail when it runs, but only for values whose type nobody can know before.

use std::collections::HashMap;

use super::ast::{Kind, Literal, Loop, LoopKind, Node};
use super::lex::Issue;
use super::signatures;
use super::types::{Type, unescape};
use crate::schema::go_pattern;

/// A variable in scope.
struct Variable<'s> {
    name: String,
    of: Type<'s>,
    used: bool,
}

pub(super) struct Checker<'s> {
    scope: Vec<Variable<'s>>,
    pub(super) issues: Vec<Issue>,
    /// What each expression was found to be, for those that read it later.
    pub(super) types: Types<'s>,
}

/// The types of expressions, each known by where it is.
pub(super) type Types<'s> = HashMap<*const Node, Type<'s>>;

const TYPE_NAMES: &[&str] =
    &["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type"];

impl<'s> Checker<'s> {
    pub(super) fn new(variables: Vec<(&str, Type<'s>)>) -> Self {
        let scope = variables.into_iter();
        let scope = scope.map(|(name, of)| Variable { name: name.to_owned(), of, used: false });
        Self { scope: scope.collect(), issues: Vec::new(), types: Types::new() }
    }

    /// Whether an outermost variable was named.
    pub(super) fn used(&self, name: &str) -> bool {
        self.scope.iter().any(|variable| variable.name == name && variable.used)
    }

    fn issue(&mut self, at: usize, message: String) -> Type<'s> {
        self.issues.push(Issue { at, message });
        Type::Dyn
    }

    pub(super) fn check(&mut self, node: &Node) -> Type<'s> {
        let found = self.type_of(node);
        self.types.insert(std::ptr::from_ref(node), found.clone());
        found
    }

    fn type_of(&mut self, node: &Node) -> Type<'s> {
        match &node.kind {
            Kind::Literal(literal) => of_literal(literal),
            Kind::Ident(name) => self.ident(node.at, name),
            Kind::Select { of, field, optional } => {
                if let Some(name) = dotted(node)
                    && matches!(name.as_str(), "google.protobuf.Timestamp" | "google.protobuf.Duration")
                {
                    return Type::Opaque("type");
                }
                let of = self.check(of);
                let found = self.field(node.at, &of, field);
                if *optional { into_optional(found) } else { found }
            }
            Kind::Has { of, field } => {
                let of = self.check(of);
                self.field(node.at, &of, field);
                Type::Bool
            }
            Kind::Index { of, key, optional } => {
                let (of, key) = (self.check(of), self.check(key));
                let (inner, was_optional) = match &of {
                    Type::Optional(inner) => (Type::clone(inner), true),
                    other => (other.clone(), false),
                };
                let found = match &inner {
                    Type::Dyn => Type::Dyn,
                    Type::List(item) if Type::Int.takes(&key) => Type::clone(item),
                    Type::Map(of_key, value) if of_key.takes(&key) => Type::clone(value),
                    _ => self.no_overload(node.at, "_[_]", None, &[of, key]),
                };
                if *optional || was_optional { into_optional(found) } else { found }
            }
            Kind::Call { name, target, args } => self.call(node.at, name, target.as_deref(), args),
            Kind::And(left, right) => self.logic(left, right),
            Kind::Or(left, right) => self.logic(left, right),
            Kind::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                let (condition, yes, no) = (self.check(condition), self.check(yes), self.check(no));
                if !Type::Bool.takes(&condition) || !yes.takes(&no) {
                    return self.no_overload(node.at, "_?_:_", None, &[condition, yes, no]);
                }
                if matches!(yes, Type::Null | Type::Dyn) { no } else { yes }
            }
            Kind::List(elements) => {
                let types: Vec<_> =
                    elements.iter().map(|(element, optional)| (element.at, self.element(element, *optional))).collect();
                Type::list(self.common(types))
            }
            Kind::Map(entries) => {
                let keys: Vec<_> = entries.iter().map(|(key, _, _)| (key.at, self.check(key))).collect();
                let values: Vec<_> =
                    entries.iter().map(|(_, value, optional)| (value.at, self.element(value, *optional))).collect();
                Type::Map(self.common(keys).into(), self.common(values).into())
            }
            Kind::Loop(inner) => self.each(node.at, inner),
        }
    }

    fn element(&mut self, node: &Node, optional: bool) -> Type<'s> {
        match (self.check(node), optional) {
            (Type::Optional(of), true) => Type::clone(&of),
            (found, _) => found,
        }
    }

    /// The one type of a list literal's elements.
    fn common(&mut self, types: Vec<(usize, Type<'s>)>) -> Type<'s> {
        let mut common = Type::Dyn;
        for (at, found) in types {
            if !common.takes(&found) {
                self.issue(at, format!("expected type '{}' but found '{}'", common.shown(), found.shown()));
            } else if matches!(common, Type::Dyn) {
                common = found;
            }
        }
        common
    }

    fn ident(&mut self, at: usize, name: &str) -> Type<'s> {
        if let Some(variable) = self.scope.iter_mut().rev().find(|variable| variable.name == name) {
            variable.used = true;
            return variable.of.clone();
        }
        if TYPE_NAMES.contains(&name) {
            return Type::Opaque("type");
        }
        self.issue(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn field(&mut self, at: usize, of: &Type<'s>, field: &str) -> Type<'s> {
        match of {
            Type::Dyn => Type::Dyn,
            Type::Map(key, value) if key.takes(&Type::Text) => Type::clone(value),
            Type::Optional(inner) => into_optional(self.field(at, &Type::clone(inner), field)),
            Type::Object(object) => {
                let name = unescape(field);
                // Upstream takes `namespace` unescaped, too.
                let written = field == "namespace" || super::escape(&name).as_deref() == Some(field);
                let found = object.field(&name).filter(|_| written);
                let found = found.and_then(|schema| Type::of(schema, super::Root::of(schema)));
                found.unwrap_or_else(|| self.issue(at, format!("undefined field '{field}'")))
            }
            other => self.issue(at, format!("type '{}' does not support field selection", other.shown())),
        }
    }

    fn logic(&mut self, left: &Node, right: &Node) -> Type<'s> {
        for side in [left, right] {
            let found = self.check(side);
            self.must_be_bool(side.at, &found);
        }
        Type::Bool
    }

    fn call(&mut self, at: usize, name: &str, target: Option<&Node>, args: &[Node]) -> Type<'s> {
        let qualified = target.and_then(|target| namespaced(target, name));
        let (name, target) = match &qualified {
            Some(qualified) => (qualified.as_str(), None),
            None => (name, target),
        };
        let target = target.map(|target| self.check(target));
        let nodes = args;
        let args: Vec<Type<'s>> = args.iter().map(|arg| self.argument(name, arg)).collect();
        if !signatures::is_known(name, target.is_some()) {
            return self.issue(at, format!("undeclared reference to '{name}' (in container '')"));
        }
        match signatures::result(name, target.as_ref(), &args) {
            Some(found) => {
                self.literals(name, nodes);
                found
            }
            None => self.no_overload(at, name, target.as_ref(), &args),
        }
    }

    /// The values that `format` takes may be of any types.
    fn argument(&mut self, name: &str, arg: &Node) -> Type<'s> {
        match &arg.kind {
            Kind::List(elements) if name == "format" => {
                for (element, _) in elements {
                    self.check(element);
                }
                Type::list(Type::Dyn)
            }
            _ => self.check(arg),
        }
    }

    /// Arguments whose text can be judged now.
    fn literals(&mut self, name: &str, args: &[Node]) {
        if let ("find" | "findAll", Some(Kind::Literal(Literal::Text(text)))) =
            (name, args.first().map(|arg| &arg.kind))
        {
            // Upstream leaves a wrong one to when it runs; a good one is kept for then.
            drop(go_pattern(text));
        }
        let Some(Node { at, kind: Kind::Literal(Literal::Text(text)), .. }) = args.last() else { return };
        let fits = match name {
            "matches" => go_pattern(text).is_ok(),
            "duration" => super::functions::times::parse_duration(text).is_some(),
            "timestamp" => text.parse::<jiff::Timestamp>().is_ok(),
            _ => true,
        };
        if !fits {
            self.issue(*at, format!("invalid {name} argument"));
        }
    }

    fn no_overload(&mut self, at: usize, name: &str, target: Option<&Type<'s>>, args: &[Type<'s>]) -> Type<'s> {
        let args = args.iter().map(Type::shown).collect::<Vec<_>>().join(", ");
        let shown = target.map_or_else(|| format!("({args})"), |target| format!("{}.({args})", target.shown()));
        self.issue(at, format!("found no matching overload for '{name}' applied to '{shown}'"))
    }

    fn each(&mut self, at: usize, inner: &Loop) -> Type<'s> {
        use LoopKind as L;
        let range = self.check(&inner.range);
        let outside = self.enter(inner, &range);
        let first = self.scope.get(outside).map_or(Type::Dyn, |variable| variable.of.clone());
        if let Some(filter) = &inner.filter {
            let found = self.check(filter);
            self.must_be_bool(filter.at, &found);
        }
        let body = self.check(&inner.body);
        self.scope.truncate(outside);
        match inner.kind {
            L::All | L::Exists | L::ExistsOne => {
                self.must_be_bool(inner.body.at, &body);
                Type::Bool
            }
            L::Filter => {
                self.must_be_bool(inner.body.at, &body);
                Type::list(first)
            }
            L::Map | L::TransformList => Type::list(body),
            L::TransformMap => match range {
                Type::Map(key, _) => Type::Map(key, body.into()),
                _ => Type::Map(Type::Int.into(), body.into()),
            },
            L::TransformMapEntry if Type::Map(Type::Dyn.into(), Type::Dyn.into()).takes(&body) => body,
            L::SortBy => range,
            L::OptMap => Type::optional(body),
            L::OptFlatMap => into_optional(body),
            L::TransformMapEntry => self.no_overload(at, "transformMapEntry", None, &[body]),
        }
    }

    /// Begins a loop over a value of the type `range`: its variables are in scope until what it answers is all that is left.
    fn enter(&mut self, inner: &Loop, range: &Type<'s>) -> usize {
        use LoopKind as L;
        let over_optional = matches!(inner.kind, L::OptMap | L::OptFlatMap);
        let (first, second) = match (range, over_optional) {
            (Type::Dyn, _) => (Type::Dyn, Type::Dyn),
            (Type::Optional(of), true) => (Type::clone(of), Type::Dyn),
            (Type::List(of), false) if inner.var2.is_some() => (Type::Int, Type::clone(of)),
            (Type::List(of), false) => (Type::clone(of), Type::Dyn),
            (Type::Map(key, value), false) => (Type::clone(key), Type::clone(value)),
            _ => {
                let found = range.shown();
                let message = format!(
                    "expression of type '{found}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                (self.issue(inner.range.at, message), Type::Dyn)
            }
        };
        let outside = self.scope.len();
        self.scope.push(Variable { name: inner.var.clone(), of: first, used: false });
        if let Some(name) = &inner.var2 {
            self.scope.push(Variable { name: name.clone(), of: second, used: false });
        }
        outside
    }

    fn must_be_bool(&mut self, at: usize, found: &Type<'s>) {
        if !Type::Bool.takes(found) {
            self.issue(at, format!("expected type 'bool' but found '{}'", found.shown()));
        }
    }
}

fn of_literal<'s>(literal: &Literal) -> Type<'s> {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::UInt(_) => Type::UInt,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

fn into_optional(found: Type<'_>) -> Type<'_> {
    match found {
        already @ Type::Optional(_) => already,
        other => Type::optional(other),
    }
}

/// `a.b.c` as one name.
pub(super) fn dotted(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Ident(name) => Some(name.clone()),
        Kind::Select { of, field, optional: false } => Some(format!("{}.{field}", dotted(of)?)),
        _ => None,
    }
}

/// The full name of a function in a namespace, such as `sets.contains`.
pub(super) fn namespaced(target: &Node, name: &str) -> Option<String> {
    let Kind::Ident(space) = &target.kind else { return None };
    let full = format!("{space}.{name}");
    let known = matches!(space.as_str(), "optional" | "sets" | "lists" | "strings" | "ip" | "format");
    (known && signatures::is_known(&full, false)).then_some(full)
}
