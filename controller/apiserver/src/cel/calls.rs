//! What calls cost at most, by what they are given: upstream's table of the functions whose cost is not one.

use super::cost::{Estimate, Size};
use super::signatures;
use super::types::Type;

/// The cost of reading a character, in tenths.
const READ: u64 = 10;
/// Longest pattern of a named format.
const LONGEST_FORMAT: u64 = 128;

/// What a call costs, and how large what it gives is where that can be told.
pub(super) struct Call {
    pub(super) cost: u64,
    pub(super) result: Option<Size>,
}

impl Call {
    fn costing(cost: u64) -> Self {
        Self { cost, result: None }
    }

    fn giving(mut self, size: Size) -> Self {
        self.result = Some(size);
        self
    }
}

/// The cost of reading so many characters.
fn read(characters: u64) -> u64 {
    if characters == u64::MAX { u64::MAX } else { characters.div_ceil(READ) }
}

/// The cost of applying a pattern of so many characters: a quarter of an expression each.
fn pattern(characters: u64) -> u64 {
    if characters == u64::MAX { u64::MAX } else { characters.div_ceil(4) }
}

/// The cost of a call without that of its inputs.
pub(super) fn cost(name: &str, target: Option<&Estimate<'_>>, args: &[Estimate<'_>]) -> Call {
    let size = |at: usize| args.get(at).map_or(Size::UNKNOWN, Estimate::size);
    match (name, target) {
        ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target)) => {
            let each = match &target.of {
                Type::List(of) if matches!(**of, Type::Text | Type::Bytes) => {
                    read(target.element_size().max).saturating_add(1)
                }
                Type::List(_) => 1,
                _ => return Call::costing(read(target.size().max)),
            };
            Call::costing(target.size().max.saturating_mul(each))
        }
        ("url", None) => Call::costing(read(size(0).max)).giving(size(0)),
        ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target)) => {
            Call::costing(read(target.size().max)).giving(target.size())
        }
        ("replace", Some(target)) => replaced(target.size(), size(0), size(1)),
        ("split", Some(target)) => Call::costing(twice_read(target.size().max)).giving(Size::up_to(target.size().max)),
        ("join", Some(target)) => {
            let list = target.size();
            let separators = Size { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
            let between = if args.is_empty() { Size::of(0) } else { size(0).times(separators) };
            let whole = list.times(target.element_size()).plus(between);
            Call::costing(read(whole.max)).giving(whole)
        }
        ("find" | "findAll", Some(target)) => {
            let cost = read(target.size().max.saturating_add(1)).saturating_mul(pattern(size(0).max));
            Call::costing(cost).giving(Size::up_to(target.size().max))
        }
        ("matches", Some(target)) => {
            Call::costing(read(target.size().max.saturating_add(1)).saturating_mul(pattern(size(0).max)))
        }
        ("contains", Some(target)) => Call::costing(read(target.size().max).saturating_mul(read(size(0).max))),
        ("startsWith" | "endsWith", Some(_))
        | ("cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver", None) => {
            Call::costing(read(size(0).max))
        }
        ("ip.isCanonical", None) => Call::costing(twice_read(size(0).max)),
        ("containsIP" | "containsCIDR", Some(_)) => {
            // Two addresses of at most sixteen bytes; for a network one of them is masked first.
            let compared = if name == "containsIP" { read(32) } else { read(32) + read(16) + 1 };
            let parsed = args.first().filter(|arg| !matches!(arg.of, Type::Opaque(_))).map_or(0, |_| read(size(0).max));
            Call::costing(compared.saturating_add(parsed))
        }
        ("validate", Some(_)) => Call::costing(read(size(0).max).saturating_mul(LONGEST_FORMAT / 4)),
        ("format", Some(target)) => Call::costing(read(target.size().max)),
        ("strings.quote", None) => {
            let size =
                Size { min: size(0).min.saturating_add(2), max: size(0).max.saturating_mul(2).saturating_add(2) };
            Call::costing(read(args.first().map_or(0, |arg| arg.size().max))).giving(size)
        }
        ("bytes", None) => {
            let text = size(0);
            Call::costing(read(text.max)).giving(Size { min: text.min, max: text.max.saturating_mul(4) })
        }
        ("string", None) if args.first().is_some_and(|arg| matches!(arg.of, Type::Bytes | Type::Dyn)) => {
            Call::costing(read(size(0).max).max(1)).giving(Size { min: size(0).min / 4, max: size(0).max })
        }
        ("sets.contains" | "sets.intersects" | "sets.equivalent", None) => {
            let factor = if name == "sets.equivalent" { 2 } else { 1 };
            let pairs = size(0).max.saturating_mul(size(1).max);
            Call::costing(pairs.saturating_mul(factor).saturating_add(1))
        }
        ("@in", None) => match args.get(1).map(|arg| &arg.of) {
            Some(Type::Map(..)) => Call::costing(1),
            _ => Call::costing(size(1).max.max(u64::from(args.get(1).is_some_and(|arg| matches!(arg.of, Type::Dyn))))),
        },
        ("_+_", None) => added(args),
        ("_==_" | "_!=_", None) => equal(args),
        ("_<_" | "_<=_" | "_>_" | "_>=_", None) => {
            let texts = args.iter().any(|arg| matches!(arg.of, Type::Text | Type::Bytes));
            let any = args.iter().all(|arg| matches!(arg.of, Type::Dyn));
            let compared = read(size(0).max.min(size(1).max));
            Call::costing(if texts {
                compared
            } else if any {
                compared.max(1)
            } else {
                1
            })
        }
        _ => Call::costing(1),
    }
}

