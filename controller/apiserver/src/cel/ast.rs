//! Expressions, with macros already taken apart.

/// An expression and where in the source it is, in characters.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) at: usize,
    pub(super) kind: Kind,
    /// Levels of expressions, with this one: as deep as whatever reads it recurses.
    pub(super) height: usize,
}

impl Node {
    pub(super) fn new(at: usize, kind: Kind) -> Self {
        let height = kind.height().saturating_add(1);
        Self { at, kind, height }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Literal(Literal),
    Ident(String),
    Select {
        of: Box<Node>,
        field: String,
        optional: bool,
    },
    Has {
        of: Box<Node>,
        field: String,
    },
    Index {
        of: Box<Node>,
        key: Box<Node>,
        optional: bool,
    },
    /// A function, a method or an operator (`_+_`).
    Call {
        name: String,
        target: Option<Box<Node>>,
        args: Vec<Node>,
    },
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Choice(Box<[Node; 3]>),
    /// Elements; an optional one is left out when it has no value.
    List(Vec<(Node, bool)>),
    Map(Vec<(Node, Node, bool)>),
    Loop(Box<Loop>),
}

impl Kind {
    /// That of the highest expression in it.
    fn height(&self) -> usize {
        let highest = |a: &Node, b: &Node| a.height.max(b.height);
        let all = |nodes: &[Node]| nodes.iter().map(|node| node.height).max().unwrap_or_default();
        match self {
            Self::Literal(_) | Self::Ident(_) => 0,
            Self::Select { of, .. } | Self::Has { of, .. } => of.height,
            Self::Index { of, key, .. } => highest(of, key),
            Self::Call { target, args, .. } => target.as_ref().map_or(0, |target| target.height).max(all(args)),
            Self::And(left, right) | Self::Or(left, right) => highest(left, right),
            Self::Choice(parts) => all(parts.as_slice()),
            Self::List(elements) => elements.iter().map(|(element, _)| element.height).max().unwrap_or_default(),
            Self::Map(entries) => entries.iter().map(|(key, value, _)| highest(key, value)).max().unwrap_or_default(),
            Self::Loop(each) => {
                let filter = each.filter.as_ref().map_or(0, |filter| filter.height);
                highest(&each.range, &each.body).max(filter)
            }
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A macro over the elements of `range`.
#[derive(Debug, Clone)]
pub(super) struct Loop {
    pub(super) kind: LoopKind,
    pub(super) range: Node,
    pub(super) var: String,
    /// The second variable: the value, while the first is the index or key.
    pub(super) var2: Option<String>,
    /// Only elements for which this holds.
    pub(super) filter: Option<Node>,
    pub(super) body: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformList,
    TransformMap,
    TransformMapEntry,
    SortBy,
    OptMap,
    OptFlatMap,
}
