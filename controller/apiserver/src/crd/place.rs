//! Where in a definition something is, as `field.Path` writes it: `spec.versions[0].schema…properties[spec]`.

/// A place, with the way to it on the stack.
pub(super) struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: String,
}

impl<'a> Place<'a> {
    pub(super) fn root(path: &str) -> Self {
        Self { parent: None, step: path.to_owned() }
    }

    pub(super) fn child(&'a self, name: &str) -> Place<'a> {
        Place { parent: Some(self), step: format!(".{name}") }
    }

    pub(super) fn key(&'a self, key: &str) -> Place<'a> {
        Place { parent: Some(self), step: format!("[{key}]") }
    }

    pub(super) fn index(&'a self, at: usize) -> Place<'a> {
        Place { parent: Some(self), step: format!("[{at}]") }
    }

    pub(super) fn path(&self) -> String {
        let above = self.parent.map(Place::path).unwrap_or_default();
        format!("{above}{}", self.step)
    }
}
