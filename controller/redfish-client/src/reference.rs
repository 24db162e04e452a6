//! Where a resource is: the path part of a link, whatever form the service wrote it in.

use std::fmt;

/// A path from the root of one service, such as `/redfish/v1/Systems/1`, in one normal form, so that it can be compared
/// and used as a key: no trailing slash, no double slashes, no host. A fragment is dropped, a query is kept.
///
/// Services write links with and without a trailing slash, even in one tree (HPE iLO 5), and as whole URLs under names
/// that only they can resolve; only the path of such a URL is used.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference(String);

impl Reference {
    /// Reads a link as a service wrote it; none if it leads nowhere, as an empty one or one with control characters or
    /// parent folders in it.
    #[must_use]
    pub fn parse(link: &str) -> Option<Self> {
        // Only what ASCII calls white: what else does would be cut off at another end the next time.
        let link = link.trim_ascii();
        if link.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
            return None;
        }
        let without_host = match link.split_once("://") {
            Some((scheme, rest)) if !scheme.contains(['/', '?', '#']) => rest.find('/').map(|at| rest.get(at..))?,
            _ => Some(link),
        }?;
        let without_fragment = without_host.split('#').next()?;
        let (path, query) = match without_fragment.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (without_fragment, None),
        };
        if !path.starts_with('/') {
            return None;
        }
        let mut normal = String::with_capacity(link.len());
        for part in path.split('/').filter(|part| !part.is_empty()) {
            if matches!(part, "." | "..") {
                return None;
            }
            normal.push('/');
            normal.push_str(part);
        }
        if normal.is_empty() {
            return None;
        }
        if let Some(query) = query {
            normal.push('?');
            normal.push_str(query);
        }
        Some(Self(normal))
    }

    /// The service root.
    #[must_use]
    pub fn root() -> Self {
        Self("/redfish/v1".to_owned())
    }

    /// The path, as it is sent.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part of the path: what the service calls the resource.
    #[must_use]
    pub fn id(&self) -> &str {
        let path = self.0.split('?').next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }

    /// The resource `name` below this one.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        Self(format!("{}/{name}", self.0.split('?').next().unwrap_or_default()))
    }

    /// The path without its last part, such as the collection of a member; none for a path of one part.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let path = self.0.split('?').next().unwrap_or_default();
        match path.rsplit_once('/') {
            Some((parent, _)) if !parent.is_empty() => Some(Self(parent.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_spellings_of_a_link_are_one() {
        for link in [
            "/redfish/v1/Systems/1",
            "/redfish/v1/Systems/1/",
            "//redfish/v1//Systems/1",
            "https://10.0.0.7/redfish/v1/Systems/1",
            "http://bmc.local:8443/redfish/v1/Systems/1/#/Links",
            " /redfish/v1/Systems/1#/Boot ",
        ] {
            assert_eq!(Reference::parse(link).unwrap().as_str(), "/redfish/v1/Systems/1", "{link}");
        }
        assert_eq!(Reference::parse("/redfish/v1/Logs?$skip=50").unwrap().as_str(), "/redfish/v1/Logs?$skip=50");
    }

    #[test]
    fn links_that_lead_nowhere() {
        for link in [
            "",
            "/",
            "#/Links",
            "redfish/v1",
            "https://10.0.0.7",
            "/redfish/../etc",
            "/a b",
            "/a\r\nHost: x",
            "/r/\u{a0}/",
        ] {
            assert_eq!(Reference::parse(link), None, "{link}");
        }
    }

    #[test]
    fn parts() {
        let system = Reference::parse("/redfish/v1/Systems/System.Embedded.1").unwrap();
        assert_eq!(system.id(), "System.Embedded.1");
        assert_eq!(system.child("Bios").as_str(), "/redfish/v1/Systems/System.Embedded.1/Bios");
        assert_eq!(system.parent().unwrap().as_str(), "/redfish/v1/Systems");
    }

    proptest! {
        #[test]
        fn normal_form_is_stable(link in ".{0,60}") {
            if let Some(reference) = Reference::parse(&link) {
                prop_assert_eq!(Reference::parse(reference.as_str()), Some(reference.clone()));
            }
        }
    }
}
