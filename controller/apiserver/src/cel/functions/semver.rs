//! Semantic versions (semver.org 2.0).

use std::cmp::Ordering;

use super::super::eval::{Found, no_overload};
use super::super::value::Value;
use super::Args;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Version {
    numbers: [u64; 3],
    pre: Vec<String>,
}

impl Version {
    /// With `loose`, a leading `v`, missing parts and leading zeros are taken too.
    pub(super) fn parse(text: &str, loose: bool) -> Option<Self> {
        let text = if loose { text.trim().strip_prefix('v').unwrap_or(text.trim()) } else { text };
        let (text, build) = text.split_once('+').map_or((text, None), |(text, build)| (text, Some(build)));
        let (core, pre) = text.split_once('-').map_or((text, None), |(core, pre)| (core, Some(pre)));
        let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if build.is_some_and(|build| !build.split('.').all(word)) {
            return None;
        }
        let pre: Vec<String> = pre.map_or_else(Vec::new, |pre| pre.split('.').map(str::to_owned).collect());
        let leading_zero = |part: &str| part.len() > 1 && part.starts_with('0');
        let numeric = |part: &str| part.chars().all(|c| c.is_ascii_digit());
        if !pre.iter().all(|part| word(part) && !(numeric(part) && leading_zero(part))) {
            return None;
        }
        let mut numbers = [0; 3];
        let mut parts = core.split('.');
        for number in &mut numbers {
            let Some(part) = parts.next() else {
                if loose && pre.is_empty() {
                    break;
                }
                return None;
            };
            let fits = !part.is_empty() && numeric(part) && (loose || !leading_zero(part));
            *number = part.parse().ok().filter(|_| fits)?;
        }
        parts.next().is_none().then_some(Self { numbers, pre })
    }

    pub(in super::super) fn order(&self, other: &Self) -> Ordering {
        let pre = |a: &String, b: &String| match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        };
        self.numbers.cmp(&other.numbers).then_with(|| match (self.pre.is_empty(), other.pre.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => {
                let parts = self.pre.iter().zip(&other.pre).map(|(a, b)| pre(a, b));
                parts.into_iter().find(|order| order.is_ne()).unwrap_or_else(|| self.pre.len().cmp(&other.pre.len()))
            }
        })
    }

    pub(super) fn method<'v>(&self, name: &str, rest: Args<'_, 'v>) -> Found<'v> {
        let [major, minor, patch] = self.numbers;
        let number = |number: u64| Ok(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)));
        match (name, rest) {
            ("major", []) => number(major),
            ("minor", []) => number(minor),
            ("patch", []) => number(patch),
            ("isLessThan", [Value::Semver(other)]) => Ok(Value::Bool(self.order(other).is_lt())),
            ("isGreaterThan", [Value::Semver(other)]) => Ok(Value::Bool(self.order(other).is_gt())),
            ("compareTo", [Value::Semver(other)]) => Ok(Value::Int(match self.order(other) {
                Ordering::Less => -1,
                Ordering::Equal => 0,
                Ordering::Greater => 1,
            })),
            _ => no_overload(),
        }
    }
}
