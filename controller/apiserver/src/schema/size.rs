//! How large the values of a schema can be, and how small when written: what the cost of a rule is estimated from.
//! Upstream's numbers, since they decide which definitions are taken.

use super::format::Format;
use super::{Kind, Schema};

/// Bytes of the largest request, by which everything without a bound of its own is bounded.
pub(crate) const LARGEST_REQUEST: u64 = 3 * 1024 * 1024;
/// Most bytes of one character.
const WIDEST: u64 = 4;
/// Most bytes of a time or of a duration, with its quotes.
const LONGEST_TIME: u64 = 32;
/// Bytes of a date with its quotes.
const DATE: u64 = 12;

impl Schema {
    /// Most characters, items or keys of a value; 0 for what has no size.
    pub(crate) fn most_elements(&self) -> u64 {
        let bounds = &self.bounds;
        // Without the two quotes or brackets.
        let whole_request = LARGEST_REQUEST - 2;
        if self.int_or_string {
            return bounds.max_length.map_or(whole_request, |most| most.saturating_mul(WIDEST));
        }
        match self.kind {
            Some(Kind::Array) => {
                let smallest = self.items.as_deref().map_or(0, Self::smallest);
                bounds.max_items.unwrap_or(whole_request / (smallest + 1))
            }
            Some(Kind::Object) => {
                let Some(value) = self.any_key() else { return 0 };
                bounds.max_properties.unwrap_or(whole_request / (value.smallest() + 6))
            }
            Some(Kind::String) => match self.format() {
                Some(Format::Byte) => bounds.max_length.unwrap_or(whole_request),
                Some(Format::Duration | Format::DateTime) => LONGEST_TIME,
                Some(Format::Date) => DATE,
                _ => match bounds.max_length {
                    Some(most) => most.saturating_mul(WIDEST),
                    None if self.allowed.is_empty() => whole_request,
                    None => {
                        let texts = self.allowed.iter().filter_map(|allowed| allowed.as_str());
                        texts.map(|text| text.len() as u64).max().unwrap_or_default()
                    }
                },
            },
            _ => 0,
        }
    }

    /// Fewest bytes of a value when written as JSON.
    pub(crate) fn smallest(&self) -> u64 {
        if self.int_or_string {
            return 1;
        }
        match self.kind {
            Some(Kind::Object) if self.any_key().is_none() => {
                let required = self.required.iter().filter_map(|name| Some((name, self.properties.get(name)?)));
                // What has a default need not be sent, and what rules cannot see is not counted.
                let sent = required.filter(|(_, inner)| inner.default.is_none() && inner.is_seen_by_rules());
                2 + sent.map(|(name, inner)| name.len() as u64 + inner.smallest() + 4).sum::<u64>()
            }
            Some(Kind::Object | Kind::Array) => 2,
            Some(Kind::String) => match self.format() {
                Some(Format::Duration) => 3,
                Some(Format::Date) => DATE,
                Some(Format::DateTime) => 21,
                _ => 2,
            },
            Some(Kind::Boolean) => 4,
            _ => 1,
        }
    }

    fn is_seen_by_rules(&self) -> bool {
        match self.kind {
            _ if self.int_or_string => true,
            None => false,
            Some(Kind::Array) => self.items.as_deref().is_some_and(Self::is_seen_by_rules),
            Some(Kind::Object) => self.any_key().is_none_or(Self::is_seen_by_rules),
            Some(_) => true,
        }
    }

    /// By how much a collection multiplies what is in it; `None` when there is no bound, 1 for what is no collection.
    pub(crate) fn multiplies(&self) -> Option<u64> {
        match self.kind {
            Some(Kind::Array) => self.bounds.max_items,
            Some(Kind::Object) if self.any_key().is_some() => self.bounds.max_properties,
            _ => Some(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_upstream_s() {
        let cases = [
            (json!({"type": "string"}), 3_145_726, 2),
            (json!({"type": "string", "maxLength": 10}), 40, 2),
            (json!({"type": "string", "enum": ["a", "abc"]}), 3, 2),
            (json!({"type": "string", "format": "date-time"}), 32, 21),
            (json!({"type": "boolean"}), 0, 4),
            (json!({"type": "array", "items": {"type": "string"}}), 1_048_575, 2),
            (json!({"type": "array", "items": {"type": "string"}, "maxItems": 7}), 7, 2),
            (json!({"type": "object", "additionalProperties": {"type": "string"}}), 393_215, 2),
            (json!({"x-kubernetes-int-or-string": true}), 3_145_726, 1),
            (
                json!({"type": "object", "required": ["ab", "d"], "properties": {
                    "ab": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string", "default": "x"}}}),
                0,
                10,
            ),
        ];
        for (schema, most, smallest) in cases {
            let parsed = Schema::parse(&schema).unwrap();
            assert_eq!((parsed.most_elements(), parsed.smallest()), (most, smallest), "{schema}");
        }
    }
}