fn twice_read(characters: u64) -> u64 {
    if characters == u64::MAX { u64::MAX } else { characters.saturating_mul(2).div_ceil(READ) }
}

fn replaced(text: Size, gone: Size, new: Size) -> Call {
    let (times_most, kept_most) = if gone.min == 0 {
        (text.max.saturating_add(1), text.max)
    } else if new.max <= gone.min {
        (0, text.max)
    } else {
        (text.max.div_ceil(gone.min), 0)
    };
    let (times_least, kept_least) = if gone.max == 0 {
        (text.min.saturating_add(1), text.min)
    } else if gone.max <= new.min {
        (0, text.min)
    } else {
        (text.min.div_ceil(gone.max), 0)
    };
    let times = Size { min: times_least, max: times_most };
    let result = times.times(new).plus(Size { min: kept_least, max: kept_most });
    Call::costing(twice_read(text.max)).giving(result)
}

fn added(args: &[Estimate<'_>]) -> Call {
    let [left, right] = args else { return Call::costing(1) };
    let whole = left.size().plus(right.size());
    let is = |wanted: fn(&Type<'_>) -> bool| wanted(&left.of) || wanted(&right.of);
    if is(|of| matches!(of, Type::Text | Type::Bytes)) {
        return Call::costing(read(whole.max)).giving(whole);
    }
    if is(|of| matches!(of, Type::List(_))) {
        return Call::costing(1).giving(whole);
    }
    match (&left.of, &right.of) {
        // It may be texts.
        (Type::Dyn, Type::Dyn) => Call::costing(read(whole.max).max(1)).giving(whole),
        _ => Call::costing(1),
    }
}

fn equal(args: &[Estimate<'_>]) -> Call {
    let [left, right] = args else { return Call::costing(1) };
    let fixed = [signatures::IP, signatures::CIDR, signatures::QUANTITY, signatures::SEMVER];
    if let (Type::Opaque(left), Type::Opaque(right)) = (&left.of, &right.of)
        && left == right
        && fixed.contains(left)
    {
        return Call::costing(1);
    }
    Call::costing(read(left.size().max.min(right.size().max)))
}
