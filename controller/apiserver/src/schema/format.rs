//! The formats of strings and numbers (`format`) that are checked. Others pass, as upstream, which also decides what
//! fits: a date-time is whatever go-openapi's strfmt takes for one, not quite RFC 3339.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use regex::Regex;

use super::Kind;

/// A format that is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    Byte,
    Cidr,
    CreditCard,
    Date,
    DateTime,
    Duration,
    Email,
    HexColor,
    Hostname,
    Ipv4,
    Ipv6,
    Isbn,
    Isbn10,
    Isbn13,
    LongName,
    Mac,
    ObjectId,
    Password,
    RgbColor,
    ShortName,
    Ssn,
    Uri,
    Uuid,
    Uuid3,
    Uuid4,
    Uuid5,
}

/// The formats of strings. Dashes in names do not count.
const STRINGS: &[(&str, Format)] = &[
    ("bsonobjectid", Format::ObjectId),
    ("byte", Format::Byte),
    ("cidr", Format::Cidr),
    ("creditcard", Format::CreditCard),
    ("date", Format::Date),
    ("datetime", Format::DateTime),
    ("duration", Format::Duration),
    ("email", Format::Email),
    ("hexcolor", Format::HexColor),
    ("hostname", Format::Hostname),
    ("ipv4", Format::Ipv4),
    ("ipv6", Format::Ipv6),
    ("isbn", Format::Isbn),
    ("isbn10", Format::Isbn10),
    ("isbn13", Format::Isbn13),
    ("k8slongname", Format::LongName),
    ("k8sshortname", Format::ShortName),
    ("mac", Format::Mac),
    ("password", Format::Password),
    ("rgbcolor", Format::RgbColor),
    ("ssn", Format::Ssn),
    ("uri", Format::Uri),
    ("uuid", Format::Uuid),
    ("uuid3", Format::Uuid3),
    ("uuid4", Format::Uuid4),
    ("uuid5", Format::Uuid5),
];

impl Format {
    /// The format of that name for values of `kind`; `None` when it is not checked.
    pub(super) fn parse(kind: Option<Kind>, name: &str) -> Option<Self> {
        match (kind, name) {
            (Some(Kind::Integer), "int32") => Some(Self::Int32),
            (Some(Kind::Integer), "int64") => Some(Self::Int64),
            (Some(Kind::Number), "float") => Some(Self::Float),
            (Some(Kind::Number), "double") => Some(Self::Double),
            (None | Some(Kind::String), name) => {
                let name = name.replace('-', "");
                STRINGS.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
            }
            _ => None,
        }
    }

