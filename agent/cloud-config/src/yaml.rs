//! YAML as cloud-init's reader (PyYAML, YAML 1.1) takes it, kept as text: `0640` stays the four digits that somebody wrote, whatever else it could
//! mean, and only who asks for a flag gets `yes` as one. JSON is read, too. What a document may cost is bounded: aliases are copies, and count.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{Event, Parser, ScalarStyle, Tag};

/// Longest text, in bytes.
pub const MOST_BYTES: usize = 16 << 20;
/// Most values, those that aliases stand for included.
const MOST_NODES: usize = 200_000;
/// Most bytes of all values, those that aliases stand for included.
const MOST_VALUE_BYTES: usize = 64 << 20;
/// Deepest nesting.
const DEEPEST: usize = 64;

/// Why a text is no YAML that is read here. Quotes nothing of the text, which is secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// Not YAML.
    #[error("line {line}: {what}")]
    Syntax {
        /// Where, from 1.
        line: usize,
        /// What, in the parser's words without its quotations.
        what: String,
    },
    /// It would take too much.
    #[error("{0}")]
    TooMuch(String),
    /// An alias without its anchor, a mapping as a key, or base64 that is none.
    #[error("line {line}: {what}")]
    Meaningless {
        /// Where, from 1.
        line: usize,
        /// What.
        what: &'static str,
    },
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// A word, number or text as it was written.
    Scalar {
        /// Its characters, after unescaping.
        text: String,
        /// Without quotes, so that it may mean a number, a flag or nothing.
        plain: bool,
    },
    /// `!!binary`.
    Binary(Vec<u8>),
    /// A list.
    List(Vec<Node>),
    /// A mapping in the order of the text; of a repeated key the last value.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// Nothing at all.
    #[must_use]
    pub fn null() -> Self {
        Self::Scalar { text: String::new(), plain: true }
    }

    /// The value of `key` in a mapping; none also when it is null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Map(entries) = self else { return None };
        entries.iter().find(|(name, _)| name == key).map(|(_, value)| value).filter(|value| !value.is_null())
    }

    /// The entries of a mapping; of anything else none.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Self)> {
        let entries = match self {
            Self::Map(entries) => entries.as_slice(),
            _ => &[],
        };
        entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The items of a list, a single value as a list of one, null as an empty one.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            other if other.is_null() => &[],
            other => std::slice::from_ref(other),
        }
    }

    /// The characters of a scalar; `None` of anything else, and of null.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// Whether it is null in YAML 1.1.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Scalar { text, plain: true } if ["", "~", "null", "Null", "NULL"].contains(&text.as_str()))
    }

    /// A flag: YAML 1.1's words without quotes, and the same in quotes as cloud-init takes them.
    #[must_use]
    pub fn flag(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }

    /// A flag that YAML itself takes for one: unquoted, and no digit.
    #[must_use]
    pub fn is_plain_flag(&self) -> bool {
        matches!(self, Self::Scalar { text, plain: true } if !matches!(text.as_str(), "0" | "1"))
            && self.flag().is_some()
    }

    /// A whole number of YAML 1.1, unquoted or quoted: decimal, `0x` and a leading zero for octal.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        let text = self.text()?.replace('_', "");
        let (sign, digits) = text.strip_prefix('-').map_or((1, text.as_str()), |digits| (-1, digits));
        let (digits, radix) = match digits.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
            None => (digits, 10),
        };
        i64::from_str_radix(digits, radix).ok().map(|number| sign * number)
    }

    /// As JSON, with YAML 1.1's types: what templates and OpenStack's files see.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Scalar { text, plain: true } => {
                if self.is_null() {
                    serde_json::Value::Null
                } else if self.is_plain_flag() {
                    self.flag().into()
                } else if let Some(number) = self.number() {
                    number.into()
                } else {
                    text.clone().into()
                }
            }
            Self::Scalar { text, .. } => text.clone().into(),
            Self::Binary(bytes) => STANDARD.encode(bytes).into(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, value)| (key.clone(), value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into(),
        }
    }

    /// How many values and bytes it takes.
    fn cost(&self) -> (usize, usize) {
        let sum = |(nodes, bytes): (usize, usize), (more, long): (usize, usize)| (nodes + more, bytes + long);
        match self {
            Self::Scalar { text, .. } => (1, text.len()),
            Self::Binary(bytes) => (1, bytes.len()),
            Self::List(items) => items.iter().map(Self::cost).fold((1, 0), sum),
            Self::Map(entries) => {
                entries.iter().map(|(key, value)| sum(value.cost(), (1, key.len()))).fold((1, 0), sum)
            }
        }
    }
}

