//! Whether settings may be wished for: judged before anything is written, all of them, so that one wrong name does not
//! leave half of a wish applied. Pure.

use std::collections::BTreeMap;

use super::registry::{Entry, Kind, Registry};
use super::values;
use crate::BiosValue;

/// Most words of a list that an error names.
const SHOWN: usize = 16;

/// `wanted` in the words and types that the BMC takes; or all that is wrong with it, one line each.
///
/// Numbers and switches may come as text, and words by what people call them: that is how manifests carry them.
pub(super) fn check(
    wanted: &BTreeMap<String, BiosValue>,
    current: &BTreeMap<String, Option<BiosValue>>,
    registry: Option<&Registry>,
) -> Result<BTreeMap<String, BiosValue>, Vec<String>> {
    let mut taken = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in wanted {
        let entry = registry.and_then(|registry| registry.get(name));
        let judged = match (entry, current.get(name)) {
            // What holds may be wished for, whatever the registry says of it: nothing is written.
            (_, Some(Some(now))) if now == value => Ok(value.clone()),
            (Some(entry), _) => judge(entry, value),
            (None, Some(now)) => like(now.as_ref(), value),
            (None, None) => Err("there is no such setting on this server".to_owned()),
        };
        match judged {
            Ok(value) => {
                taken.insert(name.clone(), value);
            }
            Err(problem) => problems.push(format!("{name}: {problem}")),
        }
    }
    if problems.is_empty() { Ok(taken) } else { Err(problems) }
}

fn judge(entry: &Entry, value: &BiosValue) -> Result<BiosValue, String> {
    if entry.is_secret() {
        return Err("it is a password; passwords are set with Bios.ChangePassword, not as a setting".to_owned());
    }
    if entry.read_only {
        return Err("it is read-only; leave it out".to_owned());
    }
    match entry.kind {
        Kind::Enumeration => {
            let said = value.to_string();
            if entry.choices.is_empty() {
                return Ok(BiosValue::Text(said));
            }
            // Switches may be lists of two words (`Enabled`, `Disabled`), never the other way round.
            let word = entry.word(&said).ok_or_else(|| {
                let words: Vec<&str> = entry.choices.iter().take(SHOWN).map(|choice| choice.value.as_str()).collect();
                let more = if entry.choices.len() > SHOWN { ", …" } else { "" };
                format!("{said:?} is not one of {}{more}", words.join(", "))
            })?;
            Ok(BiosValue::Text(word.to_owned()))
        }
        Kind::Integer => integer(entry, value),
        Kind::Boolean => match value {
            BiosValue::Boolean(_) => Ok(value.clone()),
            BiosValue::Text(text) => {
                text.to_ascii_lowercase().parse().map(BiosValue::Boolean).map_err(|_| boolean(text))
            }
            BiosValue::Integer(number) => Err(boolean(&number.to_string())),
        },
        Kind::Text => {
            let text = value.to_string();
            let length = i128::try_from(text.chars().count()).unwrap_or(i128::MAX);
            let short = entry.min_length.is_some_and(|least| length < least);
            let long = entry.max_length.is_some_and(|most| length > most);
            if short || long {
                let (least, most) = (entry.min_length.unwrap_or_default(), bound(entry.max_length));
                return Err(format!("it has {length} characters; {least} to {most} are accepted"));
            }
            Ok(BiosValue::Text(text))
        }
        Kind::Password | Kind::Unknown => Ok(value.clone()),
    }
}

fn boolean(said: &str) -> String {
    format!("{said:?} is neither true nor false")
}

fn integer(entry: &Entry, value: &BiosValue) -> Result<BiosValue, String> {
    let number = match value {
        BiosValue::Integer(number) => Ok(*number),
        BiosValue::Text(text) => text.trim().parse().map_err(|_| format!("{text:?} is no whole number")),
        BiosValue::Boolean(value) => Err(format!("{value} is no whole number")),
    }?;
    let wide = i128::from(number);
    if entry.lower.is_some_and(|lower| wide < lower) || entry.upper.is_some_and(|upper| wide > upper) {
        return Err(format!(
            "{number} is out of bounds; {} to {} are accepted",
            bound(entry.lower),
            bound(entry.upper)
        ));
    }
    if let Some(step) = entry.step
        && (wide - entry.lower.unwrap_or_default()) % step != 0
    {
        return Err(format!("{number} is between two steps; from {} in steps of {step}", bound(entry.lower)));
    }
    Ok(BiosValue::Integer(number))
}

fn bound(bound: Option<i128>) -> String {
    bound.map_or_else(|| "any".to_owned(), |bound| bound.to_string())
}

