//! Which groups of controllers run, as the command line says it.

use std::collections::BTreeSet;
use std::str::FromStr;

use bessemer_reconcilers::Group;

/// Groups whose kinds are served and have no controller yet: naming them is no mistake.
const WITHOUT_CONTROLLERS: &[&str] = &["ipam", "addons"];

/// A choice of controller groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Controllers(BTreeSet<Group>);

impl Controllers {
    /// The chosen groups.
    pub(crate) fn groups(&self) -> &BTreeSet<Group> {
        &self.0
    }

    /// As [`FromStr`], where no hosts can be booted: `all` are the others, and hosts are refused. Their controller would reset
    /// servers that could never enrol.
    pub(crate) fn without_hosts(text: &str) -> Result<Self, String> {
        let Self(mut groups) = text.parse()?;
        if groups.remove(&Group::Metal3) && text.trim() != "all" {
            return Err("metal3 (hosts) cannot run here yet: there is no boot server and no endpoint for agents; run `bessemer up --interface NAME` for hosts, or a later version".to_owned());
        }
        Ok(Self(groups))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromStr for Controllers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => return Ok(Self(Group::ALL.iter().copied().collect())),
            "none" | "" => return Ok(Self(BTreeSet::new())),
            _ => {}
        }
        let mut groups = BTreeSet::new();
        for name in text.split(',').map(str::trim) {
            match Group::ALL.iter().find(|group| group.name() == name) {
                Some(group) => _ = groups.insert(*group),
                None if WITHOUT_CONTROLLERS.contains(&name) => {}
                None => {
                    let known = Group::ALL.iter().map(|group| group.name()).chain(WITHOUT_CONTROLLERS.iter().copied());
                    let known = known.collect::<Vec<_>>().join(", ");
                    return Err(format!("no controllers are called {name:?}; there are {known}"));
                }
            }
        }
        Ok(Self(groups))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_named_one_by_one_or_all_at_once() {
        let count = |text: &str| text.parse::<Controllers>().map(|found| found.groups().len());
        assert_eq!(count("all"), Ok(Group::ALL.len()));
        assert_eq!((count("none"), count("metal3, cluster"), count("ipam,addons")), (Ok(0), Ok(2), Ok(0)));
        assert!(count("metal3,odd").unwrap_err().contains("\"odd\""));
    }

    #[test]
    fn hosts_are_left_out_or_refused_where_they_cannot_boot() {
        let all = Controllers::without_hosts("all").unwrap();
        assert_eq!(all.groups().len(), Group::ALL.len() - 1);
        assert!(!all.groups().contains(&Group::Metal3));
        assert_eq!(Controllers::without_hosts("cluster,bootstrap").unwrap().groups().len(), 2);
        for named in ["metal3", "cluster, metal3"] {
            let error = Controllers::without_hosts(named).unwrap_err();
            assert!(error.contains("metal3 (hosts)") && error.contains("bessemer up --interface"), "{error}");
        }
    }
}
