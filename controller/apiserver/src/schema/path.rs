//! Where in an object a value is. Built on the stack while walking, and written out only when there is a fault to
//! report: most values have none.

use std::fmt::Write as _;

/// One step of the way, with the way to it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Root(&'a str),
    Field(&'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Path<'a> {
    /// The start of a way; `name` is empty for a whole object.
    pub(crate) fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Root(name) }
    }

    /// A field that the schema names.
    pub(crate) fn field(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Field(name) }
    }

    /// A key of a map.
    pub(crate) fn key(&'a self, key: &'a str) -> Path<'a> {
        Path { parent: Some(self), step: Step::Key(key) }
    }

    /// An element of a list.
    pub(crate) fn index(&'a self, at: usize) -> Path<'a> {
        Path { parent: Some(self), step: Step::Index(at) }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    /// With dots before fields and keys: how schema validation writes it.
    pub(crate) fn dotted(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false);
        out
    }

    /// With keys in brackets: how `field.Path` writes it, which CEL rules and list checks use.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true);
        out
    }

    fn write(&self, out: &mut String, bracket_keys: bool) {
        if let Some(parent) = self.parent {
            parent.write(out, bracket_keys);
        }
        match self.step {
            Step::Root(name) => out.push_str(name),
            Step::Key(key) if bracket_keys => {
                let _ = write!(out, "[{key}]");
            }
            Step::Field(name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(at) => {
                let _ = write!(out, "[{at}]");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_writing() {
        let root = Path::root("");
        let (spec, list) = (root.field("spec"), "a.b");
        let spec_map = spec.key(list);
        let item = spec_map.index(3);
        assert_eq!(item.dotted(), "spec.a.b[3]");
        assert_eq!(item.bracketed(), "spec[a.b][3]");
        assert_eq!(Path::root("status").field("x").dotted(), "status.x");
    }
}
