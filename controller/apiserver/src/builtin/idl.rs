//! The messages of the built-in kinds, read once from `messages.idl`: what fields they have, under which protobuf number,
//! and how lists and maps merge. Knows nothing of requests or storage.
//!
//! A row is `number name type flags…`. A type is `string bool int32 int64 double bytes time microtime rawjson strings` or a
//! message, with `[]` (a list of) or `{}` (a map from strings to) before it. Flags: `required` (to OpenAPI: the
//! rules of a kind say what is really required), `zero` (shown with its zero value in OpenAPI), `inline` (its fields
//! are the message's own in JSON), `ptr` (a scalar that is told apart from its zero value), `always` (a list that is shown
//! when it is empty), `enum=` (the only values, to OpenAPI), `list=` and `map=` (server-side apply), `merge=` and `strategy=` (strategic patches).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::gotext;

const TEXT: &str = include_str!("messages.idl");

static MESSAGES: LazyLock<BTreeMap<&'static str, Message>> = LazyLock::new(|| {
    let mut messages = BTreeMap::new();
    let mut current: Option<Message> = None;
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        if let Some(head) = line.strip_prefix("message ") {
            messages.extend(current.take().map(|done: Message| (done.name, done)));
            let (name, flags) = head.split_once(' ').unwrap_or((head, ""));
            current = Some(Message { name, atomic: flags == "map-type=atomic", fields: Vec::new() });
        } else if let (Some(message), Some(field)) = (&mut current, Field::parse(line)) {
            message.fields.push(field);
        }
    }
    messages.extend(current.take().map(|done| (done.name, done)));
    messages
});

/// The fields of a message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    /// One value to server-side apply.
    pub(crate) atomic: bool,
    pub(crate) fields: Vec<Field>,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) many: Many,
    pub(crate) kind: Kind,
    flags: &'static str,
}

/// How often a field's value is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Many {
    One,
    List,
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    Time,
    MicroTime,
    /// Any JSON, kept as it is.
    Json,
    /// A list of strings inside a map: protobuf wraps it in a message.
    Texts,
    Message(&'static str),
}

impl Message {
    /// The message of this name, such as `core.v1.Secret`.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        MESSAGES.get(name)
    }

    /// The field with this JSON name, also one of an inlined message.
    pub(crate) fn field(&self, name: &str) -> Option<&'static Field> {
        let own = Self::named(self.name)?.fields.iter().find(|field| field.name == name && !field.is_inline());
        own.or_else(|| self.inlined().find_map(|inner| inner.field(name)))
    }

    /// The messages whose fields are this one's own in JSON.
    pub(crate) fn inlined(&self) -> impl Iterator<Item = &'static Self> {
        self.fields.iter().filter(|field| field.is_inline()).filter_map(|field| field.message())
    }

    /// A value of this message as Go writes it: JSON with the fields in the message's order.
    pub(crate) fn in_order(&self, value: &Map<String, Value>) -> String {
        let shown = |field: &Field| {
            let found = value.get(field.name)?;
            Some(format!("{}:{}", gotext::quoted(field.name), field.in_order(found)))
        };
        format!("{{{}}}", self.fields.iter().filter_map(shown).collect::<Vec<_>>().join(","))
    }

    /// The name without the kind: `core.v1`.
    pub(crate) fn package(&self) -> &'static str {
        self.name.rsplit_once('.').map_or(self.name, |(package, _)| package)
    }

    /// The package of the type in Go: `core`.
    pub(crate) fn go_package(&self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// How Go calls the type: the name without its package.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

impl Field {
    fn parse(line: &'static str) -> Option<Self> {
        let (number, rest) = line.trim().split_once(' ')?;
        let (name, rest) = rest.split_once(' ')?;
        let (kind, flags) = rest.split_once(' ').unwrap_or((rest, ""));
        let (many, kind) = match (kind.strip_prefix("[]"), kind.strip_prefix("{}")) {
            (Some(inner), _) => (Many::List, inner),
            (_, Some(inner)) => (Many::Map, inner),
            _ => (Many::One, kind),
        };
        let kind = match kind {
            "string" => Kind::Text,
            "bool" => Kind::Bool,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "double" => Kind::Double,
            "bytes" => Kind::Bytes,
            "time" => Kind::Time,
            "microtime" => Kind::MicroTime,
            "rawjson" => Kind::Json,
            "strings" => Kind::Texts,
            message => Kind::Message(message),
        };
        Some(Self { number: number.parse().ok()?, name, many, kind, flags })
    }

    /// The message this field holds.
    pub(crate) fn message(&self) -> Option<&'static Message> {
        match self.kind {
            Kind::Message(name) => Message::named(name),
            _ => None,
        }
    }

    fn in_order(&self, value: &Value) -> String {
        match (self.message(), value) {
            (Some(message), Value::Object(fields)) if self.many != Many::Map => message.in_order(fields),
            (Some(_), Value::Array(items)) => {
                format!("[{}]", items.iter().map(|item| self.in_order(item)).collect::<Vec<_>>().join(","))
            }
            _ => gotext::json(value),
        }
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.has("inline")
    }

    pub(crate) fn is_required(&self) -> bool {
        self.has("required")
    }

    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.split(' ').any(|found| found == flag)
    }

    /// The value of a `name=value` flag.
    pub(crate) fn flag(&self, name: &str) -> Option<&'static str> {
        self.flags.split(' ').find_map(|flag| flag.split_once('=').filter(|(key, _)| *key == name).map(|(_, v)| v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_read_and_every_message_is_there() {
        let rows = TEXT.lines().filter(|line| line.starts_with("  ")).count();
        assert_eq!(MESSAGES.values().map(|message| message.fields.len()).sum::<usize>(), rows);
        for message in MESSAGES.values() {
            for field in &message.fields {
                assert!(!matches!(field.kind, Kind::Message(_)) || field.message().is_some(), "{}", field.name);
            }
        }
    }

    #[test]
    fn inlined_fields_are_the_message_s_own() {
        let rule = Message::named("admissionregistration.v1.RuleWithOperations").unwrap();
        assert_eq!(rule.field("apiGroups").unwrap().flag("list"), Some("atomic"));
        assert!(rule.field("rule").is_none() && rule.field("operations").is_some());
    }
}
