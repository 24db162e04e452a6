//! GRUB's variables: its environment block, and what `$name` becomes.

use std::collections::BTreeMap;

/// Variables by name.
pub type Variables = BTreeMap<String, String>;

/// Longest result of an expansion, in bytes; no kernel takes a longer command line.
const LONGEST: usize = 64 << 10;

/// Reads `grubenv`: `name=value` lines, the rest is padding.
#[must_use]
pub fn parse(text: &str) -> Variables {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Replaces `$name` and `${name}`; unknown ones become nothing, as in GRUB.
#[must_use]
pub fn expand(text: &str, variables: &Variables) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = match after.strip_prefix('{') {
            Some(inside) => inside.split_once('}').unwrap_or((inside, "")),
            None => after.split_at(after.find(|c| !word(c)).unwrap_or(after.len())),
        };
        out.push_str(variables.get(name).map_or("", String::as_str));
        if out.len() > LONGEST {
            break;
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_and_unknown_ones_vanish() {
        let env = parse("# GRUB Environment Block\nsaved_entry=0\nkernelopts=root=UUID=1 ro\n######");
        assert_eq!(env.get("kernelopts").unwrap(), "root=UUID=1 ro");
        for (text, expected) in [
            ("$kernelopts quiet", "root=UUID=1 ro quiet"),
            ("${kernelopts}", "root=UUID=1 ro"),
            ("a $tuned_params b", "a  b"),
            ("$", ""),
            ("${open", ""),
            ("plain", "plain"),
        ] {
            assert_eq!(expand(text, &env), expected, "{text}");
        }
    }
}