    /// Whether a string has the format. True for the formats of numbers.
    pub(crate) fn fits(self, text: &str) -> bool {
        match self {
            Self::Int32 | Self::Int64 | Self::Float | Self::Double | Self::Password => true,
            Self::Byte => matches(&BYTE, text),
            Self::Cidr => is_cidr(text),
            Self::CreditCard => is_credit_card(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
            Self::Duration => is_duration(text),
            Self::Email => is_email(text),
            Self::HexColor => matches(&HEX_COLOR, text),
            Self::Hostname => {
                text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && matches(&HOSTNAME, text)
            }
            Self::Ipv4 => text.contains('.') && sloppy_ip(text).is_some(),
            Self::Ipv6 => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
            Self::Isbn => is_isbn10(text) || is_isbn13(text),
            Self::Isbn10 => is_isbn10(text),
            Self::Isbn13 => is_isbn13(text),
            Self::LongName => text.len() <= 253 && matches(&LONG_NAME, text),
            Self::Mac => is_mac(text),
            Self::ObjectId => text.len() == 24 && text.chars().all(|c| c.is_ascii_hexdigit()),
            Self::RgbColor => matches(&RGB_COLOR, text),
            Self::ShortName => text.len() <= 63 && !text.contains('.') && matches(&LONG_NAME, text),
            Self::Ssn => text.len() == 11 && matches(&SSN, text),
            Self::Uri => is_uri(text),
            Self::Uuid => is_uuid(text, None),
            Self::Uuid3 => is_uuid(text, Some('3')),
            Self::Uuid4 => is_uuid(text, Some('4')),
            Self::Uuid5 => is_uuid(text, Some('5')),
        }
    }
}

type Pattern = LazyLock<Option<Regex>>;

static BYTE: Pattern = LazyLock::new(|| {
    Regex::new("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$").ok()
});
static TIME: Pattern =
    LazyLock::new(|| Regex::new("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$").ok());
static HEX_COLOR: Pattern = LazyLock::new(|| Regex::new("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static HOSTNAME: Pattern = LazyLock::new(|| {
    Regex::new(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$",
    )
    .ok()
});
static LONG_NAME: Pattern =
    LazyLock::new(|| Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$").ok());
static RGB_COLOR: Pattern = LazyLock::new(|| {
    const BYTE: &str = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    const SPACE: &str = "[\\t\\n\\f\\r ]*";
    Regex::new(&format!("^rgb\\({SPACE}{BYTE}{SPACE},{SPACE}{BYTE}{SPACE},{SPACE}{BYTE}{SPACE}\\)$")).ok()
});
static SSN: Pattern = LazyLock::new(|| Regex::new("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$").ok());
static CREDIT_CARD: Pattern = LazyLock::new(|| {
    Regex::new(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
    .ok()
});

fn matches(pattern: &Pattern, text: &str) -> bool {
    pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
}

fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut next = |digits: usize| {
        let part = parts.next().filter(|part| part.len() == digits && part.chars().all(|c| c.is_ascii_digit()))?;
        part.parse::<i16>().ok()
    };
    let (Some(year), Some(month), Some(day)) = (next(4), next(2), next(2)) else { return false };
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return false };
    jiff::civil::Date::new(year, month, day).is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut halves = lower.split('t');
    let (Some(date), Some(time)) = (halves.next(), halves.next()) else { return false };
    let Some(found) = TIME.as_ref().and_then(|pattern| pattern.captures(time)) else { return false };
    let within = |group: usize, most: &str| found.get(group).is_some_and(|part| part.as_str() <= most);
    is_date(date) && within(1, "23") && within(2, "59") && within(3, "59")
}

/// Go's durations, or Scala's ("3 days").
fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_scala_duration(text)
}

/// `time.ParseDuration`: signed decimals with a unit each, without space.
pub(crate) fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, after) = rest.split_at(number);
        if !digits.chars().any(|c| c.is_ascii_digit()) || digits.matches('.').count() > 1 {
            return false;
        }
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().filter(|unit| after.starts_with(unit));
        let Some(unit) = unit.max_by_key(|unit| unit.len()) else { return false };
        rest = after.get(unit.len()..).unwrap_or_default();
    }
    true
}

fn is_scala_duration(text: &str) -> bool {
    const UNITS: &[&[&str]] = &[
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    let known = |unit: &str| {
        UNITS.iter().any(|names| names.contains(&unit) || names.last().is_some_and(|longest| unit.starts_with(longest)))
    };
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let from = rest.get(start..).unwrap_or_default();
        let digits = from.find(|c: char| !c.is_ascii_digit()).unwrap_or(from.len());
        let (number, after) = from.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        if !unit.is_empty() && number.parse::<i64>().is_err() {
            return false;
        }
        found |= known(&unit.to_lowercase());
        rest = next;
    }
    found
}

