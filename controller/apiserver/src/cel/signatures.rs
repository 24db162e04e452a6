//! Which functions there are and what they take: one row per overload. `A` and `B` stand for any one type, the same
//! wherever the letter is in the row.

use std::sync::Arc;

use super::types::Type;

/// A type in a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum T {
    A,
    B,
    Any,
    Bool,
    Int,
    UInt,
    Double,
    Text,
    Bytes,
    Time,
    Span,
    Type,
    ListA,
    ListText,
    ListInt,
    MapAB,
    OptA,
    Of(&'static str),
    OptOf(&'static str),
    MapTextListText,
    OptListText,
}

pub(super) const IP: &str = "net.IP";
pub(super) const CIDR: &str = "net.CIDR";
pub(super) const URL: &str = "kubernetes.URL";
pub(super) const QUANTITY: &str = "kubernetes.Quantity";
pub(super) const SEMVER: &str = "kubernetes.Semver";
pub(super) const FORMAT: &str = "kubernetes.NamedFormat";

struct Row {
    name: &'static str,
    target: Option<T>,
    args: &'static [T],
    result: T,
}

const fn f(name: &'static str, args: &'static [T], result: T) -> Row {
    Row { name, target: None, args, result }
}

const fn m(name: &'static str, target: T, args: &'static [T], result: T) -> Row {
    Row { name, target: Some(target), args, result }
}

#[rustfmt::skip]
const ROWS: &[Row] = {
    use T::*;
    const IP_: T = Of(IP);
    const CIDR_: T = Of(CIDR);
    const URL_: T = Of(URL);
    const Q: T = Of(QUANTITY);
    const V: T = Of(SEMVER);
    const F: T = Of(FORMAT);
    &[
        // operators
        f("_+_", &[Int, Int], Int), f("_+_", &[UInt, UInt], UInt), f("_+_", &[Double, Double], Double),
        f("_+_", &[Text, Text], Text), f("_+_", &[Bytes, Bytes], Bytes), f("_+_", &[ListA, ListA], ListA),
        f("_+_", &[Time, Span], Time), f("_+_", &[Span, Time], Time), f("_+_", &[Span, Span], Span),
        f("_-_", &[Int, Int], Int), f("_-_", &[UInt, UInt], UInt), f("_-_", &[Double, Double], Double),
        f("_-_", &[Time, Time], Span), f("_-_", &[Time, Span], Time), f("_-_", &[Span, Span], Span),
        f("_*_", &[Int, Int], Int), f("_*_", &[UInt, UInt], UInt), f("_*_", &[Double, Double], Double),
        f("_/_", &[Int, Int], Int), f("_/_", &[UInt, UInt], UInt), f("_/_", &[Double, Double], Double),
        f("_%_", &[Int, Int], Int), f("_%_", &[UInt, UInt], UInt),
        f("-_", &[Int], Int), f("-_", &[Double], Double), f("!_", &[Bool], Bool),
        f("_==_", &[A, A], Bool), f("_!=_", &[A, A], Bool), f("@in", &[A, ListA], Bool), f("@in", &[A, MapAB], Bool),
        // conversions and types
        f("type", &[Any], Type), f("dyn", &[Any], Any),
        f("bool", &[Bool], Bool), f("bool", &[Text], Bool),
        f("int", &[Int], Int), f("int", &[UInt], Int), f("int", &[Double], Int), f("int", &[Text], Int), f("int", &[Time], Int), f("int", &[Span], Int),
        f("uint", &[Int], UInt), f("uint", &[UInt], UInt), f("uint", &[Double], UInt), f("uint", &[Text], UInt),
        f("double", &[Int], Double), f("double", &[UInt], Double), f("double", &[Double], Double), f("double", &[Text], Double),
        f("string", &[Bool], Text), f("string", &[Int], Text), f("string", &[UInt], Text), f("string", &[Double], Text), f("string", &[Text], Text),
        f("string", &[Bytes], Text), f("string", &[Time], Text), f("string", &[Span], Text),
        f("string", &[URL_], Text), f("string", &[IP_], Text), f("string", &[CIDR_], Text),
        f("bytes", &[Text], Bytes), f("bytes", &[Bytes], Bytes),
        f("timestamp", &[Text], Time), f("timestamp", &[Int], Time), f("timestamp", &[Time], Time),
        f("duration", &[Text], Span), f("duration", &[Int], Span), f("duration", &[Span], Span),
        // sizes
        f("size", &[Text], Int), f("size", &[Bytes], Int), f("size", &[ListA], Int), f("size", &[MapAB], Int),
        m("size", Text, &[], Int), m("size", Bytes, &[], Int), m("size", ListA, &[], Int), m("size", MapAB, &[], Int),
        // strings
        m("contains", Text, &[Text], Bool), m("startsWith", Text, &[Text], Bool), m("endsWith", Text, &[Text], Bool),
        f("matches", &[Text, Text], Bool), m("matches", Text, &[Text], Bool),
        m("charAt", Text, &[Int], Text), m("indexOf", Text, &[Text], Int), m("indexOf", Text, &[Text, Int], Int),
        m("lastIndexOf", Text, &[Text], Int), m("lastIndexOf", Text, &[Text, Int], Int),
        m("join", ListText, &[], Text), m("join", ListText, &[Text], Text),
        m("lowerAscii", Text, &[], Text), m("upperAscii", Text, &[], Text), m("trim", Text, &[], Text),
        m("replace", Text, &[Text, Text], Text), m("replace", Text, &[Text, Text, Int], Text),
        m("split", Text, &[Text], ListText), m("split", Text, &[Text, Int], ListText),
        m("substring", Text, &[Int], Text), m("substring", Text, &[Int, Int], Text),
        m("format", Text, &[ListA], Text), f("strings.quote", &[Text], Text),
        m("find", Text, &[Text], Text), m("findAll", Text, &[Text], ListText), m("findAll", Text, &[Text, Int], ListText),
        // lists
        m("isSorted", ListA, &[], Bool), m("sum", ListA, &[], A), m("min", ListA, &[], A), m("max", ListA, &[], A),
        m("indexOf", ListA, &[A], Int), m("lastIndexOf", ListA, &[A], Int),
        m("slice", ListA, &[Int, Int], ListA), m("flatten", ListA, &[], Any), m("flatten", ListA, &[Int], Any),
        m("distinct", ListA, &[], ListA), m("reverse", ListA, &[], ListA), m("sort", ListA, &[], ListA),
        m("first", ListA, &[], OptA), m("last", ListA, &[], OptA), f("lists.range", &[Int], ListInt),
        f("sets.contains", &[ListA, ListA], Bool), f("sets.equivalent", &[ListA, ListA], Bool), f("sets.intersects", &[ListA, ListA], Bool),
        // times
        m("getFullYear", Time, &[], Int), m("getFullYear", Time, &[Text], Int), m("getMonth", Time, &[], Int), m("getMonth", Time, &[Text], Int),
        m("getDayOfYear", Time, &[], Int), m("getDayOfYear", Time, &[Text], Int), m("getDayOfMonth", Time, &[], Int), m("getDayOfMonth", Time, &[Text], Int),
        m("getDate", Time, &[], Int), m("getDate", Time, &[Text], Int), m("getDayOfWeek", Time, &[], Int), m("getDayOfWeek", Time, &[Text], Int),
        m("getHours", Time, &[], Int), m("getHours", Time, &[Text], Int), m("getMinutes", Time, &[], Int), m("getMinutes", Time, &[Text], Int),
        m("getSeconds", Time, &[], Int), m("getSeconds", Time, &[Text], Int), m("getMilliseconds", Time, &[], Int), m("getMilliseconds", Time, &[Text], Int),
        m("getHours", Span, &[], Int), m("getMinutes", Span, &[], Int), m("getSeconds", Span, &[], Int), m("getMilliseconds", Span, &[], Int),
        // optional values
        f("optional.of", &[A], OptA), f("optional.ofNonZeroValue", &[A], OptA), f("optional.none", &[], OptA),
        m("hasValue", OptA, &[], Bool), m("value", OptA, &[], A), m("or", OptA, &[OptA], OptA), m("orValue", OptA, &[A], A),
        // URLs
        f("url", &[Text], URL_), f("isURL", &[Text], Bool), m("getScheme", URL_, &[], Text), m("getHost", URL_, &[], Text),
        m("getHostname", URL_, &[], Text), m("getPort", URL_, &[], Text), m("getEscapedPath", URL_, &[], Text), m("getQuery", URL_, &[], MapTextListText),
        // addresses
        f("ip", &[Text], IP_), f("isIP", &[Text], Bool), f("ip.isCanonical", &[Text], Bool), m("family", IP_, &[], Int),
        m("isUnspecified", IP_, &[], Bool), m("isLoopback", IP_, &[], Bool), m("isLinkLocalMulticast", IP_, &[], Bool),
        m("isLinkLocalUnicast", IP_, &[], Bool), m("isGlobalUnicast", IP_, &[], Bool),
        f("cidr", &[Text], CIDR_), f("isCIDR", &[Text], Bool), m("containsIP", CIDR_, &[Text], Bool), m("containsIP", CIDR_, &[IP_], Bool),
        m("containsCIDR", CIDR_, &[Text], Bool), m("containsCIDR", CIDR_, &[CIDR_], Bool), m("ip", CIDR_, &[], IP_),
        m("prefixLength", CIDR_, &[], Int), m("masked", CIDR_, &[], CIDR_),
        // quantities
        f("quantity", &[Text], Q), f("isQuantity", &[Text], Bool), m("sign", Q, &[], Int), m("isInteger", Q, &[], Bool), m("asInteger", Q, &[], Int),
        m("asApproximateFloat", Q, &[], Double), m("add", Q, &[Q], Q), m("add", Q, &[Int], Q), m("sub", Q, &[Q], Q), m("sub", Q, &[Int], Q),
        m("isLessThan", Q, &[Q], Bool), m("isGreaterThan", Q, &[Q], Bool), m("compareTo", Q, &[Q], Int),
        // semantic versions
        f("semver", &[Text], V), f("semver", &[Text, Bool], V), f("isSemver", &[Text], Bool), f("isSemver", &[Text, Bool], Bool),
        m("major", V, &[], Int), m("minor", V, &[], Int), m("patch", V, &[], Int),
        m("isLessThan", V, &[V], Bool), m("isGreaterThan", V, &[V], Bool), m("compareTo", V, &[V], Int),
        // named formats
        f("format.named", &[Text], OptOf(FORMAT)), m("validate", F, &[Text], OptListText),
        f("format.dns1123Label", &[], F), f("format.dns1123Subdomain", &[], F), f("format.dns1035Label", &[], F),
        f("format.qualifiedName", &[], F), f("format.labelValue", &[], F), f("format.uri", &[], F), f("format.uuid", &[], F),
        f("format.byte", &[], F), f("format.date", &[], F), f("format.datetime", &[], F),
        f("format.dns1123LabelPrefix", &[], F), f("format.dns1123SubdomainPrefix", &[], F), f("format.dns1035LabelPrefix", &[], F),
    ]
};

/// Whether there is a function of this name at all.
pub(super) fn is_known(name: &str, is_method: bool) -> bool {
    is_comparison(name) || ROWS.iter().any(|row| row.name == name && row.target.is_some() == is_method)
}

fn is_comparison(name: &str) -> bool {
    matches!(name, "_<_" | "_<=_" | "_>_" | "_>=_")
}

/// The type that a call gives; `None` when no overload takes these arguments.
pub(super) fn result<'s>(name: &str, target: Option<&Type<'s>>, args: &[Type<'s>]) -> Option<Type<'s>> {
    if is_comparison(name) {
        return comparable(args).then_some(Type::Bool);
    }
    let fits =
        |row: &&Row| row.name == name && row.target.is_some() == target.is_some() && row.args.len() == args.len();
    let matched = |row: &Row| {
        let mut bound = Bound::default();
        let target_fits = match (row.target, target) {
            (Some(wanted), Some(found)) => bound.takes(wanted, found),
            _ => true,
        };
        let all = target_fits && row.args.iter().zip(args).all(|(wanted, found)| bound.takes(*wanted, found));
        all.then(|| bound.build(row.result))
    };
    let mut found = ROWS.iter().filter(fits).filter_map(matched);
    let first = found.next()?;
    // Something dynamic may fit several overloads; what they give is then known only if they agree.
    let agree = found.all(|other| std::mem::discriminant(&other) == std::mem::discriminant(&first));
    Some(if agree { first } else { Type::Dyn })
}

/// Ordered types are compared with their own kind, numbers with each other too.
fn comparable(args: &[Type<'_>]) -> bool {
    let [a, b] = args else { return false };
    let number = |t: &Type<'_>| matches!(t, Type::Int | Type::UInt | Type::Double);
    let ordered = |t: &Type<'_>| {
        number(t) || matches!(t, Type::Dyn | Type::Bool | Type::Text | Type::Bytes | Type::Timestamp | Type::Duration)
    };
    ordered(a) && ordered(b) && ((number(a) && number(b)) || a.takes(b))
}

/// What the letters of a row stand for.
#[derive(Default)]
struct Bound<'s> {
    a: Option<Type<'s>>,
    b: Option<Type<'s>>,
}

impl<'s> Bound<'s> {
    fn takes(&mut self, wanted: T, found: &Type<'s>) -> bool {
        if matches!(found, Type::Dyn) {
            return true;
        }
        let mut inner = |wanted: T, found: &Type<'s>| self.takes(wanted, found);
        match (wanted, found) {
            (T::ListA, Type::List(of)) => inner(T::A, of),
            (T::OptA, Type::Optional(of)) => inner(T::A, of),
            (T::MapAB, Type::Map(key, value)) => {
                let (key, value) = (Type::clone(key), Type::clone(value));
                self.takes(T::A, &key) && self.takes(T::B, &value)
            }
            (T::A, found) => same(&mut self.a, found),
            (T::B, found) => same(&mut self.b, found),
            (T::ListA | T::OptA | T::MapAB, _) => false,
            (wanted, found) => self.build(wanted).takes(found),
        }
    }

    fn build(&self, row: T) -> Type<'s> {
        let letter = |bound: &Option<Type<'s>>| bound.clone().unwrap_or(Type::Dyn);
        match row {
            T::A => letter(&self.a),
            T::B => letter(&self.b),
            T::Any => Type::Dyn,
            T::Bool => Type::Bool,
            T::Int => Type::Int,
            T::UInt => Type::UInt,
            T::Double => Type::Double,
            T::Text => Type::Text,
            T::Bytes => Type::Bytes,
            T::Time => Type::Timestamp,
            T::Span => Type::Duration,
            T::Type => Type::Opaque("type"),
            T::ListA => Type::list(letter(&self.a)),
            T::ListText => Type::list(Type::Text),
            T::ListInt => Type::list(Type::Int),
            T::MapAB => Type::Map(Arc::new(letter(&self.a)), Arc::new(letter(&self.b))),
            T::OptA => Type::optional(letter(&self.a)),
            T::Of(name) => Type::Opaque(name),
            T::OptOf(name) => Type::optional(Type::Opaque(name)),
            T::MapTextListText => Type::Map(Arc::new(Type::Text), Arc::new(Type::list(Type::Text))),
            T::OptListText => Type::optional(Type::list(Type::Text)),
        }
    }
}

fn same<'s>(bound: &mut Option<Type<'s>>, found: &Type<'s>) -> bool {
    match bound {
        Some(known) if !matches!(known, Type::Dyn) => known.takes(found),
        _ => {
            *bound = Some(found.clone());
            true
        }
    }
}
