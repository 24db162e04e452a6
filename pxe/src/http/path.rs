//! Request targets as paths. Firmware follows no redirect, so what other servers would redirect is normalised here, and
//! what could leave the tree never gets past this file.

/// The segments of a target such as `/b//%30/kernel?x`: decoded, without empty ones and `.`. `None` for what is no path
/// of ours: no UTF-8, control characters, a backslash, `..`.
pub(crate) fn segments(target: &str) -> Option<Vec<String>> {
    // RFC 9112, 3.2.2: a server takes the absolute form too.
    let path = match target.split_once("://") {
        Some((scheme, rest)) if scheme.bytes().all(|octet| octet.is_ascii_alphabetic()) => {
            rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/")
        }
        _ => target,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if !path.starts_with('/') {
        return None;
    }
    let decoded = String::from_utf8(percent_decoded(path)?).ok()?;
    if decoded.chars().any(|character| character.is_control() || character == '\\') {
        return None;
    }
    let parts: Vec<String> = decoded.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
    (!parts.iter().any(|part| part == "..")).then_some(parts)
}

fn percent_decoded(path: &str) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut octets = path.bytes();
    while let Some(octet) = octets.next() {
        decoded.push(if octet == b'%' { digit(octets.next()?)? * 16 + digit(octets.next()?)? } else { octet });
    }
    Some(decoded)
}

fn digit(octet: u8) -> Option<u8> {
    char::from(octet).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(target: &str) -> Option<String> {
        segments(target).map(|parts| parts.join("|"))
    }

    #[test]
    fn targets_and_their_segments() {
        for (target, expected) in [
            ("/", Some("")),
            ("/ipxe.efi", Some("ipxe.efi")),
            ("//ipxe//./ipxe.efi", Some("ipxe|ipxe.efi")),
            ("/ipxe/ipxe.efi/", Some("ipxe|ipxe.efi")),
            ("/a?x=/../y", Some("a")),
            ("/a#b", Some("a")),
            ("http://10.0.0.1:8080/a/b", Some("a|b")),
            ("http://10.0.0.1", Some("")),
            ("/%62%2F%30", Some("b|0")),
            ("/boot/52:54:00:12:34:56/boot.ipxe", Some("boot|52:54:00:12:34:56|boot.ipxe")),
            ("/b/x:80//y", Some("b|x:80|y")),
            ("/a/http://x", Some("a|http:|x")),
            ("/...", Some("...")),
            ("/..", None),
            ("/a/../b", None),
            ("/%2e%2e/b", None),
            ("/a%2f..%2fb", None),
            ("/a%5c..", None),
            ("/a\\b", None),
            ("/a%00", None),
            ("/a%0d%0ab", None),
            ("/%ff", None),
            ("/%", None),
            ("/%4", None),
            ("/%+1", None),
            ("*", None),
            ("a/b", None),
            ("", None),
        ] {
            assert_eq!(joined(target).as_deref(), expected, "{target}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_leaves_the_tree_comes_out(target in "[/.%a-f0-9\\\\:?]{0,40}") {
            for part in segments(&target).unwrap_or_default() {
                prop_assert!(!part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']));
            }
        }

        #[test]
        fn what_was_encoded_comes_back(parts in prop::collection::vec("[^/\\\\\\p{C}.]{1,8}", 0..5)) {
            let encoded: String = parts.iter().map(|part| {
                let octets: String = part.bytes().map(|octet| format!("%{octet:02X}")).collect();
                format!("/{octets}")
            }).collect();
            prop_assert_eq!(segments(&format!("/{encoded}")), Some(parts));
        }
    }
}
