//! A site's own script in the place of ours: a URL to go on to, or a text with a few names filled in.

use super::value::{InvalidValue, check_url};

const MAX_TEXT: usize = 65_536;

/// A script given by an operator, checked for what would make iPXE run something else than was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CustomScript {
    /// Fetched by iPXE itself, in the place of our script.
    Url(String),
    /// A template. It may name `{{ boot_id }}`, `{{ kernel }}`, `{{ initrd }}`, `{{ kernel_args }}` and
    /// `{{ server }}`; any other name is an error, and so nothing is served.
    Text(String),
}

impl std::str::FromStr for CustomScript {
    type Err = InvalidValue;

    /// A text that begins with `#!ipxe` is a script; anything else must be a URL.
    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text.len() > MAX_TEXT {
            return Err(InvalidValue::TooLarge(text.len()));
        }
        let text = text.trim_start_matches('\u{feff}');
        match text.lines().next() {
            Some(first) if first.trim_end() == "#!ipxe" => Ok(Self::Text(text.replace("\r\n", "\n"))),
            Some(_) if text.trim_end().contains('\n') => Err(InvalidValue::NoMagic),
            _ => {
                let url = text.trim_end();
                check_url(url)?;
                Ok(Self::Url(url.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_urls() {
        let parse = str::parse::<CustomScript>;
        assert_eq!(parse("https://x/y.ipxe\n"), Ok(CustomScript::Url("https://x/y.ipxe".into())));
        assert_eq!(parse("#!ipxe\r\nshell\r\n"), Ok(CustomScript::Text("#!ipxe\nshell\n".into())));
        assert_eq!(parse("echo x\nshell\n"), Err(InvalidValue::NoMagic));
        assert!(matches!(parse("ftp:// bad"), Err(InvalidValue::Url(_))));
        assert!(matches!(parse(""), Err(InvalidValue::Url(_))));
        assert_eq!(parse(&format!("#!ipxe\n{}", "x".repeat(MAX_TEXT))), Err(InvalidValue::TooLarge(MAX_TEXT + 7)));
    }
}
