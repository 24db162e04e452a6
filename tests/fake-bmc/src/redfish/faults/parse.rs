//! Rules as text, for command lines: `[METHOD] [PATH] FAULT[=ARGUMENT] [xTIMES] [afterSKIP]`, for example
//! `GET /Systems status=503,10 x2` or `PATCH /Systems/1 flip=BootSourceOverrideMode:Legacy`.

use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use super::{Fault, Rule};

/// A rule that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{rule:?} is not a fault rule: {what}; write [METHOD] [PATH] FAULT[=ARGUMENT] [xTIMES] [afterSKIP]")]
pub struct NotARule {
    rule: String,
    what: String,
}

impl FromStr for Rule {
    type Err = NotARule;

    fn from_str(text: &str) -> Result<Self, NotARule> {
        let wrong = |what: String| NotARule { rule: text.to_owned(), what };
        let mut rule = Self::always(Fault::Hang);
        let mut named = false;
        for word in text.split_whitespace() {
            let number = |prefix: &str| word.strip_prefix(prefix).and_then(|rest| rest.parse::<u32>().ok());
            if word.starts_with('/') {
                word.clone_into(&mut rule.path);
            } else if word.bytes().all(|byte| byte.is_ascii_uppercase()) {
                rule.method = Some(word.to_owned());
            } else if let Some(times) = number("x") {
                rule.times = Some(times);
            } else if let Some(skip) = number("after") {
                rule.skip = skip;
            } else {
                rule.fault = fault(word).ok_or_else(|| wrong(format!("{word} is no fault")))?;
                named = true;
            }
        }
        if named { Ok(rule) } else { Err(wrong("it names no fault".to_owned())) }
    }
}

fn fault(word: &str) -> Option<Fault> {
    let (name, argument) = word.split_once('=').unwrap_or((word, ""));
    let numbers = || argument.split(',').map(|number| number.parse::<u64>().ok());
    let status = || u16::try_from(numbers().next()??).ok();
    Some(match name {
        "delay" => Fault::Delay(duration(argument)?),
        "status" => Fault::Status(status()?, numbers().nth(1).flatten().map(Duration::from_secs)),
        "redirect" => Fault::Redirect(status()?, argument.split_once(',')?.1.to_owned()),
        "html" => Fault::Html(if argument.is_empty() { 200 } else { status()? }),
        "hang" => Fault::Hang,
        "disconnect" => Fault::Disconnect,
        "not-found" => Fault::NotFound,
        "drop-sessions" => Fault::DropSessions,
        "lose-answer" => Fault::LoseAnswer,
        "garbage" => Fault::Garbage,
        "truncate" => Fault::Truncate,
        "huge" => Fault::Huge(numbers().next()??),
        "empty" => Fault::EmptyBody,
        "content-type" => Fault::ContentType(argument.to_owned()),
        "no-location" => Fault::NoLocation,
        "no-etag" => Fault::NoEtag,
        "ignore" => Fault::Ignore,
        "partial" => Fault::Partial(argument.split(',').map(str::to_owned).collect()),
        "late" => Fault::Late(duration(argument)?),
        "flip" => {
            let (property, value) = argument.split_once(':')?;
            let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
            Fault::Flip(property.to_owned(), value)
        }
        _ => return None,
    })
}

/// `250ms`, `2s`.
fn duration(text: &str) -> Option<Duration> {
    match text.strip_suffix("ms") {
        Some(number) => number.parse().ok().map(Duration::from_millis),
        None => text.strip_suffix('s')?.parse().ok().map(Duration::from_secs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rules_are_read() {
        let flip = Fault::Flip("BootSourceOverrideMode".to_owned(), json!("Legacy"));
        let table = [
            ("hang", Rule::always(Fault::Hang)),
            ("GET /Systems$ status=503,10 x2", {
                Rule::on("GET", "/Systems$", Fault::Status(503, Some(Duration::from_secs(10)))).times(2)
            }),
            ("status=500", Rule::always(Fault::Status(500, None))),
            ("delay=250ms after3", Rule::always(Fault::Delay(Duration::from_millis(250))).after(3)),
            ("PATCH /Systems/1 flip=BootSourceOverrideMode:Legacy", Rule::on("PATCH", "/Systems/1", flip)),
            ("redirect=308,/redfish/v1/", Rule::always(Fault::Redirect(308, "/redfish/v1/".to_owned()))),
            ("partial=A,B", Rule::always(Fault::Partial(vec!["A".to_owned(), "B".to_owned()]))),
        ];
        for (text, rule) in table {
            assert_eq!(text.parse::<Rule>(), Ok(rule), "{text}");
        }
        let error = "GET /Systems explode".parse::<Rule>().unwrap_err().to_string();
        assert!(error.starts_with("\"GET /Systems explode\" is not a fault rule: explode is no fault;"), "{error}");
        for text in ["", "GET /x", "status", "status=x", "delay=2", "flip=a"] {
            assert!(text.parse::<Rule>().is_err(), "{text}");
        }
    }
}
