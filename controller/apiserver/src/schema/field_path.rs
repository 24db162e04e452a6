//! Paths that definitions name fields by (`.spec.type`, `.metadata['a.b']`): of rules, and of selectable fields.

use super::Schema;

/// Finds the field that a path names and answers the path as `field.Path` writes it, with the field's schema.
///
/// # Errors
/// What is wrong with the path, in upstream's words.
pub(crate) fn find<'s>(schema: &'s Schema, path: &str, brackets: bool) -> Result<(String, &'s Schema), String> {
    let mut at = schema;
    let mut shown = String::new();
    let mut tokens = tokens(path).into_iter();
    while let Some(token) = tokens.next() {
        let name = match token.as_str() {
            "[" if !brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                let name = unescaped(inner)?;
                match tokens.next().as_deref() {
                    Some("]") => name,
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            "." => tokens.next().ok_or("unexpected end of JSON path")?,
            other => return Err(format!("expected [ or . but got: {other}")),
        };
        let missing = "does not refer to a valid field";
        if at.properties.is_empty() {
            at = at.any_key().ok_or(missing)?;
            shown.push_str(&format!("[{name}]"));
        } else {
            at = at.property(&name).ok_or(missing)?;
            if !shown.is_empty() {
                shown.push('.');
            }
            shown.push_str(&name);
        }
    }
    Ok((shown, at))
}

/// Dots, brackets, quoted strings, and what is between.
fn tokens(path: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    let mut before = ' ';
    for c in path.chars() {
        if quoted {
            current.push(c);
            if c == '\'' && before != '\\' && current.chars().count() > 1 {
                quoted = false;
                found.push(std::mem::take(&mut current));
            }
        } else if matches!(c, '.' | '[' | ']') {
            if !current.is_empty() {
                found.push(std::mem::take(&mut current));
            }
            found.push(c.to_string());
        } else {
            quoted = c == '\'' && current.is_empty();
            current.push(c);
        }
        before = c;
    }
    if !current.is_empty() {
        found.push(current);
    }
    found
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\'' | '\\')) => c,
            other => return Err(format!("invalid string literal: invalid escape char \\{}", other.unwrap_or(' '))),
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_found_or_refused_in_upstreams_words() {
        let schema = Schema::parse(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string"}, "a.b": {"type": "integer"},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
            }},
        }}))
        .unwrap();
        let found = |path: &str, brackets: bool| find(&schema, path, brackets).map(|(path, _)| path);
        assert_eq!(found(".spec.a", false), Ok("spec.a".to_owned()));
        assert_eq!(found(".spec['a.b']", true), Ok("spec.a.b".to_owned()));
        assert_eq!(found(".spec.map['x.y']", true), Ok("spec.map[x.y]".to_owned()));
        for (path, brackets, why) in [
            (".spec.z", true, "does not refer to a valid field"),
            (".spec.a.b", true, "does not refer to a valid field"),
            ("spec", true, "expected [ or . but got: spec"),
            (".spec['a']", false, "array notation is not allowed"),
            (".spec[a]", true, "expected single quoted string but got a"),
            (".", true, "unexpected end of JSON path"),
        ] {
            assert_eq!(found(path, brackets), Err(why.to_owned()), "{path}");
        }
    }
}
