//! Tokens into expressions: a descent by precedence. Macros are taken apart where they are called.

use super::ast::{Kind, Literal, Loop, LoopKind, Node};
use super::lex::{Issue, RESERVED, Token, tokens};

/// Expressions nested deeper than this are refused: readers of them recurse.
const DEEPEST: usize = 60;

/// Expressions of more levels than this are refused, as upstream does: a chain (`1 + 1 + …`, `a.b.c…`) is as high as it is
/// long, and readers of them recurse.
const HIGHEST: usize = 250;

/// What an operand may begin with, as upstream's parser lists it.
const OPERANDS: &str = "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, \
                        BYTES, IDENTIFIER";

/// Operators between two operands, by how tightly they bind, loosest first.
const LEVELS: &[&[(&str, &str)]] = &[
    &[("<", "_<_"), ("<=", "_<=_"), (">", "_>_"), (">=", "_>=_"), ("==", "_==_"), ("!=", "_!=_"), ("in", "@in")],
    &[("+", "_+_"), ("-", "_-_")],
    &[("*", "_*_"), ("/", "_/_"), ("%", "_%_")],
];

/// Parses a whole expression.
pub(super) fn parse(source: &str) -> Result<Node, Issue> {
    let tokens = tokens(source)?;
    let mut parser = Parser { tokens, next: 0, depth: 0 };
    let node = parser.choice()?;
    match parser.peek() {
        Token::End => Ok(node),
        other => Err(parser.issue(&format!("Syntax error: extraneous input {} expecting <EOF>", other.shown()))),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

type Parsed = Result<Node, Issue>;

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.next).map_or(Token::End, |(_, token)| token.clone())
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |(at, _)| *at)
    }

    fn issue(&self, message: &str) -> Issue {
        Issue { at: self.at(), message: message.to_owned() }
    }

    fn unexpected(&self) -> Issue {
        self.issue(&format!("Syntax error: mismatched input {}", self.peek().shown()))
    }

    fn take(&mut self, punct: &str) -> bool {
        let found = matches!(self.peek(), Token::Punct(found) if found == punct);
        self.next = self.next.saturating_add(usize::from(found));
        found
    }

    fn expect(&mut self, punct: &str) -> Result<(), Issue> {
        if self.take(punct) {
            return Ok(());
        }
        let found = self.peek().shown();
        Err(self.issue(&format!("Syntax error: mismatched input {found} expecting '{punct}'")))
    }

    fn ident(&mut self) -> Result<String, Issue> {
        match self.peek() {
            Token::Ident(name) if name != "in" => {
                self.next = self.next.saturating_add(1);
                Ok(name)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn choice(&mut self) -> Parsed {
        if self.depth >= DEEPEST {
            return Err(self.issue("expression is nested too deeply"));
        }
        self.depth = self.depth.saturating_add(1);
        let condition = self.or()?;
        let at = self.at();
        let node = if self.take("?") {
            let yes = self.or()?;
            self.expect(":")?;
            let no = self.choice()?;
            grown(Node::new(at, Kind::Choice(Box::new([condition, yes, no]))))?
        } else {
            condition
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(node)
    }

    fn or(&mut self) -> Parsed {
        let first = self.and()?;
        let mut others = Vec::new();
        loop {
            let at = self.at();
            if !self.take("||") {
                return balanced(first, others, Kind::Or);
            }
            others.push((at, self.and()?));
        }
    }

    fn and(&mut self) -> Parsed {
        let first = self.binary(0)?;
        let mut others = Vec::new();
        loop {
            let at = self.at();
            if !self.take("&&") {
                return balanced(first, others, Kind::And);
            }
            others.push((at, self.binary(0)?));
        }
    }

    fn binary(&mut self, level: usize) -> Parsed {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level.saturating_add(1))?;
        loop {
            let token = self.peek();
            let found = operators.iter().find(|(written, _)| match &token {
                Token::Punct(punct) => punct == written,
                Token::Ident(name) => name == written,
                _ => false,
            });
            let Some((_, name)) = found else { return Ok(left) };
            let at = self.at();
            self.next = self.next.saturating_add(1);
            let right = self.binary(level.saturating_add(1))?;
            left = grown(call(at, name, None, vec![left, right]))?;
        }
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        if self.take("!") {
            let mut odd = true;
            while self.take("!") {
                odd = !odd;
            }
            let operand = self.member()?;
            return Ok(if odd { call(at, "!_", None, vec![operand]) } else { operand });
        }
        if self.take("-") {
            let number = match self.peek() {
                Token::Int(number) => {
                    Some(Literal::Int(0_i64.checked_sub_unsigned(number).ok_or_else(|| self.range())?))
                }
                Token::Double(number) => Some(Literal::Double(-number)),
                _ => None,
            };
            if let Some(number) = number {
                self.next = self.next.saturating_add(1);
                return self.members(Node::new(at, Kind::Literal(number)));
            }
            let mut odd = true;
            while self.take("-") {
                odd = !odd;
            }
            let operand = self.member()?;
            return Ok(if odd { call(at, "-_", None, vec![operand]) } else { operand });
        }
        self.member()
    }

    fn range(&self) -> Issue {
        self.issue("Syntax error: invalid int literal")
    }

    fn member(&mut self) -> Parsed {
        let primary = self.primary()?;
        self.members(primary)
    }

    fn members(&mut self, mut node: Node) -> Parsed {
        loop {
            let at = self.at();
            let (dot, optional_dot) = (self.take("."), self.take(".?"));
            if dot || optional_dot {
                let field = self.ident()?;
                let open = self.at();
                node = grown(if dot && self.take("(") {
                    let args = self.list(")")?;
                    method(open, node, field, args)?
                } else {
                    Node::new(at, Kind::Select { of: Box::new(node), field, optional: optional_dot })
                })?;
                continue;
            }
            let (index, optional_index) = (self.take("["), self.take("[?"));
            if !index && !optional_index {
                return Ok(node);
            }
            let key = Box::new(self.choice()?);
            self.expect("]")?;
            node = grown(Node::new(at, Kind::Index { of: Box::new(node), key, optional: optional_index }))?;
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        let token = self.peek();
        self.next = self.next.saturating_add(1);
        let literal = |literal: Literal| Ok(Node::new(at, Kind::Literal(literal)));
        match token {
            Token::Int(number) => match i64::try_from(number) {
                Ok(number) => literal(Literal::Int(number)),
                Err(_) => Err(Issue { at, message: "Syntax error: invalid int literal".to_owned() }),
            },
            Token::UInt(number) => literal(Literal::UInt(number)),
            Token::Double(number) => literal(Literal::Double(number)),
            Token::Text(text) => literal(Literal::Text(text)),
            Token::Bytes(bytes) => literal(Literal::Bytes(bytes)),
            Token::Ident(name) => match name.as_str() {
                "true" => literal(Literal::Bool(true)),
                "false" => literal(Literal::Bool(false)),
                "null" => literal(Literal::Null),
                "in" => {
                    self.next = self.next.saturating_sub(1);
                    Err(self.unexpected())
                }
                reserved if RESERVED.contains(&reserved) => {
                    Err(Issue { at, message: format!("reserved identifier: {reserved}") })
                }
                _ => self.named(at, name),
            },
            Token::Punct("(") => {
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(inner)
            }
            Token::Punct("[") => {
                let elements = self.elements("]")?;
                Ok(Node::new(at, Kind::List(elements)))
            }
            // "[?a]" is one token.
            Token::Punct("[?") => {
                let first = self.choice()?;
                let mut elements = vec![(first, true)];
                if self.take(",") {
                    elements.extend(self.elements("]")?);
                } else {
                    self.expect("]")?;
                }
                Ok(Node::new(at, Kind::List(elements)))
            }
            Token::Punct("{") => self.map(at),
            Token::End => {
                Err(Issue { at, message: format!("Syntax error: mismatched input '<EOF>' expecting {{{OPERANDS}}}") })
            }
            _ => {
                self.next = self.next.saturating_sub(1);
                Err(self.unexpected())
            }
        }
    }

    fn named(&mut self, at: usize, name: String) -> Parsed {
        let open = self.at();
        if !self.take("(") {
            return Ok(Node::new(at, Kind::Ident(name)));
        }
        let mut args = self.list(")")?;
        let args_at = args.first().map_or(open, |arg| arg.at);
        if name == "has" && args.len() == 1 {
            return match args.pop().map(|arg| arg.kind) {
                Some(Kind::Select { of, field, optional: false }) => Ok(Node::new(open, Kind::Has { of, field })),
                _ => Err(Issue { at: args_at, message: "invalid argument to has() macro".to_owned() }),
            };
        }
        Ok(call(open, &name, None, args))
    }

    fn list(&mut self, end: &str) -> Result<Vec<Node>, Issue> {
        let mut found = Vec::new();
        if self.take(end) {
            return Ok(found);
        }
        loop {
            found.push(self.choice()?);
            if !self.take(",") {
                self.expect(end)?;
                return Ok(found);
            }
        }
    }

    fn elements(&mut self, end: &str) -> Result<Vec<(Node, bool)>, Issue> {
        let mut found = Vec::new();
        while !self.take(end) {
            let optional = self.take("?");
            found.push((self.choice()?, optional));
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(found)
    }

    fn map(&mut self, at: usize) -> Parsed {
        let mut entries = Vec::new();
        while !self.take("}") {
            let optional = self.take("?");
            let key = self.choice()?;
            self.expect(":")?;
            entries.push((key, self.choice()?, optional));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Node::new(at, Kind::Map(entries)))
    }
}

/// Refuses what has grown too high: before the next level is put on it, so that nothing higher is ever made.
fn grown(node: Node) -> Parsed {
    if node.height > HIGHEST {
        let message = format!("expression recursion limit exceeded: {HIGHEST}");
        return Err(Issue { at: Issue::NOWHERE, message });
    }
    Ok(node)
}

/// A chain of `&&` or `||` as a tree of little height, as upstream makes it: rules may be long lists of conditions.
fn balanced(first: Node, others: Vec<(usize, Node)>, joined: fn(Box<Node>, Box<Node>) -> Kind) -> Parsed {
    // Neighbours are joined until one is left; where an operand is the right one, its operator goes with it.
    let mut level: Vec<(usize, Node)> = std::iter::once((0, first)).chain(others).collect();
    while level.len() > 1 {
        let mut next = Vec::with_capacity(level.len().div_ceil(2));
        let mut operands = level.into_iter();
        while let Some((before, left)) = operands.next() {
            next.push(match operands.next() {
                Some((at, right)) => (before, grown(Node::new(at, joined(Box::new(left), Box::new(right))))?),
                None => (before, left),
            });
        }
        level = next;
    }
    let only = level.pop().map(|(_, node)| node);
    only.ok_or_else(|| Issue { at: Issue::NOWHERE, message: "no operand".to_owned() })
}

fn call(at: usize, name: &str, target: Option<Box<Node>>, args: Vec<Node>) -> Node {
    Node::new(at, Kind::Call { name: name.to_owned(), target, args })
}

/// A method call, or the macro of that name and number of arguments.
fn method(at: usize, target: Node, name: String, args: Vec<Node>) -> Parsed {
    use LoopKind as L;
    let kind = match (name.as_str(), args.len()) {
        ("all", 2 | 3) => Some(L::All),
        ("exists", 2 | 3) => Some(L::Exists),
        ("exists_one", 2) | ("existsOne", 2 | 3) => Some(L::ExistsOne),
        ("map", 2 | 3) => Some(L::Map),
        ("filter", 2) => Some(L::Filter),
        ("transformList", 3 | 4) => Some(L::TransformList),
        ("transformMap", 3 | 4) => Some(L::TransformMap),
        ("transformMapEntry", 3 | 4) => Some(L::TransformMapEntry),
        ("sortBy", 2) => Some(L::SortBy),
        ("optMap", 2) => Some(L::OptMap),
        ("optFlatMap", 2) => Some(L::OptFlatMap),
        _ => None,
    };
    let Some(kind) = kind else { return Ok(call(at, &name, Some(Box::new(target)), args)) };
    let variable = |node: Option<Node>| match node {
        Some(Node { kind: Kind::Ident(name), .. }) => Ok(name),
        other => {
            let at = other.map_or(at, |node| node.at);
            Err(Issue { at, message: "argument must be a simple name".to_owned() })
        }
    };
    let two = match kind {
        L::TransformList | L::TransformMap | L::TransformMapEntry => true,
        L::All | L::Exists | L::ExistsOne => args.len() == 3,
        _ => false,
    };
    let mut args = args.into_iter();
    let var = variable(args.next())?;
    let var2 = if two { Some(variable(args.next())?) } else { None };
    let mut rest: Vec<Node> = args.collect();
    let missing = || Issue { at, message: "missing argument".to_owned() };
    let body = rest.pop().ok_or_else(missing)?;
    Ok(Node::new(at, Kind::Loop(Box::new(Loop { kind, range: target, var, var2, filter: rest.pop(), body }))))
}
