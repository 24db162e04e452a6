//! The field selector's grammar: `a=b,c==d,e!=f`, with `\` before a `\`, `,` or `=` of a value. Texts of errors are
//! upstream's.

use crate::registry::Resource;

/// What a field must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) path: Vec<String>,
    pub(super) value: String,
    pub(super) equal: bool,
}

pub(super) fn parse(resource: &Resource, text: &str) -> Result<Vec<Rule>, String> {
    let mut terms = split(text);
    terms.sort_unstable();
    let mut rules = Vec::new();
    for term in terms.into_iter().filter(|term| !term.is_empty()) {
        let Some((field, value, equal)) = term_parts(term) else {
            return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
        };
        // Says nothing, upstream finds.
        if field.is_empty() && value.is_empty() && equal {
            continue;
        }
        let value = unescape(value).map_err(|why| format!("invalid field selector: {why}"))?;
        rules.push((field, value, equal));
    }
    let rules = rules.into_iter().map(|(field, value, equal)| {
        check_supported(resource, field)?;
        Ok(Rule { path: field.split('.').map(str::to_owned).collect(), value, equal })
    });
    rules.collect()
}

/// The name that a selector asks for, when it asks for one. Upstream's: the first such term in order counts, and a selector that
/// cannot be read asks for none.
pub(crate) fn one_name(text: &str) -> Option<String> {
    let mut terms = split(text);
    terms.sort_unstable();
    let mut found = None;
    for term in terms.into_iter().filter(|term| !term.is_empty()) {
        let (field, value, equal) = term_parts(term)?;
        let value = unescape(value).ok()?;
        if found.is_none() && field == "metadata.name" && equal {
            found = Some(value);
        }
    }
    found.filter(|name| !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '%']))
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<&str> {
    let mut escaped = false;
    text.split(move |c| {
        let ends = c == ',' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
    .collect()
}

/// Field, value as written, and whether they must be equal; parted at the first operator.
fn term_parts(term: &str) -> Option<(&str, &str, bool)> {
    let mut escaped = false;
    for (at, c) in term.char_indices() {
        if escaped || c == '\\' {
            escaped = !escaped;
            continue;
        }
        let rest = term.get(at..)?;
        for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((term.get(..at)?, value, equal));
            }
        }
    }
    None
}

fn unescape(text: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    return Err(format!("invalid escape sequence: \\{}", other.map(String::from).unwrap_or_default()));
                }
            },
            ',' | '=' => return Err(format!("unescaped character in value: {}", u32::from(c))),
            other => plain.push(other),
        }
    }
    Ok(plain)
}

fn check_supported(resource: &Resource, field: &str) -> Result<(), String> {
    // Kinds with rules of their own upstream; the others share the generic ones, and their error.
    let own = resource.is_custom() || !resource.selectable.is_empty();
    let namespaced = resource.namespaced || !own;
    let known = field == "metadata.name"
        || (field == "metadata.namespace" && namespaced)
        || resource.selectable.iter().any(|selectable| *selectable == field);
    match (known, own) {
        (true, _) => Ok(()),
        (false, true) => Err(format!("field label not supported: {field}")),
        (false, false) => {
            Err(format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Flavour;

    fn resource(flavour: Flavour) -> Resource {
        crate::builtin::resources().into_iter().find(|r| r.flavour == flavour).unwrap()
    }

    /// As a kube-apiserver v1.36 answers.
    #[test]
    fn errors_read_like_upstream() {
        let maps = resource(Flavour::ConfigMap);
        let cases = [
            ("spec.x=1", "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
            ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
            ("metadata.name=a=b", "invalid field selector: unescaped character in value: 61"),
            ("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\"),
            ("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x"),
            ("=1", "\"\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(&maps, text).unwrap_err(), wanted, "{text}");
        }
        let namespaces = resource(Flavour::Namespace);
        let error = parse(&namespaces, "metadata.namespace=x").unwrap_err();
        assert_eq!(error, "field label not supported: metadata.namespace");
    }

    #[test]
    fn one_name_is_found_where_a_selector_asks_for_it() {
        let cases = [
            ("metadata.name=x", Some("x")),
            ("metadata.name==x", Some("x")),
            ("metadata.name=x,metadata.name!=y", Some("x")),
            ("spec.a=b,metadata.name=x", Some("x")),
            ("metadata.name!=x", None),
            ("metadata.name=", None),
            ("metadata.name=a/b", None),
            ("metadata.name=..", None),
            ("metadata.name=x,nonsense", None),
            ("", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(one_name(text).as_deref(), wanted, "{text}");
        }
    }

    #[test]
    fn values_may_be_escaped() {
        let rules =
            parse(&resource(Flavour::ConfigMap), "metadata.name!=a\\,b\\=c\\\\,,metadata.namespace==d").unwrap();
        let shown: Vec<_> = rules.iter().map(|r| (r.path.join("."), r.value.as_str(), r.equal)).collect();
        assert_eq!(
            shown,
            [("metadata.name".to_owned(), "a,b=c\\", false), ("metadata.namespace".to_owned(), "d", true)]
        );
    }
}
