//! An expression made ready: parsed, checked, and bound to a budget.

use super::ast::Node;
use super::check::Checker;
use super::cost::Coster;
use super::eval::{Eval, Fault};
use super::lex::Issue;
use super::types::{Root, Type};
use super::value::Value;
use crate::schema::Schema;

/// Characters of the longest expression, as upstream.
const LONGEST: usize = 100_000;
/// Steps that one expression may take.
const MOST_STEPS_EACH: u64 = 1_000_000;
/// Steps that all expressions on one object may take together.
const MOST_STEPS: u64 = 10_000_000;

/// Steps left for an object's further expressions.
#[derive(Debug)]
pub(crate) struct Budget(u64);

impl Default for Budget {
    fn default() -> Self {
        Self(MOST_STEPS)
    }
}

impl Budget {
    pub(crate) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// What an expression must give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Bool,
    Text,
}

/// A checked expression.
#[derive(Debug)]
pub(crate) struct Program {
    node: Node,
    root: Root,
    uses_old: bool,
    old_is_optional: bool,
}

impl Program {
    /// Compiles a rule of a schema, whose value is `self`, and what it was `oldSelf`.
    ///
    /// # Errors
    /// What is wrong with it, in the form that upstream's compiler reports.
    pub(crate) fn compile(
        source: &str,
        schema: &Schema,
        root: Root,
        old_is_optional: bool,
        wanted: Wanted,
    ) -> Result<Self, String> {
        let size = source.chars().count();
        if size > LONGEST {
            let message = format!("expression code point size exceeds limit: size: {size}, limit {LONGEST}");
            return Err(reported(source, &[Issue { at: Issue::NOWHERE, message }]));
        }
        let node = super::parse::parse(source).map_err(|issue| reported(source, &[issue]))?;
        let Some(of_self) = Type::of(schema, root) else {
            return Err("failed to convert to declType for CEL validation rules".to_owned());
        };
        let mut checker = checker(of_self, old_is_optional);
        let found = checker.check(&node);
        checker.issues.sort_by_key(|issue| issue.at);
        if !checker.issues.is_empty() {
            return Err(reported(source, &checker.issues));
        }
        let fits = match wanted {
            Wanted::Bool => matches!(found, Type::Bool),
            Wanted::Text => matches!(found, Type::Text),
        };
        if !fits {
            return Err(match wanted {
                Wanted::Bool => "cel expression must evaluate to a bool".to_owned(),
                Wanted::Text => "messageExpression must evaluate to a string".to_owned(),
            });
        }
        let uses_old = checker.used("oldSelf");
        Ok(Self { node, root, uses_old, old_is_optional })
    }

    /// What one run can cost at most, by upstream's estimate. `schema` is the one it was compiled for; whoever runs it
    /// never asks.
    pub(crate) fn cost(&self, schema: &Schema) -> u64 {
        let Some(of_self) = Type::of(schema, self.root) else { return 0 };
        let mut checker = checker(of_self.clone(), self.old_is_optional);
        checker.check(&self.node);
        Coster::new(checker.types, &of_self, schema).cost(&self.node).cost
    }

    pub(crate) fn uses_old(&self) -> bool {
        self.uses_old
    }

    /// Runs the expression. `old` is absent when there is nothing to compare with.
    pub(crate) fn run<'v>(
        &'v self,
        value: Value<'v>,
        old: Option<Value<'v>>,
        budget: &mut Budget,
    ) -> Result<Value<'v>, Fault> {
        let old = match (old, self.old_is_optional) {
            (Some(old), true) => Some(Value::some(old)),
            (None, true) => Some(Value::Optional(None)),
            (old, false) => old,
        };
        let mut scope = vec![("self", value)];
        scope.extend(old.map(|old| ("oldSelf", old)));
        let steps = MOST_STEPS_EACH.min(budget.0);
        let mut eval = Eval { scope, steps };
        let found = eval.run(&self.node);
        let spent = if found == Err(Fault::TooLong) { steps } else { steps.saturating_sub(eval.steps) };
        budget.0 = budget.0.saturating_sub(spent);
        found
    }
}

