//! Acting as somebody else (`kubectl --as`), for those who may.

use http::HeaderMap;

use super::{Attributes, User, authorize};
use crate::status::ApiError;
use crate::store::Index;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";

/// The user whose rights count: the one who asks, or the one they want to be taken for.
pub(crate) fn impersonate(index: &Index, headers: &HeaderMap, user: User) -> Result<User, ApiError> {
    let texts = |name: &str| {
        let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let (names, groups) = (texts(USER), texts(GROUP));
    let Some(name) = names.first().filter(|name| !name.is_empty()) else {
        if groups.is_empty() {
            return Ok(user);
        }
        return Err(ApiError::bad_request("requested [{Group  }] without impersonating a user"));
    };
    let account = name.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    let mut wanted = vec![match account {
        Some((namespace, account)) => ask("serviceaccounts", account, namespace),
        None => ask("users", name, ""),
    }];
    wanted.extend(groups.iter().map(|group| ask("groups", group, "")));
    wanted.iter().try_for_each(|wanted| authorize(index, &user, wanted))?;
    let mut groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let in_namespace;
    if let Some((namespace, _)) = account.filter(|_| groups.is_empty()) {
        in_namespace = format!("system:serviceaccounts:{namespace}");
        groups.extend(["system:serviceaccounts", in_namespace.as_str()]);
    }
    if name == "system:anonymous" {
        return Ok(User::anonymous());
    }
    Ok(User::named(name, &groups))
}

fn ask(resource: &str, name: &str, namespace: &str) -> Attributes {
    Attributes {
        verb: "impersonate".to_owned(),
        resource: resource.to_owned(),
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        ..Attributes::default()
    }
}
