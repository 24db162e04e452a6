//! Lists, and lists as sets.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::{Args, int};

/// Longest list that `lists.range` makes.
const LONGEST_RANGE: i64 = 1_000_000;

pub(super) fn function<'v>(name: &str, args: Args<'_, 'v>) -> Found<'v> {
    if let ("lists.range", [Value::Int(count)]) = (name, args) {
        if *count > LONGEST_RANGE {
            return failed("lists.range: too long");
        }
        return Ok(Value::list((0..*count).map(Value::Int).collect()));
    }
    let [a, b] = args else { return no_overload() };
    let (Some(a), Some(b)) = (a.items(), b.items()) else { return no_overload() };
    let holds = |list: &[Value<'v>], item: &Value<'v>| list.iter().any(|found| found.equals(item));
    Ok(Value::Bool(match name {
        "sets.contains" => b.iter().all(|item| holds(&a, item)),
        "sets.intersects" => b.iter().any(|item| holds(&a, item)),
        _ => b.iter().all(|item| holds(&a, item)) && a.iter().all(|item| holds(&b, item)),
    }))
}

pub(super) fn method<'v>(name: &str, list: &Value<'v>, rest: Args<'_, 'v>) -> Found<'v> {
    let items = list.items().unwrap_or_default();
    match (name, rest) {
        ("isSorted", []) => {
            let pairs = items.iter().zip(items.iter().skip(1));
            Ok(Value::Bool(pairs.into_iter().all(|(a, b)| a.compare(b).is_some_and(Ordering::is_le))))
        }
        ("sum", []) => {
            let mut items = items.into_iter();
            let Some(first) = items.next() else { return Ok(Value::Int(0)) };
            items.try_fold(first, |sum, item| super::operators::call("_+_", &[sum, item]))
        }
        ("min", []) => extreme(items, Ordering::Less, "min"),
        ("max", []) => extreme(items, Ordering::Greater, "max"),
        ("indexOf", [wanted]) => Ok(items.iter().position(|item| item.equals(wanted)).map_or(Value::Int(-1), int)),
        ("lastIndexOf", [wanted]) => Ok(items.iter().rposition(|item| item.equals(wanted)).map_or(Value::Int(-1), int)),
        ("slice", [Value::Int(from), Value::Int(to)]) => slice(&items, *from, *to),
        ("flatten", []) => flatten(items, 1),
        ("flatten", [Value::Int(depth)]) => {
            if *depth < 0 {
                failed("level must be non-negative")
            } else {
                flatten(items, *depth)
            }
        }
        ("distinct", []) => {
            let mut found: Vec<Value<'v>> = Vec::new();
            for item in items {
                if !found.iter().any(|known| known.equals(&item)) {
                    found.push(item);
                }
            }
            Ok(Value::list(found))
        }
        ("reverse", []) => Ok(Value::list(items.into_iter().rev().collect())),
        ("sort", []) => {
            let keys = items.clone();
            sorted_by(items, &keys)
        }
        ("first", []) => Ok(items.into_iter().next().map_or(Value::Optional(None), Value::some)),
        ("last", []) => Ok(items.into_iter().next_back().map_or(Value::Optional(None), Value::some)),
        _ => no_overload(),
    }
}

fn extreme<'v>(items: Vec<Value<'v>>, wanted: Ordering, name: &str) -> Found<'v> {
    let mut items = items.into_iter();
    let Some(mut best) = items.next() else { return failed(format!("{name} called on empty list")) };
    for item in items {
        match item.compare(&best) {
            Some(order) if order == wanted => best = item,
            Some(_) => {}
            None => return no_overload(),
        }
    }
    Ok(best)
}

fn slice<'v>(items: &[Value<'v>], from: i64, to: i64) -> Found<'v> {
    let (Ok(a), Ok(b)) = (usize::try_from(from), usize::try_from(to)) else {
        return failed(format!("cannot slice({from}, {to}), negative indexes not supported"));
    };
    match items.get(a..b) {
        Some(part) => Ok(Value::list(part.to_vec())),
        None if a > b => {
            failed(format!("cannot slice({from}, {to}), start index must be less than or equal to end index"))
        }
        None => failed(format!("cannot slice({from}, {to}), list is length {}", items.len())),
    }
}

fn flatten<'v>(items: Vec<Value<'v>>, depth: i64) -> Found<'v> {
    let mut flat = items;
    for _ in 0..depth.min(16) {
        let mut next = Vec::new();
        let mut nested = false;
        for item in flat {
            match item.items() {
                Some(inner) => {
                    nested = true;
                    next.extend(inner);
                }
                None => next.push(item),
            }
        }
        flat = next;
        if !nested {
            break;
        }
    }
    Ok(Value::list(flat))
}

/// Elements in the order of their keys.
pub(in super::super) fn sorted_by<'v>(items: Vec<Value<'v>>, keys: &[Value<'v>]) -> Found<'v> {
    let pairs = keys.iter().zip(keys.iter().skip(1));
    if pairs.into_iter().any(|(a, b)| a.compare(b).is_none()) {
        return no_overload();
    }
    let mut order: Vec<(usize, &Value<'v>)> = keys.iter().enumerate().collect();
    order.sort_by(|(_, a), (_, b)| a.compare(b).unwrap_or(Ordering::Equal));
    let by_index: BTreeMap<usize, Value<'v>> = items.into_iter().enumerate().collect();
    Ok(Value::List(Rc::new(order.into_iter().filter_map(|(at, _)| by_index.get(&at).cloned()).collect())))
}
