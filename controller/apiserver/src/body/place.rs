//! Where in a body a value is, in the form in which upstream's problems tell it.

use std::fmt;

/// Where a value is. Made into a text only for a repeated key: nearly no body has one.
#[derive(Clone, Copy)]
pub(super) enum Place<'p> {
    Top,
    Field(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl Place<'_> {
    /// Whether the place is written so. Looks from the end, where most places differ.
    pub(super) fn is(&self, path: &str) -> bool {
        match self {
            Self::Top => path.is_empty(),
            Self::Field(Self::Top, name) => path == *name,
            Self::Field(above, name) => {
                let rest = path.strip_suffix(name).and_then(|rest| rest.strip_suffix('.'));
                rest.is_some_and(|rest| above.is(rest))
            }
            Self::Item(above, at) => {
                let open = path.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
                open.is_some_and(|(rest, number)| number.parse() == Ok(*at) && above.is(rest))
            }
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Top => Ok(()),
            Self::Field(Self::Top, name) => f.write_str(name),
            Self::Field(above, name) => write!(f, "{above}.{name}"),
            Self::Item(above, at) => write!(f, "{above}[{at}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_known_by_their_text() {
        let a = Place::Field(&Place::Top, "a.b");
        let item = Place::Item(&a, 3);
        let inside = Place::Field(&item, "c");
        assert_eq!(inside.to_string(), "a.b[3].c");
        assert!(inside.is("a.b[3].c") && !inside.is("a.b[2].c") && !inside.is("c") && !a.is("b"));
    }
}
