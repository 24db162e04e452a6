//! What an object that is referred to says of itself, shown by the one that refers to it.

use bessemer_api::conditions::{self, NOT_YET_REPORTED, Status, Wanted, wanted};
use bessemer_api::{Condition, ContractReference};

/// The condition `theirs` of the object that is referred to, under the name `type_`. `list` holds that object's
/// conditions, none of them while it has no status; it is `None` when there is no such object.
pub(crate) fn mirrored(
    type_: &'static str,
    theirs: &str,
    reference: &ContractReference,
    list: Option<&[Condition]>,
) -> Wanted {
    let name = format!("{} {}", reference.kind, reference.name);
    let missing = match list {
        Some(_) => wanted(type_, Status::Unknown, NOT_YET_REPORTED, format!("{name} shows no condition yet")),
        None => wanted(type_, false, "ObjectDoesNotExist", format!("{name} does not exist")),
    };
    conditions::mirror(list.unwrap_or_default(), theirs, type_, Some(missing))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::kubernetes::time;

    #[test]
    fn what_is_missing_is_named() {
        let reference =
            ContractReference { api_group: "g".to_owned(), kind: "Metal3Cluster".to_owned(), name: "c".to_owned() };
        let mut list = Vec::new();
        conditions::set(&mut list, wanted("Ready", false, "Waiting", "for a host"), None, time(Timestamp::UNIX_EPOCH));
        for (theirs, status, reason, message) in [
            (Some(list.as_slice()), Status::False, "Waiting", "for a host"),
            (Some([].as_slice()), Status::Unknown, "NotYetReported", "Metal3Cluster c shows no condition yet"),
            (None, Status::False, "ObjectDoesNotExist", "Metal3Cluster c does not exist"),
        ] {
            let shown = mirrored("InfrastructureReady", "Ready", &reference, theirs);
            assert_eq!((shown.type_, shown.status), ("InfrastructureReady", status));
            assert_eq!((shown.reason.as_str(), shown.message.as_str()), (reason, message));
        }
    }
}
