//! An expression made ready: parsed, checked, and bound to a budget.

use super::ast::Node;
use super::check::Checker;
use super::cost::Coster;
use super::eval::{Eval, Fault};
use super::lex::Issue;
use super::types::{Root, Type};
use super::value::Value;
use crate::schema::Schema;

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
    uses_old: bool,
    old_is_optional: bool,
    cost: u64,
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
        let node = super::parse::parse(source).map_err(|issue| reported(source, &[issue]))?;
        let Some(of_self) = Type::of(schema, root) else {
            return Err("failed to convert to declType for CEL validation rules".to_owned());
        };
        let of_old = if old_is_optional { Type::optional(of_self.clone()) } else { of_self.clone() };
        let variables = || vec![("self", of_self.clone()), ("oldSelf", of_old.clone())];
        let mut checker = Checker::new(variables());
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
        let cost = Coster::new(Checker::new(variables()), &of_self, schema).cost(&node).cost;
        Ok(Self { node, uses_old, old_is_optional, cost })
    }

    /// What one run can cost at most, by upstream's estimate.
    pub(crate) fn cost(&self) -> u64 {
        self.cost
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

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

/// Issues with the line they are in, as cel-go prints them.
fn reported(source: &str, issues: &[Issue]) -> String {
    const MOST: usize = 100;
    let one = |issue: &Issue| {
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
