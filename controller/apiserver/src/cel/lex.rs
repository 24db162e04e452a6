//! Source into tokens.

use super::literal;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Ident(String),
    Int(u64),
    UInt(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Punct(&'static str),
    End,
}

impl Token {
    /// As an error shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Ident(name) => format!("'{name}'"),
            Self::Int(number) => format!("'{number}'"),
            Self::UInt(number) => format!("'{number}u'"),
            Self::Double(number) => format!("'{number}'"),
            Self::Text(_) => "string".to_owned(),
            Self::Bytes(_) => "bytes".to_owned(),
            Self::Punct(text) => format!("'{text}'"),
            Self::End => "'<EOF>'".to_owned(),
        }
    }
}

/// A problem at a character of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issue {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Issue {
    /// Where an issue with the whole source is.
    pub(super) const NOWHERE: usize = usize::MAX;
}

/// Words that are no names, though nothing is done with them.
pub(super) const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Longest first.
const PUNCTS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "[?", ".?", "{", "}", "[", "]", "(", ")", ".", ",", "-", "!", "?", ":", "+",
    "*", "/", "%", "<", ">",
];

/// All tokens with the character each starts at, ended by [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, Issue> {
    let chars: Vec<char> = source.chars().collect();
    let mut found = Vec::new();
    let mut at = 0_usize;
    while let Some(c) = chars.get(at).copied() {
        let rest = chars.get(at..).unwrap_or_default();
        if c.is_whitespace() {
            at = at.saturating_add(1);
            continue;
        }
        if rest.starts_with(&['/', '/']) {
            at = at.saturating_add(rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()));
            continue;
        }
        let (token, length) = one(rest).map_err(|message| Issue { at, message: format!("Syntax error: {message}") })?;
        found.push((at, token));
        at = at.saturating_add(length.max(1));
    }
    found.push((at, Token::End));
    Ok(found)
}

fn one(rest: &[char]) -> Result<(Token, usize), String> {
    let c = rest.first().copied().unwrap_or_default();
    if let Some(found) = literal::quoted(rest)? {
        return Ok(found);
    }
    if c.is_ascii_alphabetic() || c == '_' {
        let name: String = rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').collect();
        let length = name.len();
        return Ok((Token::Ident(name), length));
    }
    let next_is_digit = rest.get(1).is_some_and(char::is_ascii_digit);
    if c.is_ascii_digit() || (c == '.' && next_is_digit) {
        return literal::number(rest);
    }
    let text: String = rest.iter().take(2).collect();
    let punct = PUNCTS.iter().find(|punct| text.starts_with(**punct));
    punct.map(|punct| (Token::Punct(punct), punct.len())).ok_or_else(|| format!("token recognition error at: '{c}'"))
}
