//! What a rule can cost at most, before it has ever run: upstream refuses definitions whose rules could cost too much. The
//! numbers are those of its compiler, which takes macros apart into loops; here they are still whole, and each is counted
//! as the loop that it stands for.

use super::ast::{Kind, Literal, Loop, LoopKind, Node};
use super::calls;
use super::check::{Types, dotted, namespaced};
use super::place::Place;
use super::types::{Type, unescape};

/// Bounds on a length or count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(super) fn of(size: u64) -> Self {
        Self { min: size, max: size }
    }

    pub(super) fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    fn or(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}

/// What is known of an expression.
#[derive(Debug, Clone)]
pub(super) struct Estimate<'s> {
    pub(super) cost: u64,
    /// `None` when nothing bounds it.
    pub(super) size: Option<Size>,
    /// What its elements are bounded by, when it is made by the rule itself.
    elements: Option<Size>,
    pub(super) place: Place<'s>,
    pub(super) of: Type<'s>,
}

impl<'s> Estimate<'s> {
    fn new(cost: u64, of: Type<'s>) -> Self {
        let size = is_scalar(&of).then(|| Size::of(1));
        Self { cost, size, elements: None, place: Place::Nowhere, of }
    }

    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    /// The bounds of an element, by the schema when the rule does not say.
    pub(super) fn element_size(&self) -> Size {
        self.place.element().size().unwrap_or(Size::UNKNOWN)
    }

    fn at(mut self, place: Place<'s>) -> Self {
        // The schema's word counts before that of the type.
        self.size = place.size().or(self.size);
        self.place = place;
        self
    }
}

/// Values of one size, known before they are there.
fn is_scalar(of: &Type<'_>) -> bool {
    match of {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::UInt => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

/// A variable in scope.
struct Variable<'s> {
    name: String,
    place: Place<'s>,
    size: Option<Size>,
    elements: Option<Size>,
}

pub(super) struct Coster<'s> {
    types: Types<'s>,
    root: Place<'s>,
    scope: Vec<Variable<'s>>,
}

/// The cost of taking apart something that names things.
const SELECT: u64 = 1;
const LIST: u64 = 10;
const MAP: u64 = 30;

impl<'s> Coster<'s> {
    /// For an expression about a value of `of_self`, whose types are those that the checker found.
    pub(super) fn new(types: Types<'s>, of_self: &Type<'s>, schema: &'s crate::schema::Schema) -> Self {
        let root = match of_self {
            Type::Object(object) => Place::Object(*object),
            _ => Place::Value(schema),
        };
        let variable = |name: &str| Variable { name: name.to_owned(), place: root, size: None, elements: None };
        Self { types, root, scope: vec![variable("self"), variable("oldSelf")] }
    }