/// An address as older Go read it: leading zeros in IPv4 are decimal.
fn sloppy_ip(text: &str) -> Option<IpAddr> {
    if text.contains(':') {
        return text.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    let mut octets = [0_u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        let plain = !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        *octet = if plain { part.parse().ok()? } else { return None };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets).into())
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match sloppy_ip(address) {
        Some(IpAddr::V4(_)) => 32,
        Some(IpAddr::V6(_)) => 128,
        None => return false,
    };
    let plain = !bits.is_empty() && bits.chars().all(|c| c.is_ascii_digit());
    plain && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

fn is_mac(text: &str) -> bool {
    let hex = |part: &str, digits: usize| part.len() == digits && part.chars().all(|c| c.is_ascii_hexdigit());
    let groups = |separator: char, digits: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        counts.contains(&parts.len()) && parts.iter().all(|part| hex(part, digits))
    };
    let plain = [12, 16, 40].iter().any(|digits| hex(text, *digits));
    plain || groups(':', 2, &[6, 8, 20]) || groups('-', 2, &[6, 8, 20]) || groups('.', 4, &[3, 4, 10])
}

fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (at, digits) in [8_usize, 4, 4, 4, 12].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(digits) else { return false };
        let first = group.chars().next().unwrap_or_default();
        let wrong_version = at == 2 && version.is_some_and(|version| version != first);
        let wrong_variant = at == 3
            && matches!(version, Some('4' | '5'))
            && !matches!(first.to_ascii_lowercase(), '8' | '9' | 'a' | 'b');
        if !group.chars().all(|c| c.is_ascii_hexdigit()) || wrong_version || wrong_variant {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let doubled = |(at, digit): (usize, u32)| match (at % 2 == 1, digit.saturating_mul(2)) {
        (false, _) => digit,
        (true, twice) if twice > 9 => twice.saturating_sub(9),
        (true, twice) => twice,
    };
    let sum: u32 = digits.chars().rev().filter_map(|c| c.to_digit(10)).enumerate().map(doubled).sum();
    matches(&CREDIT_CARD, &digits) && sum.is_multiple_of(10)
}

