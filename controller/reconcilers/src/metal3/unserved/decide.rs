//! Whether to say it.

use bessemer_api::well_known::PAUSED_ANNOTATION;
use jiff::Timestamp;

use super::kinds::Unserved;
use crate::kubernetes::is_deleting;

/// The object as it should be: told of, unless it is going or paused.
pub(super) fn decide<K: Unserved>(seen: &K, now: Timestamp) -> K {
    let mut after = seen.clone();
    let paused = seen.meta().annotations.as_ref().is_some_and(|all| all.contains_key(PAUSED_ANNOTATION));
    if !paused && !is_deleting(seen) {
        after.say(now);
    }
    after
}

#[cfg(test)]
mod tests {
    use bessemer_api::metal3::{HostClaim, HostUpdatePolicy};
    use kube::ResourceExt;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn what_has_been_said_is_not_said_again() {
        let first = decide(&HostClaim::new("c", Default::default()), at(10));
        let status = first.status.clone().unwrap();
        assert_eq!(status.conditions[0].type_, "Ready");
        assert_eq!(
            (status.conditions[0].status.as_str(), status.conditions[0].reason.as_str()),
            ("False", "NotImplemented")
        );
        assert_eq!(decide(&first, at(99)), first);
        let policy = decide(&HostUpdatePolicy::new("p", Default::default()), at(10));
        assert_eq!(decide(&policy, at(99)), policy);
    }

    #[test]
    fn paused_and_going_objects_are_left_alone() {
        let mut claim = HostClaim::new("c", Default::default());
        claim.annotations_mut().insert(PAUSED_ANNOTATION.to_owned(), String::new());
        assert_eq!(decide(&claim, at(10)), claim);
        let mut claim = HostClaim::new("c", Default::default());
        claim.metadata.deletion_timestamp = Some(bessemer_api::Time(at(5)));
        assert_eq!(decide(&claim, at(10)), claim);
    }
}
