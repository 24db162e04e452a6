//! The label selector's grammar: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. Texts of errors are upstream's.

use std::collections::BTreeSet;

use super::label_text;

/// What an object's labels must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rule {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Missing(String),
    Above(String, i64),
    Below(String, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    End,
    Symbol(&'a str),
    /// A key, a value, or (where an operator may stand) `in` and `notin`.
    Word(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::End => "",
            Self::Symbol(text) | Self::Word(text) => text,
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Vec<Rule>, String> {
    let tokens = scan(text);
    let mut parser = Parser { tokens: &tokens };
    let mut rules = Vec::new();
    loop {
        match parser.peek() {
            Token::End => return Ok(rules),
            Token::Word(_) | Token::Symbol("!") => {}
            other => return Err(format!("found '{}', expected: !, identifier, or 'end of string'", other.text())),
        }
        rules.push(parser.rule().map_err(|why| format!("unable to parse requirement: {why}"))?);
        match parser.take() {
            Token::End => return Ok(rules),
            Token::Symbol(",") => match parser.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
            },
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
        }
    }
}

fn scan(text: &str) -> Vec<Token<'_>> {
    let is_symbol = |c: char| matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<');
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    // A zero byte ends the text, as in upstream's scanner.
    let mut rest = text.split('\0').next().unwrap_or_default();
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches(is_space);
        if rest.is_empty() {
            return tokens;
        }
        let len = if rest.starts_with("==") || rest.starts_with("!=") {
            2
        } else if rest.starts_with(is_symbol) {
            1
        } else {
            rest.find(|c| is_symbol(c) || is_space(c)).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(len);
        tokens.push(if token.starts_with(is_symbol) { Token::Symbol(token) } else { Token::Word(token) });
        rest = after;
    }
}

struct Parser<'a, 't> {
    tokens: &'t [Token<'a>],
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Token<'a> {
        self.tokens.first().copied().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token<'a> {
        let token = self.peek();
        self.tokens = self.tokens.get(1..).unwrap_or_default();
        token
    }

    fn rule(&mut self) -> Result<Rule, String> {
        let negated = self.peek() == Token::Symbol("!");
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(word) => word.to_owned(),
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        label_text::check_key(&key)?;
        if negated {
            return Ok(Rule::Missing(key));
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Rule::Exists(key));
        }
        let operator = self.take();
        let (values, number) = match operator {
            Token::Word("in" | "notin") => (self.set()?, false),
            Token::Symbol("=" | "==" | "!=") => (self.value()?, false),
            Token::Symbol(">" | "<") => (self.value()?, true),
            other => return Err(format!("found '{}', expected: in, notin, =, ==, !=, gt, lt", other.text())),
        };
        let bound = check_values(&key, &values, number)?;
        Ok(match operator.text() {
            "in" | "=" | "==" => Rule::In(key, values),
            ">" => Rule::Above(key, bound),
            "<" => Rule::Below(key, bound),
            _ => Rule::NotIn(key, values),
        })
    }

    fn set(&mut self) -> Result<BTreeSet<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        let mut values = BTreeSet::new();
        match self.peek() {
            Token::Symbol(")") => {
                self.take();
                values.insert(String::new());
                return Ok(values);
            }
            Token::Word(_) | Token::Symbol(",") => {}
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        loop {
            match self.take() {
                Token::Word(word) => {
                    values.insert(word.to_owned());
                    match self.peek() {
                        Token::Symbol(",") => {}
                        Token::Symbol(")") => break,
                        other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                    }
                }
                Token::Symbol(",") => {
                    if values.is_empty() || matches!(self.peek(), Token::Symbol("," | ")")) {
                        values.insert(String::new());
                    }
                    if self.peek() == Token::Symbol(")") {
                        break;
                    }
                }
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            }
        }
        self.take();
        Ok(values)
    }

    fn value(&mut self) -> Result<BTreeSet<String>, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok([String::new()].into());
        }
        match self.take() {
            Token::Word(word) => Ok([word.to_owned()].into()),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }
}

/// Answers the value as a number where it must be one.
fn check_values(key: &str, values: &BTreeSet<String>, number: bool) -> Result<i64, String> {
    let (mut bound, mut wrong) = (0, Vec::new());
    for (place, value) in values.iter().enumerate().filter(|_| number) {
        match value.parse() {
            Ok(parsed) => bound = parsed,
            Err(_) => wrong.push(format!(
                "values[{place}]: Invalid value: {value:?}: for 'Gt', 'Lt' operators, the value must be an integer"
            )),
        }
    }
    for (place, value) in values.iter().enumerate() {
        if let Some(why) = label_text::value_problem(value) {
            wrong.push(format!("values[{place}][{key}]: Invalid value: {value:?}: {why}"));
        }
    }
    match wrong.as_slice() {
        [] => Ok(bound),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a kube-apiserver v1.36 answers.
    #[test]
    fn errors_read_like_upstream() {
        let cases = [
            ("a in 1", "unable to parse requirement: found '1' expected: '('"),
            ("a near (1)", "unable to parse requirement: found 'near', expected: in, notin, =, ==, !=, gt, lt"),
            ("=x", "found '=', expected: !, identifier, or 'end of string'"),
            ("a===1", "unable to parse requirement: found '=', expected: identifier"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a,", "found '', expected: identifier after ','"),
            (",a", "found ',', expected: !, identifier, or 'end of string'"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must \
                 be an integer",
            ),
            ("!a=1", "found '=', expected: ',' or 'end of string'"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a=!b", "unable to parse requirement: found '!', expected: identifier"),
            ("()", "found '(', expected: !, identifier, or 'end of string'"),
            ("a in", "unable to parse requirement: found '' expected: '('"),
            ("a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"),
            (
                "a=-b",
                "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty \
                 string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
                 '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
            ),
            (
                "a/b/c",
                "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of \
                 alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. \
                 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')",
            ),
            (
                "A..b/x",
                "unable to parse requirement: <nil>: Invalid value: \"A..b/x\": prefix part a lowercase RFC 1123 \
                 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with \
                 an alphanumeric character (e.g. 'example.com', regex used for validation is \
                 '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text).unwrap_err(), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_a_selector() {
        let set = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<BTreeSet<_>>();
        let cases = [
            ("", vec![]),
            ("  ", vec![]),
            ("a in ()", vec![Rule::In("a".into(), set(&[""]))]),
            ("a in (,)", vec![Rule::In("a".into(), set(&[""]))]),
            ("a in (b,,c)", vec![Rule::In("a".into(), set(&["", "b", "c"]))]),
            ("in in (in)", vec![Rule::In("in".into(), set(&["in"]))]),
            ("a!=", vec![Rule::NotIn("a".into(), set(&[""]))]),
            ("a>5", vec![Rule::Above("a".into(), 5)]),
            ("x/y , !z", vec![Rule::Exists("x/y".into()), Rule::Missing("z".into())]),
        ];
        for (text, wanted) in cases {
            assert_eq!(parse(text), Ok(wanted), "{text}");
        }
    }
}