fn isbn_characters(text: &str) -> Vec<char> {
    text.chars().filter(|c| !matches!(c, '-' | ' ' | '\t' | '\n' | '\u{c}' | '\r')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let characters = isbn_characters(text);
    let value = |(at, c): (usize, &char)| match c.to_digit(10) {
        None if at == 9 && *c == 'X' => Some(10),
        digit => digit,
    };
    let values: Option<Vec<u32>> = characters.iter().enumerate().map(value).collect();
    let sum =
        |values: Vec<u32>| values.iter().zip(1..).map(|(value, weight)| value.saturating_mul(weight)).sum::<u32>();
    characters.len() == 10 && values.is_some_and(|values| sum(values).is_multiple_of(11))
}

fn is_isbn13(text: &str) -> bool {
    let characters = isbn_characters(text);
    let digits: Option<Vec<u32>> = characters.iter().map(|c| c.to_digit(10)).collect();
    let sum =
        |digits: Vec<u32>| digits.iter().zip([1, 3].iter().cycle()).map(|(d, w)| d.saturating_mul(*w)).sum::<u32>();
    characters.len() == 13 && digits.is_some_and(|digits| sum(digits).is_multiple_of(10))
}

/// An address as RFC 5322 writes it, with or without a name around it.
fn is_email(text: &str) -> bool {
    let text = text.trim();
    let address = match text.strip_suffix('>') {
        Some(named) => match named.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |part: &str| {
        let fits = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
        !part.is_empty() && part.chars().all(fits)
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.starts_with('[') && domain.ends_with(']');
    (quoted || local.split('.').all(atom)) && (literal || domain.split('.').all(atom))
}

/// What `url.ParseRequestURI` takes: an absolute path or an absolute URL.
fn is_uri(text: &str) -> bool {
    let bad_escape = |text: &str| {
        text.split('%')
            .skip(1)
            .any(|after| !after.get(..2).is_some_and(|digits| digits.chars().all(|c| c.is_ascii_hexdigit())))
    };
    if text.is_empty() || text.chars().any(|c| c.is_ascii_control()) {
        return false;
    }
    let path_of = |rest: &str| rest.split('?').next().unwrap_or_default().to_owned();
    if text == "*" || text.starts_with('/') {
        return !bad_escape(&path_of(text));
    }
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.chars();
    let starts_well = letters.next().is_some_and(|c| c.is_ascii_alphabetic());
    if !starts_well || !letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let Some(rest) = rest.strip_prefix("//") else { return !rest.starts_with('/') || !bad_escape(&path_of(rest)) };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let path = path_of(rest.get(authority.len()..).unwrap_or_default());
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (name, port) = match host.strip_prefix('[') {
        Some(bracketed) => match bracketed.split_once(']') {
            Some(split) => split,
            None => return false,
        },
        None => host.find(':').map_or((host, ""), |at| host.split_at(at)),
    };
    let port_fits = port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.chars().all(|c| c.is_ascii_digit()));
    port_fits
        && !bad_escape(name)
        && !name.contains([' ', '<', '>', '"', '\\', '^', '`', '{', '|', '}'])
        && !bad_escape(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_take_what_upstream_takes() {
        let cases: &[(&str, &[&str], &[&str])] = &[
            (
                "date-time",
                &["2026-11-30T10:00:00Z", "2026-11-30t10:00:00.5+01:00"],
                &["2026-11-30", "2026-02-30T10:00:00Z", "2026-11-30T24:00:00Z", "soon"],
            ),
            ("date", &["2024-02-29"], &["2023-02-29", "24-2-29", ""]),
            ("duration", &["1h30m", "-1.5h", "0", "3 days", "2wk"], &["", "1", "h", "soon"]),
            ("byte", &["YQ==", "YWJj"], &["", "YQ=", "a b"]),
            ("ipv4", &["1.2.3.4", "010.0.0.1"], &["1.2.3", "::1", "256.0.0.1"]),
            ("ipv6", &["::1", "fe80::1", "::ffff:1.2.3.4"], &["1.2.3.4", "::g", "fe80::1%eth0"]),
            ("cidr", &["10.0.0.0/8", "fd00::/64"], &["10.0.0.0", "10.0.0.0/33", "x/8"]),
            ("mac", &["00:11:22:33:44:55", "00-11-22-33-44-55", "0011.2233.4455"], &["00:11:22:33:44", "00112233445"]),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123E4567e89b12d3a456426614174000"], &["123e4567", ""]),
            ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-12d3-a456-426614174000"]),
            ("email", &["a@b.c", "Ann <a.b@c>"], &["a", "@b", "a b@c"]),
            (
                "uri",
                &["http://a/b?c", "/abs", "mailto:x@y", "http://[::1]:80/"],
                &["", "a/b", "http://a b/", "http://a:x/", "%zz"],
            ),
            ("hostname", &["a.example.com", "localhost", "1a"], &["-a", "a_b", "a..b"]),
            ("hexcolor", &["#fff", "a0b1c2"], &["#ff"]),
            ("rgbcolor", &["rgb(0,31,255)", "rgb(0,  31, 255)"], &["rgb(1,349,275)"]),
            ("creditcard", &["4220-8554-2622-2389"], &["4220855426213389"]),
            ("isbn", &["0321751043", "978-0321751041"], &["0321751044"]),
            ("ssn", &["123-45-6789"], &["123456789"]),
            ("bsonobjectid", &["507f1f77bcf86cd799439011"], &["x"]),
            ("k8s-short-name", &["a-1"], &["a.b", "A", "-a"]),
            ("k8s-long-name", &["a.b"], &["a_b"]),
            ("password", &["anything"], &[]),
        ];
        for (name, good, bad) in cases {
            let format = Format::parse(Some(Kind::String), name).unwrap();
            for text in *good {
                assert!(format.fits(text), "{name} must take {text}");
            }
            for text in *bad {
                assert!(!format.fits(text), "{name} must refuse {text}");
            }
        }
        assert_eq!(Format::parse(Some(Kind::String), "int32"), None);
        assert_eq!(Format::parse(Some(Kind::Integer), "uuid"), None);
    }
}