/// A checker of expressions about a value of `of_self`, and what it was.
fn checker(of_self: Type<'_>, old_is_optional: bool) -> Checker<'_> {
    let of_old = if old_is_optional { Type::optional(of_self.clone()) } else { of_self.clone() };
    Checker::new(vec![("self", of_self), ("oldSelf", of_old)])
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

/// Issues with the line they are in, as cel-go prints them.
fn reported(source: &str, issues: &[Issue]) -> String {
    const MOST: usize = 100;
    let one = |issue: &Issue| {
        if issue.at == Issue::NOWHERE {
            return format!("ERROR: <input>:-1:0: {}", issue.message);
        }
        let before: Vec<char> = source.chars().take(issue.at).collect();
        let line = before.iter().filter(|c| **c == '\n').count();
        let column = before.iter().rev().take_while(|c| **c != '\n').count();
        let text = source.lines().nth(line).unwrap_or_default();
        let dots = ".".repeat(column);
        format!(
            "ERROR: <input>:{}:{}: {}\n | {text}\n | {dots}^",
            line.saturating_add(1),
            column.saturating_add(1),
            issue.message
        )
    };
    let all: Vec<String> = issues.iter().take(MOST).map(one).collect();
    format!("compilation failed: {}", all.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(source: &str) -> Result<Program, String> {
        let text = json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {"a": text, "b": {"type": "boolean"}}});
        let schema = Schema::parse(&schema).unwrap();
        let program = Program::compile(source, &schema, Root::Plain, false, Wanted::Bool)?;
        let (value, schema) = (json!({"a": "x", "b": true}), &schema);
        program.cost(schema);
        let found = program.run(Value::of(&value, Some(schema), Root::Plain), None, &mut Budget::default());
        assert_eq!(found, Ok(Value::Bool(true)), "{source:.60}");
        drop(found);
        Ok(program)
    }

    fn chain(first: &str, more: &str, times: usize) -> String {
        format!("{first}{}", more.repeat(times))
    }

    /// All of these once ended the process: whatever reads an expression recurses into it.
    #[test]
    fn chains_without_end_are_refused() {
        let endless = [
            chain("1", "+1", 40_000) + " > 0",
            chain("self.a", "+self.a", 10_000) + " != ''",
            chain("self", ".x", 40_000),
            chain("self", "[0]", 30_000),
            chain("[1]", ".map(x,x)", 10_000) + " == []",
            chain("[1]", ".filter(x,true)", 6_000) + " == []",
            chain("self.b", "==true", 10_000),
            chain("", "!(", 30_000),
            chain("true?true:", "true?true:", 9_000) + "true",
        ];
        for source in &endless {
            let fault = compile(source).unwrap_err();
            let limits = ["expression recursion limit exceeded: 250", "expression is nested too deeply"];
            assert!(limits.iter().any(|limit| fault.contains(limit)), "{fault:.300}");
        }
        let fault = compile(&chain("1", "+1", 60_000)).unwrap_err();
        assert_eq!(
            fault,
            "compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: size: 120001, limit 100000"
        );
    }

    /// Those of `&&` and `||` are as long as they like, and others as high as the limit.
    #[test]
    fn long_chains_are_taken() {
        for source in [
            chain("true", "&&true", 15_000),
            chain("false", "||false", 12_000) + "||true",
            chain("self.b", " && self.b || false", 4_000),
            chain("1", "+1", 240) + " == 241",
            chain("[1]", ".map(x,x)", 240) + " == [1]",
            chain("false", "||false", 500) + "||" + &chain("1", "*1", 200) + " == 1",
        ] {
            compile(&source).unwrap();
        }
    }
}
