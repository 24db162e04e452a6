//! The way out of a console: `~.` at the beginning of a line, as ssh and ipmitool have it.

/// What was typed so far, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// At the beginning of a line.
    LineBegins,
    /// A tilde at the beginning of a line, which is held back.
    Tilde,
    /// Anywhere else.
    Within,
}

/// What comes of typed characters.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Typed {
    /// What goes to the server.
    pub(super) send: Vec<u8>,
    /// Whether the console is to end.
    pub(super) leave: bool,
}

impl Escape {
    pub(super) fn typed(&mut self, keys: &[u8]) -> Typed {
        let mut send = Vec::with_capacity(keys.len() + 1);
        for &key in keys {
            *self = match (*self, key) {
                (Self::Tilde, b'.') => return Typed { send, leave: true },
                (Self::LineBegins, b'~') => Self::Tilde,
                // twice is once: for a tilde that is meant
                (Self::Tilde, b'~') => {
                    send.push(key);
                    Self::Within
                }
                (before, key) => {
                    if before == Self::Tilde {
                        send.push(b'~');
                    }
                    send.push(key);
                    if matches!(key, b'\r' | b'\n') { Self::LineBegins } else { Self::Within }
                }
            };
        }
        Typed { send, leave: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tilde_that_begins_a_line_escapes() {
        for (keys, sent, leave) in [
            (&["~."][..], "", true),
            (&["ls\r~."], "ls\r", true),
            (&["ls\r~", "."], "ls\r", true),
            (&["ls ~."], "ls ~.", false),
            (&["~~."], "~.", false),
            (&["~x\r"], "~x\r", false),
            (&["~", "\r~."], "~\r", true),
            (&["a\n~.rest"], "a\n", true),
        ] {
            let mut escape = Escape::LineBegins;
            let (mut send, mut left) = (Vec::new(), false);
            for part in keys {
                let typed = escape.typed(part.as_bytes());
                send.extend(typed.send);
                left |= typed.leave;
            }
            assert_eq!((String::from_utf8(send).unwrap().as_str(), left), (sent, leave), "{keys:?}");
        }
    }
}