    pub(super) fn cost(&mut self, node: &Node) -> Estimate<'s> {
        let of = self.types.get(&std::ptr::from_ref(node)).cloned().unwrap_or(Type::Dyn);
        match &node.kind {
            Kind::Literal(literal) => literal_size(literal, of),
            Kind::Ident(name) => self.ident(name, of),
            Kind::Select { of: inner, field, optional } => {
                if dotted(node).is_some_and(|name| name.starts_with("google.protobuf.")) {
                    return Estimate::new(SELECT, of).at(self.root);
                }
                let inner = self.cost(inner);
                if *optional {
                    return Estimate::new(inner.cost.saturating_add(1), of);
                }
                let selects = matches!(inner.of, Type::Map(..) | Type::Object(_));
                let cost = inner.cost.saturating_add(if selects { SELECT } else { 0 });
                Estimate::new(cost, of).at(inner.place.field(&unescape(field)))
            }
            Kind::Has { of: inner, .. } => Estimate::new(self.cost(inner).cost, of),
            Kind::Index { of: inner, key, optional } => {
                let (inner, key) = (self.cost(inner), self.cost(key));
                let estimate = Estimate::new(inner.cost.saturating_add(key.cost).saturating_add(1), of);
                if *optional || matches!(inner.of, Type::Optional(_)) {
                    return estimate;
                }
                let mut found = estimate.at(inner.place.element());
                found.size = inner.elements.or(found.size);
                found
            }
            Kind::Call { name, target, args } => self.call(name, target.as_deref(), args, of),
            Kind::And(left, right) | Kind::Or(left, right) => {
                let (left, right) = (self.cost(left), self.cost(right));
                Estimate::new(left.cost.saturating_add(right.cost), of)
            }
            Kind::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                let (condition, yes, no) = (self.cost(condition), self.cost(yes), self.cost(no));
                let mut found = Estimate::new(condition.cost.saturating_add(yes.cost.max(no.cost)), of);
                found.size = Some(yes.size().or(no.size()));
                found.elements = yes.elements.zip(no.elements).map(|(yes, no)| yes.or(no));
                found
            }
            Kind::List(elements) => {
                let elements: Vec<_> = elements.iter().map(|(element, _)| self.cost(element)).collect();
                let mut found = Estimate::new(sum(&elements).saturating_add(LIST), of);
                found.size = Some(Size::of(elements.len() as u64));
                found.elements = Some(elements.iter().map(Estimate::size).reduce(Size::or).unwrap_or(Size::of(0)));
                found
            }
            Kind::Map(entries) => {
                let mut found = Estimate::new(MAP, of);
                let mut values = Vec::new();
                for (key, value, _) in entries {
                    let key = self.cost(key);
                    values.push(self.cost(value));
                    found.cost = found.cost.saturating_add(key.cost);
                }
                found.cost = found.cost.saturating_add(sum(&values));
                found.size = Some(Size::of(entries.len() as u64));
                found.elements = Some(values.iter().map(Estimate::size).reduce(Size::or).unwrap_or(Size::of(0)));
                found
            }
            Kind::Loop(inner) => self.each(inner, of),
        }
    }

    fn ident(&mut self, name: &str, of: Type<'s>) -> Estimate<'s> {
        let estimate = Estimate::new(SELECT, of);
        let Some(variable) = self.scope.iter().rev().find(|variable| variable.name == name) else {
            // The name of a type, which upstream takes for a variable that is the whole value.
            return estimate.at(self.root);
        };
        let mut found = estimate.at(variable.place);
        found.size = found.size.or(variable.size);
        found.elements = variable.elements;
        found
    }

    fn call(&mut self, name: &str, target: Option<&Node>, args: &[Node], of: Type<'s>) -> Estimate<'s> {
        let qualified = target.and_then(|target| namespaced(target, name));
        let (name, target) = match &qualified {
            Some(qualified) => (qualified.as_str(), None),
            None => (name, target),
        };
        let target = target.map(|target| self.cost(target));
        let args: Vec<_> = args.iter().map(|arg| self.cost(arg)).collect();
        if let ("dyn", [arg]) = (name, args.as_slice()) {
            let cost = arg.cost.saturating_add(1);
            return Estimate { cost, of, place: Place::Nowhere, size: arg.size, elements: arg.elements };
        }
        let called = calls::cost(name, target.as_ref(), &args);
        let inputs = sum(&args).saturating_add(target.as_ref().map_or(0, |target| target.cost));
        let mut found = Estimate::new(called.cost.saturating_add(inputs), of);
        found.size = called.result.or(found.size);
        if let ("_+_", [left, right]) = (name, args.as_slice()) {
            found.elements = left.elements.zip(right.elements).map(|(left, right)| left.or(right));
        }
        found
    }

    fn each(&mut self, inner: &Loop, of: Type<'s>) -> Estimate<'s> {
        use LoopKind as L;
        let range = self.cost(&inner.range);
        let outside = self.scope.len();
        // Of what the rule itself made upstream knows no place, and so takes that of the whole value.
        let place = if matches!(range.place, Place::Nowhere) { self.root } else { range.place.element() };
        let key = Variable { name: inner.var.clone(), place: range.place.key(), size: None, elements: None };
        let value = |name: &str| Variable { name: name.to_owned(), place, size: range.elements, elements: None };
        match &inner.var2 {
            Some(second) => self.scope.extend([key, value(second)]),
            None if matches!(range.of, Type::Map(..)) => self.scope.push(key),
            None => self.scope.push(value(&inner.var)),
        }
        let filter = inner.filter.as_ref().map(|filter| self.cost(filter).cost);
        let body = self.cost(&inner.body);
        self.scope.truncate(outside);

        // An optional value is bound to a name where it is there.
        if matches!(inner.kind, L::OptMap | L::OptFlatMap) {
            let bound = LIST.saturating_add(range.cost).saturating_add(1).saturating_add(body.cost);
            let some = bound.saturating_add(u64::from(inner.kind == L::OptMap));
            return Estimate::new(range.cost.saturating_add(1).saturating_add(some.max(1)), of);
        }
        let filtered = |step: u64| filter.map_or(step, |filter| filter.saturating_add(step.max(1)));
        // Before the loop, each time round, and after it.
        let (before, step, after) = match inner.kind {
            L::All => (0, body.cost.saturating_add(3), 1),
            L::Exists => (0, body.cost.saturating_add(4), 1),
            L::ExistsOne => (0, body.cost.saturating_add(2), 2),
            L::Filter => (LIST, body.cost.saturating_add(13), 1),
            L::Map | L::TransformList | L::SortBy => (LIST, filtered(body.cost.saturating_add(12)), 1),
            L::TransformMap => (MAP, filtered(body.cost.saturating_add(3)), 1),
            L::TransformMapEntry => (MAP, filtered(body.cost.saturating_add(2)), 1),
            L::OptMap | L::OptFlatMap => (0, 0, 0),
        };
        let times = range.size();
        let around = range.cost.saturating_add(before).saturating_add(after);
        let mut found = Estimate::new(around.saturating_add(times.max.saturating_mul(step)), of);
        if !matches!(inner.kind, L::All | L::Exists | L::ExistsOne) {
            found.size = Some(times);
            let element = if inner.kind == L::Filter { range.elements.or(place.size()) } else { body.size };
            found.elements = Some(Size::up_to(element.map_or(u64::MAX, |element| element.max)));
        }
        found
    }
}

fn literal_size<'s>(literal: &Literal, of: Type<'s>) -> Estimate<'s> {
    let size = match literal {
        Literal::Text(text) => text.chars().count() as u64,
        Literal::Bytes(bytes) => bytes.len() as u64,
        _ => 1,
    };
    Estimate { size: Some(Size::of(size)), ..Estimate::new(0, of) }
}

fn sum(estimates: &[Estimate<'_>]) -> u64 {
    estimates.iter().fold(0, |sum, estimate| sum.saturating_add(estimate.cost))
}
