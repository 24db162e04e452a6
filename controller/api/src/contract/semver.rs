//! Kubernetes versions, tolerant of a `v` and of missing parts, and compared with their build tags.

use std::cmp::Ordering;

/// A version. Prerelease and build are identifiers between dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    numbers: [u64; 3],
    prerelease: Vec<String>,
    build: Vec<String>,
}

impl Version {
    /// Reads `v1.36.2+build.7`, `1.36` and their like; none if it is no version.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('v').unwrap_or(text);
        let (text, build) = text.split_once('+').unwrap_or((text, ""));
        let (text, prerelease) = text.split_once('-').unwrap_or((text, ""));
        let identifiers = |text: &str| -> Vec<String> {
            if text.is_empty() { Vec::new() } else { text.split('.').map(str::to_owned).collect() }
        };
        let mut parts = text.split('.');
        let mut numbers = [0; 3];
        for (place, number) in numbers.iter_mut().enumerate() {
            match parts.next() {
                Some(part) => *number = part.parse().ok()?,
                None if place > 0 => {}
                None => return None,
            }
        }
        parts.next().is_none().then(|| Self { numbers, prerelease: identifiers(prerelease), build: identifiers(build) })
    }

    /// By build tags too, if all else is equal; none if these differ without an order, as commit hashes do.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        let precedence = self.numbers.cmp(&other.numbers).then_with(|| prerelease(&self.prerelease, &other.prerelease));
        if precedence != Ordering::Equal {
            return Some(precedence);
        }
        for (ours, theirs) in self.build.iter().zip(&other.build) {
            match identifier(ours, theirs) {
                Ordering::Equal => {}
                _ if ours.parse::<u64>().is_err() && theirs.parse::<u64>().is_err() => return None,
                order => return Some(order),
            }
        }
        Some(self.build.len().cmp(&other.build.len()))
    }

    /// Newer than `other`, or built otherwise.
    pub(super) fn is_newer_or_other_build(&self, other: &Self) -> bool {
        self.compare(other).is_none_or(|order| order == Ordering::Greater)
    }

    /// Older than `other`.
    pub(super) fn is_older(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Less)
    }
}

/// A release comes after all its prereleases.
fn prerelease(ours: &[String], theirs: &[String]) -> Ordering {
    match (ours.is_empty(), theirs.is_empty()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let parts = ours.iter().zip(theirs).map(|(ours, theirs)| identifier(ours, theirs));
            parts.fold(Ordering::Equal, Ordering::then).then(ours.len().cmp(&theirs.len()))
        }
    }
}

/// Numbers by value and before any text.
fn identifier(ours: &str, theirs: &str) -> Ordering {
    match (ours.parse::<u64>(), theirs.parse::<u64>()) {
        (Ok(ours), Ok(theirs)) => ours.cmp(&theirs),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => ours.cmp(theirs),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_an_order() {
        for (ours, theirs, order) in [
            ("v1.36.2", "1.36.2", Some(Ordering::Equal)),
            ("v1.36", "v1.36.0", Some(Ordering::Equal)),
            ("v1.36.10", "v1.36.9", Some(Ordering::Greater)),
            ("v1.36.0-rc.1", "v1.36.0", Some(Ordering::Less)),
            ("v1.36.0-rc.2", "v1.36.0-rc.10", Some(Ordering::Less)),
            ("v1.36.0-alpha.1", "v1.36.0-alpha.beta", Some(Ordering::Less)),
            ("v1.36.0+a.1", "v1.36.0+a.2", Some(Ordering::Less)),
            ("v1.36.0+a", "v1.36.0+a.2", Some(Ordering::Less)),
            ("v1.36.0", "v1.36.0+a", Some(Ordering::Less)),
            ("v1.36.0+1", "v1.36.0+a", Some(Ordering::Less)),
            ("v1.36.0+cafe", "v1.36.0+beef", None),
        ] {
            let read = |text| Version::parse(text).unwrap();
            assert_eq!(read(ours).compare(&read(theirs)), order, "{ours} {theirs}");
            assert_eq!(read(theirs).compare(&read(ours)), order.map(Ordering::reverse), "{theirs} {ours}");
        }
        for text in ["", "v", "latest", "v1.x", "v1.2.3.4", "v-1"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
