//! Names of CRDs, which the contract has computed from the kind.

/// The English plural of a kind; one that ends in a single `s` is a plural already.
#[must_use]
pub fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    let consonant = |letter: Option<char>| letter.is_some_and(|letter| !"aeiou".contains(letter));
    match lower.strip_suffix('y') {
        Some(stem) if consonant(stem.chars().last()) => format!("{}ies", kind.get(..stem.len()).unwrap_or(kind)),
        _ if ["ss", "us", "x", "z", "ch", "sh"].iter().any(|end| lower.ends_with(end)) => format!("{kind}es"),
        _ if lower.ends_with('s') => kind.to_owned(),
        _ => format!("{kind}s"),
    }
}

/// The name that the CRD of a kind must have.
#[must_use]
pub fn crd_name(group: &str, kind: &str) -> String {
    format!("{}.{group}", plural(&kind.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_crds_are_named_so() {
        for crd in crate::crds() {
            let kind = &crd.spec.names.kind;
            // not computed by anybody: upstream's plural is irregular
            if kind != "HardwareData" {
                assert_eq!(crd.metadata.name.unwrap(), crd_name(&crd.spec.group, kind));
            }
        }
    }

    #[test]
    fn kinds_keep_their_case() {
        for (kind, many) in [("Machine", "Machines"), ("ClusterClass", "ClusterClasses"), ("Policy", "Policies")] {
            assert_eq!(plural(kind), many);
        }
    }
}
