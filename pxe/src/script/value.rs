//! What may stand in a script. iPXE has no quotes and no escapes: a line break begins the next command, `${` a setting's
//! value, and a lone `||`, `&&`, `;` or `#` ends the command. So what could do any of that is refused.

/// A text that cannot be made part of a script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidValue {
    /// A line break or the like.
    #[error("{0} contain a line break or another control character, which would begin another command of the script")]
    ControlCharacter(&'static str),
    /// `${`.
    #[error("{0} contain `${{`, which iPXE would replace by a setting")]
    Setting(&'static str),
    /// A word that ends a command.
    #[error("{what} contain the word `{word}`, which ends a command of iPXE")]
    Separator {
        /// What holds it.
        what: &'static str,
        /// The word.
        word: String,
    },
    /// `ip=` for a device without a method.
    #[error("the kernel argument `{0}` names a device and no method: add one, such as `:dhcp`")]
    IpWithoutMethod(String),
    /// `initrd=` by hand.
    #[error("the kernel argument `{0}` is set by the boot script itself: leave it out")]
    OwnArgument(String),
    /// Not one plain URL.
    #[error("`{0}` is no http, https or tftp URL without spaces")]
    Url(String),
    /// A script without its first line.
    #[error("the custom script does not begin with a line `#!ipxe`")]
    NoMagic,
    /// A script that is too large to be one.
    #[error("the custom script has {0} bytes; at most 65536 are served")]
    TooLarge(usize),
}

/// `text` can stand within a line; `what` names it in the error.
pub(crate) fn check_words(what: &'static str, text: &str) -> Result<(), InvalidValue> {
    if text.chars().any(char::is_control) {
        return Err(InvalidValue::ControlCharacter(what));
    }
    if text.contains("${") {
        return Err(InvalidValue::Setting(what));
    }
    let separator = |word: &&str| matches!(*word, "||" | "&&" | ";") || word.starts_with('#');
    match text.split_whitespace().find(separator) {
        Some(word) => Err(InvalidValue::Separator { what, word: word.chars().take(32).collect() }),
        None => Ok(()),
    }
}

/// `text` is one URL that iPXE can fetch (RFC 3986 characters only).
pub(crate) fn check_url(text: &str) -> Result<(), InvalidValue> {
    let known = ["http://", "https://", "tftp://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let legal = |octet: u8| octet.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&octet);
    let fits = known.is_some_and(|rest| !rest.starts_with(['/', ':', '?', '#']) && !rest.is_empty());
    if fits && text.len() <= 1024 && text.bytes().all(legal) {
        return Ok(());
    }
    Err(InvalidValue::Url(text.chars().take(80).flat_map(char::escape_debug).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_a_command_is_refused() {
        for good in ["", "console=ttyS0,115200n8 quiet", "a=||b c#d x;y", "k=\"a b\"", "ü"] {
            assert_eq!(check_words("the arguments", good), Ok(()), "{good}");
        }
        for bad in ["a\nexit", "a\r", "a\0", "a\u{85}b", "x=${mac}", "a || exit", "a && b", "a ; b", "a # b", "#b"] {
            assert!(check_words("the arguments", bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn urls() {
        for good in ["http://10.0.0.1/x.ipxe", "https://[fd00::1]:8443/a/b?c=d", "tftp://boot.example/x"] {
            assert_eq!(check_url(good), Ok(()), "{good}");
        }
        for bad in
            ["", "ftp:// bad", "ftp://x/y", "http://", "http:///x", "http://a b", "http://a/\n", "/x", "http://a/${x}"]
        {
            assert!(check_url(bad).is_err(), "{bad}");
        }
    }
}