/// Where no registry tells, a value has to be of the kind that is there now.
fn like(now: Option<&BiosValue>, value: &BiosValue) -> Result<BiosValue, String> {
    let wrong = |now: &BiosValue| format!("{:?} is given where {} is wanted", value.to_string(), values::kind(now));
    match (now, value) {
        (Some(now @ BiosValue::Integer(_)), BiosValue::Text(text)) => {
            text.trim().parse().map(BiosValue::Integer).map_err(|_| wrong(now))
        }
        (Some(now @ BiosValue::Boolean(_)), BiosValue::Text(text)) => {
            text.to_ascii_lowercase().parse().map(BiosValue::Boolean).map_err(|_| wrong(now))
        }
        (Some(BiosValue::Text(_)), value) => Ok(BiosValue::Text(value.to_string())),
        (Some(now), value) if std::mem::discriminant(now) != std::mem::discriminant(value) => Err(wrong(now)),
        (_, value) => Ok(value.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> BiosValue {
        BiosValue::Text(text.to_owned())
    }

    fn registry() -> Registry {
        let body = json!({"RegistryEntries": {"Attributes": [
            {"AttributeName": "Boost", "Type": "Enumeration", "Value": [
                {"ValueName": "Max", "ValueDisplayName": "As fast as it goes"}, {"ValueName": "0"},
            ]},
            {"AttributeName": "Cores", "Type": "Integer", "LowerBound": 2, "UpperBound": 64, "ScalarIncrement": 2},
            {"AttributeName": "Epoch", "Type": "Integer", "LowerBound": 0, "UpperBound": u64::MAX},
            {"AttributeName": "Sol", "Type": "Boolean"},
            {"AttributeName": "Tag", "Type": "String", "MinLength": 2, "MaxLength": 4},
            {"AttributeName": "Free", "Type": "String", "MinLength": 0, "MaxLength": 0},
            {"AttributeName": "Model", "Type": "String", "ReadOnly": true},
            {"AttributeName": "Cpu", "Type": "Integer", "Immutable": true},
            {"AttributeName": "Admin", "Type": "Password"},
            {"AttributeName": "Odd", "Type": "Colour"},
        ]}});
        Registry::read(&body).unwrap()
    }

    fn one(name: &str, value: BiosValue) -> Result<BiosValue, String> {
        let registry = registry();
        let wanted = BTreeMap::from([(name.to_owned(), value)]);
        let judged = check(&wanted, &BTreeMap::new(), Some(&registry));
        judged.map(|mut taken| taken.remove(name).unwrap()).map_err(|problems| problems.join("|"))
    }

    #[test]
    fn what_a_registry_lets_pass() {
        let cases = [
            ("Boost", text("Max"), text("Max")),
            ("Boost", text("As fast as it goes"), text("Max")),
            ("Boost", BiosValue::Integer(0), text("0")),
            ("Cores", BiosValue::Integer(64), BiosValue::Integer(64)),
            ("Cores", text(" 4 "), BiosValue::Integer(4)),
            ("Epoch", BiosValue::Integer(i64::MAX), BiosValue::Integer(i64::MAX)),
            ("Sol", text("True"), BiosValue::Boolean(true)),
            ("Sol", BiosValue::Boolean(false), BiosValue::Boolean(false)),
            ("Tag", text("äöü"), text("äöü")),
            ("Tag", BiosValue::Integer(123), text("123")),
            ("Free", text(""), text("")),
            ("Odd", BiosValue::Integer(5), BiosValue::Integer(5)),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(one(name, value.clone()), Ok(wanted), "{name} {value}");
        }
    }

    #[test]
    fn what_a_registry_refuses() {
        let cases = [
            ("Boost", text("Min"), "Boost: \"Min\" is not one of Max, 0"),
            ("Cores", BiosValue::Integer(65), "Cores: 65 is out of bounds; 2 to 64 are accepted"),
            ("Cores", BiosValue::Integer(5), "Cores: 5 is between two steps; from 2 in steps of 2"),
            ("Cores", text("many"), "Cores: \"many\" is no whole number"),
            ("Epoch", BiosValue::Integer(-1), "Epoch: -1 is out of bounds; 0 to 18446744073709551615 are accepted"),
            ("Sol", BiosValue::Integer(1), "Sol: \"1\" is neither true nor false"),
            ("Tag", text("long!"), "Tag: it has 5 characters; 2 to 4 are accepted"),
            ("Model", text("X"), "Model: it is read-only; leave it out"),
            ("Cpu", BiosValue::Integer(1), "Cpu: it is read-only; leave it out"),
            ("Nothing", text("X"), "Nothing: there is no such setting on this server"),
        ];
        for (name, value, wanted) in cases {
            assert_eq!(one(name, value.clone()), Err(wanted.to_owned()), "{name} {value}");
        }
        let password = one("Admin", text("s3cr3t")).unwrap_err();
        assert!(password.contains("Bios.ChangePassword") && !password.contains("s3cr3t"), "{password}");
    }

    #[test]
    fn what_holds_may_be_wished_for() {
        let wanted = BTreeMap::from([("Model".to_owned(), text("X")), ("Tag".to_owned(), text("too long"))]);
        let current = wanted.iter().map(|(name, value)| (name.clone(), Some(value.clone()))).collect();
        assert_eq!(check(&wanted, &current, Some(&registry())), Ok(wanted));
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wanted = [("Cores", text("many")), ("Model", text("X")), ("Sol", text("true")), ("Nothing", text("X"))];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value)).into();
        let problems = check(&wanted, &BTreeMap::new(), Some(&registry())).unwrap_err();
        assert_eq!(problems.len(), 3, "{problems:?}");
    }

    #[test]
    fn without_a_registry_the_kind_must_stay() {
        let current = BTreeMap::from([
            ("N".to_owned(), Some(BiosValue::Integer(0))),
            ("B".to_owned(), Some(BiosValue::Boolean(true))),
            ("T".to_owned(), Some(text("1"))),
            ("P".to_owned(), None),
        ]);
        let one = |name: &str, value| check(&BTreeMap::from([(name.to_owned(), value)]), &current, None);
        assert_eq!(one("N", text("5")).unwrap()["N"], BiosValue::Integer(5));
        assert_eq!(one("T", BiosValue::Integer(5)).unwrap()["T"], text("5"));
        assert_eq!(one("P", text("x")).unwrap()["P"], text("x"));
        assert_eq!(one("N", text("x")).unwrap_err(), ["N: \"x\" is given where a number is wanted"]);
        assert_eq!(one("B", BiosValue::Integer(1)).unwrap_err(), ["B: \"1\" is given where true or false is wanted"]);
        assert!(one("X", text("x")).is_err());
    }
}
