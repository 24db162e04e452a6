//! Whether the rules of a definition could cost too much, by upstream's estimates and limits.

use crate::schema::{LARGEST_REQUEST, Schema};
use crate::status::Cause;

/// Most that one rule may cost.
const MOST_EACH: u64 = 10_000_000;
/// Most that all rules of a schema may cost together.
const MOST_TOGETHER: u64 = 100_000_000;
/// So many of the rules that are to blame are named.
const NAMED: usize = 4;

/// What the rules of a schema can cost, as far as they have been looked at.
#[derive(Debug, Default)]
pub(super) struct Costs {
    total: u64,
    /// Those that matter, the most expensive first.
    expensive: Vec<(u64, String)>,
    /// Single rules were as expensive before, and are tolerated.
    is_unchanged: bool,
}

impl Costs {
    /// For a schema that may have been there before.
    pub(super) fn new(is_unchanged: bool) -> Self {
        Self { is_unchanged, ..Self::default() }
    }

    /// Counts an expression (`what` in errors) that can cost so much; answers why it is refused for that alone.
    pub(super) fn add(&mut self, path: &str, what: &str, cost: u64) -> Option<Cause> {
        self.total = self.total.saturating_add(cost);
        if cost >= MOST_TOGETHER / 100 {
            self.expensive.push((cost, path.to_owned()));
            self.expensive.sort_by_key(|(cost, _)| std::cmp::Reverse(*cost));
            self.expensive.truncate(NAMED);
        }
        let exceeds = cost > MOST_EACH && !self.is_unchanged;
        exceeds.then(|| Cause::forbidden(path, &exceeded(what, cost, MOST_EACH)))
    }

    /// Why the schema at `path` is refused for all of them together.
    pub(super) fn causes(&self, path: &str) -> Vec<Cause> {
        if self.total <= MOST_TOGETHER {
            return Vec::new();
        }
        let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let named = self.expensive.iter().map(|(_, path)| Cause::forbidden(path, detail));
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        named.chain([Cause::forbidden(path, &exceeded(what, self.total, MOST_TOGETHER))]).collect()
    }
}

/// How often a rule at a schema can run: as often as the schemas above allow it, or as often as it fits a request.
pub(super) fn runs(schema: &Schema, allowed: Option<u64>) -> u64 {
    allowed.unwrap_or_else(|| LARGEST_REQUEST / (schema.smallest() + 1))
}

fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_costs_too_much_is_told() {
        let mut costs = Costs::default();
        assert!(costs.add("a", "estimated rule cost", MOST_EACH).is_none());
        let cause = costs.add("b", "estimated rule cost", MOST_EACH + 1_000_000).unwrap();
        assert!(
            cause.line().starts_with("b: Forbidden: estimated rule cost exceeds budget by factor of 1.100000x (try")
        );
        assert!(costs.causes("s").is_empty());
        costs.is_unchanged = true;
        assert!(costs.add("c", "estimated rule cost", u64::MAX).is_none());
        let lines: Vec<String> = costs.causes("s").iter().map(Cause::line).collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[0].starts_with("c: Forbidden: contributed to") && lines[3].contains("more than 100x"));
    }

    /// The estimates of upstream's own compiler.
    #[test]
    fn rules_are_estimated_as_upstream_does() {
        let text = || json!({"type": "string"});
        let list = |items: serde_json::Value| json!({"type": "array", "items": items});
        let map = |values: serde_json::Value| json!({"type": "object", "additionalProperties": values});
        let of = |kind: &str| json!({"type": kind});
        let formatted = |format: &str| json!({"type": "string", "format": format});
        let bounded = |mut schema: serde_json::Value, bound: &str, most: u64| {
            schema[bound] = most.into();
            schema
        };
        let cases = [
            (list(of("number")), "self.all(x, true)", 4_718_591),
            (bounded(list(of("number")), "maxItems", 10), "self.all(x, true)", 32),
            (list(text()), "self.all(x, true)", 3_145_727),
            (list(of("boolean")), "self.all(x, true)", 1_887_437),
            (list(list(of("number"))), "self.all(x, true)", 3_145_727),
            (map(of("number")), "self.all(x, true)", 1_348_169),
            (map(text()), "self.all(x, true)", 1_179_647),
            (bounded(map(text()), "maxProperties", 3), "self.all(x, true)", 11),
            (map(text()), "self.all(x, x.contains(self[x]))", 2_752_507),
            (text(), "self.contains('test')", 314_574),
            (bounded(text(), "maxLength", 10), "self.contains('test')", 5),
            (text(), "self.startsWith('test')", 2),
            (text(), r#"size(self + "hello") > size("hello")"#, 314_578),
            (list(text()), "self[1] == self[1]", 314_577),
            (list(of("number")), "self[1] == 0.0", 2),
            (bounded(list(of("number")), "maxItems", 10), "self.all(x, self.all(y, true))", 352),
            (text(), r#"self.matches("x")"#, 314_574),
            (bounded(text(), "maxLength", 50), r#"self.matches("x")"#, 22),
            (text(), r#"self.matches("")"#, 1),
            (text(), r#"self == "x""#, 2),
            (bounded(text(), "maxLength", 0), r#"self == "x""#, 1),
            (list(of("number")), "self.all(x, x == 0.0)", 6_291_454),
            (list(map(of("number"))), "self.all(x, x.y == 25.2)", 6_291_452),
            (list(map(of("number"))), "self[0].x > 2.0", 4),
            (list(json!({"x-kubernetes-int-or-string": true})), "self[0] == 5", 3),
            (list(formatted("duration")), "self[0].getHours() == 2", 4),
            (list(formatted("date")), "self.all(x, true)", 725_936),
            (list(formatted("date-time")), "self.all(x, true)", 428_963),
            (text(), "self.find('[0-9]+') == ''", 629_147),
            (map(of("integer")), "oldSelf.size() == self.size()", 5),
            (map(formatted("date-time")), r#"self["a"] == self["b"]"#, 8),
            (json!({"type": "string", "enum": ["A", "B", "C", "LongValue"]}), "self.contains('A')", 2),
        ];
        for (schema, rule, wanted) in cases {
            let mut whole = schema;
            whole["x-kubernetes-validations"] = json!([{"rule": rule}]);
            let below = json!({"type": "object", "properties": {"a": whole}});
            let parsed = Schema::parse(&below).unwrap();
            let schema = parsed.property("a").unwrap();
            let compiled = &schema.rules()[0];
            assert_eq!(compiled.fault(), None, "{rule}");
            assert_eq!(compiled.cost(schema), wanted, "{rule}");
        }
    }
}