/// A collection that is being read.
enum Open {
    List(Vec<Node>),
    Map { entries: Vec<(String, Node)>, merged: Vec<(String, Node)>, key: Option<String> },
}

struct Reader {
    open: Vec<(Open, usize)>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    bytes: usize,
    root: Option<Node>,
}

/// The first document of `text`; an empty text is null.
pub fn parse(text: &str) -> Result<Node, YamlError> {
    if text.len() > MOST_BYTES {
        return Err(YamlError::TooMuch(format!("it has {} bytes, {MOST_BYTES} are read", text.len())));
    }
    let mut reader = Reader { open: Vec::new(), anchors: HashMap::new(), nodes: 0, bytes: 0, root: None };
    for next in Parser::new_from_str(text) {
        let (event, span) =
            next.map_err(|error| YamlError::Syntax { line: error.marker().line(), what: unquoted(&error.info()) })?;
        reader.take(event, span.start.line())?;
        if reader.root.is_some() {
            break;
        }
    }
    Ok(reader.root.unwrap_or_else(Node::null))
}

/// The parser quotes single characters and anchors' names.
fn unquoted(what: &str) -> String {
    what.chars().filter(|c| !c.is_control()).take(120).collect()
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), YamlError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let node = scalar(text.into_owned(), style, tag.as_deref(), line)?;
                self.pay(node.cost())?;
                self.put(node, anchor, line)
            }
            Event::Alias(anchor) => {
                let meaningless = YamlError::Meaningless { line, what: "an alias stands for what is not complete yet" };
                let node = self.anchors.get(&anchor).ok_or(meaningless)?;
                let cost = node.cost();
                self.pay(cost)?;
                let node = self.anchors.get(&anchor).cloned().unwrap_or_else(Node::null);
                self.put(node, 0, line)
            }
            Event::SequenceStart(_, anchor, _) => self.push(Open::List(Vec::new()), anchor),
            Event::MappingStart(_, anchor, _) => {
                self.push(Open::Map { entries: Vec::new(), merged: Vec::new(), key: None }, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((open, anchor)) = self.open.pop() else { return Ok(()) };
                let node = match open {
                    Open::List(items) => Node::List(items),
                    Open::Map { mut entries, merged, .. } => {
                        for (key, value) in merged {
                            if entries.iter().all(|(known, _)| *known != key) {
                                entries.push((key, value));
                            }
                        }
                        Node::Map(entries)
                    }
                };
                self.put(node, anchor, line)
            }
            _ => Ok(()),
        }
    }

    fn pay(&mut self, (nodes, bytes): (usize, usize)) -> Result<(), YamlError> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > MOST_NODES {
            return Err(YamlError::TooMuch(format!("it has more than {MOST_NODES} values, counting those of aliases")));
        }
        if self.bytes > MOST_VALUE_BYTES {
            return Err(YamlError::TooMuch(format!(
                "its values have more than {MOST_VALUE_BYTES} bytes, counting aliases"
            )));
        }
        Ok(())
    }

    fn push(&mut self, open: Open, anchor: usize) -> Result<(), YamlError> {
        self.pay((1, 0))?;
        if self.open.len() >= DEEPEST {
            return Err(YamlError::TooMuch(format!("it is nested deeper than {DEEPEST} levels")));
        }
        self.open.push((open, anchor));
        Ok(())
    }

    fn put(&mut self, node: Node, anchor: usize, line: usize) -> Result<(), YamlError> {
        if anchor != 0 {
            // kept beside the document, so it costs again
            self.pay(node.cost())?;
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some((Open::List(items), _)) => items.push(node),
            Some((Open::Map { entries, merged, key }, _)) => match key.take() {
                None => {
                    let Node::Scalar { text, .. } = node else {
                        return Err(YamlError::Meaningless { line, what: "a key is no word" });
                    };
                    *key = Some(text);
                }
                Some(known) if known == "<<" => merge(merged, node),
                Some(known) => match entries.iter_mut().find(|(name, _)| *name == known) {
                    Some((_, value)) => *value = node,
                    None => entries.push((known, node)),
                },
            },
        }
        Ok(())
    }
}

