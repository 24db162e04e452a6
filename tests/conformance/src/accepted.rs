//! The differences that are meant to be, each with its reason. One that is not listed fails, and so does a listed one
//! that is no longer there.

use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;

use crate::compare::Difference;

/// A difference that is meant to be. `*` in a pattern stands for any text.
#[derive(Debug, Clone)]
pub struct Accepted {
    /// Pattern of request ids.
    pub id: String,
    /// Pattern of places.
    pub at: String,
    /// Only where both servers said a text there.
    pub texts: bool,
    /// Why.
    pub reason: String,
}

/// As the list is written: several requests may have one reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ids: Vec<String>,
    at: String,
    #[serde(default)]
    texts: bool,
    reason: String,
}

impl Accepted {
    fn covers(&self, difference: &Difference) -> bool {
        let is_text = |value: &str| value.starts_with('"');
        fits(&self.id, &difference.id)
            && fits(&self.at, &difference.at)
            && (!self.texts || is_text(&difference.wanted) && is_text(&difference.found))
    }
}

/// How differences and list fit together.
#[derive(Debug, Default)]
pub struct Judgement<'a> {
    /// Differences that no entry covers.
    pub unlisted: Vec<&'a Difference>,
    /// Covered ones, with their entry's place in the list.
    pub listed: Vec<(&'a Difference, usize)>,
    /// Entries that cover nothing.
    pub vanished: Vec<&'a Accepted>,
}

/// Reads the list.
///
/// # Errors
/// When it cannot be read.
pub fn load(path: &Path) -> anyhow::Result<Vec<Accepted>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let written: Vec<Written> = crate::yaml::parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
    let each = |entry: Written| {
        let Written { ids, at, texts, reason } = entry;
        let one = move |id| Accepted { id, at: at.clone(), texts, reason: reason.clone() };
        ids.into_iter().map(one).collect::<Vec<_>>()
    };
    Ok(written.into_iter().flat_map(each).collect())
}

/// Sorts the differences by the list; the first entry that fits counts.
#[must_use]
pub fn judge<'a>(differences: &'a [Difference], accepted: &'a [Accepted]) -> Judgement<'a> {
    let mut judgement = Judgement::default();
    for difference in differences {
        match accepted.iter().position(|entry| entry.covers(difference)) {
            Some(entry) => judgement.listed.push((difference, entry)),
            None => judgement.unlisted.push(difference),
        }
    }
    let unused = |index: usize| !judgement.listed.iter().any(|(_, entry)| *entry == index);
    judgement.vanished =
        accepted.iter().enumerate().filter(|(index, _)| unused(*index)).map(|(_, entry)| entry).collect();
    judgement
}

fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => {
            let Some(text) = text.strip_prefix(start) else { return false };
            text.char_indices()
                .map(|(index, _)| index)
                .chain([text.len()])
                .any(|index| fits(rest, text.get(index..).unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit() {
        for (pattern, text, fit) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*c", "abc", true),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "acb", false),
            ("*", "", true),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }

    /// A field that happens to be called so, and a text that only one of them has, are no other words for the same.
    #[test]
    fn texts_differ_only_where_both_are() {
        let entry = Accepted { id: "a/1".into(), at: "*/description".into(), texts: true, reason: "r".into() };
        let covers = |wanted: &str, found: &str| {
            let (id, at) = ("a/1".into(), "body/properties/description".into());
            entry.covers(&Difference { id, at, wanted: wanted.into(), found: found.into() })
        };
        assert!(covers("\"one\"", "\"other\""));
        assert!(!covers("\"one\"", ""));
        assert!(!covers("", "\"other\""));
        assert!(!covers("", "{\"type\":\"string\"}"));
    }

    #[test]
    fn the_unlisted_and_the_vanished_show() {
        let entry = |id: &str| Accepted { id: id.into(), at: "body*".into(), texts: false, reason: "r".into() };
        let difference =
            |id: &str| Difference { id: id.into(), at: "body/x".into(), wanted: "1".into(), found: "2".into() };
        let (differences, accepted) = ([difference("a/1"), difference("b/1")], [entry("a/*"), entry("c/*")]);
        let judgement = judge(&differences, &accepted);
        assert_eq!((judgement.unlisted.len(), judgement.listed.len(), judgement.vanished.len()), (1, 1, 1));
        assert_eq!(judgement.unlisted[0].id, "b/1");
        assert_eq!(judgement.vanished[0].id, "c/*");
    }
}