/// `<<`: a mapping or a list of them; the first wins.
fn merge(merged: &mut Vec<(String, Node)>, node: Node) {
    match node {
        Node::Map(entries) => entries.into_iter().for_each(|(key, value)| {
            if merged.iter().all(|(known, _)| *known != key) {
                merged.push((key, value));
            }
        }),
        Node::List(items) => items.into_iter().for_each(|item| merge(merged, item)),
        _ => {}
    }
}

fn scalar(text: String, style: ScalarStyle, tag: Option<&Tag>, line: usize) -> Result<Node, YamlError> {
    let tag = tag.map(ToString::to_string).unwrap_or_default();
    if tag.ends_with("binary") {
        let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let bytes = STANDARD.decode(digits);
        return bytes.map(Node::Binary).map_err(|_| YamlError::Meaningless { line, what: "!!binary is no base64" });
    }
    Ok(Node::Scalar { text, plain: matches!(style, ScalarStyle::Plain) && !tag.ends_with("str") })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn scalars_stay_as_they_were_written() {
        let node =
            parse("a: 0640\nb: 'yes'\nc: yes\nd: ~\ne: \"null\"\nf: !!binary aGk=\ng: 0x10\nh: !!str 12\n").unwrap();
        assert_eq!(node.get("a").unwrap().text(), Some("0640"));
        assert_eq!(node.get("a").unwrap().number(), Some(0o640));
        assert_eq!((node.get("b").unwrap().is_plain_flag(), node.get("b").unwrap().flag()), (false, Some(true)));
        assert!(node.get("c").unwrap().is_plain_flag());
        assert_eq!(node.get("d"), None);
        assert_eq!(node.get("e").unwrap().text(), Some("null"));
        assert_eq!(node.get("f"), Some(&Node::Binary(b"hi".to_vec())));
        assert_eq!(node.get("g").unwrap().number(), Some(16));
        assert_eq!(node.get("h").unwrap().to_json(), serde_json::json!("12"));
    }

    #[test]
    fn anchors_merges_and_repeated_keys_are_as_in_pyyaml() {
        let node = parse("base: &b {x: 1, y: 2}\nd: {<<: *b, y: 3}\nd2: *b\nk: 1\nk: 2\n").unwrap();
        assert_eq!(node.get("d").unwrap().to_json(), serde_json::json!({"x": 1, "y": 3}));
        assert_eq!(node.get("d2").unwrap().to_json(), serde_json::json!({"x": 1, "y": 2}));
        assert_eq!(node.get("k").unwrap().text(), Some("2"));
        assert!(parse("").unwrap().is_null());
        assert_eq!(
            parse(r#"{"a": [1, "b", null, true]}"#).unwrap().to_json(),
            serde_json::json!({"a": [1, "b", null, true]})
        );
    }

    #[test]
    fn bombs_are_reasons() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", vec![before; 9].join(", "));
        }
        assert!(matches!(parse(&bomb), Err(YamlError::TooMuch(_))));
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&format!("{}x", "- ".repeat(5000))).is_err());
        assert!(parse("a: &a [*a]\n").is_err());
        let wide = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1 << 20), vec!["*a"; 100].join(","));
        assert!(matches!(parse(&wide), Err(YamlError::TooMuch(_))));
        assert!(parse("? [a]\n: b\n").is_err());
    }

    #[test]
    fn an_error_quotes_no_value() {
        for text in
            ["a: [s3cr3t\n", "a: 's3cr3t\n", "a: s3cr3t: b\n", "s3cr3t\n\tb: c\n", "a: &s3cr3t b\nc: *s3cr3tx\n"]
        {
            if let Err(error) = parse(text) {
                assert!(!error.to_string().contains("s3cr3t"), "{error}");
            }
        }
    }

    proptest! {
        #[test]
        fn hostile_text_is_an_error_and_no_panic(text in "[-\\[\\]{}:#&*!|>'\"%<? a-c0-9\n]{0,200}") {
            let _ = parse(&text).map(|node| node.to_json());
        }
    }
}
