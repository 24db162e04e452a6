//! Who asks, and what they may do: users as authentication found them, role-based access control over the stored roles
//! and bindings, and the reviews that tell people about it. Knows nothing of TLS or tokens.

mod bootstrap;
mod impersonate;
mod rbac;
mod review;
mod user;

use http::Method;

pub(crate) use bootstrap::defaults;
pub(crate) use impersonate::impersonate;
pub(crate) use rbac::Roles;
pub(crate) use review::answer;
pub(crate) use user::User;

use crate::registry::{Flavour, Resource};
use crate::request::{Query, ResourcePath};
use crate::selector;
use crate::status::{ApiError, Subject};
use crate::store::Index;

/// What a request wants to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// Set when the request is about no resource.
    pub(crate) path: Option<String>,
}

impl Attributes {
    /// What a request about a resource wants.
    pub(crate) fn of_resource(method: &Method, path: &ResourcePath, query: &Query) -> Self {
        let name = path.name.clone().unwrap_or_default();
        let verb = match (method, name.is_empty()) {
            (&Method::POST, _) => "create",
            (&Method::PUT, _) => "update",
            (&Method::PATCH, _) => "patch",
            (&Method::DELETE, true) => "deletecollection",
            (&Method::DELETE, false) => "delete",
            (_, true) if query.flag("watch") => "watch",
            (_, true) => "list",
            (_, false) => "get",
        };
        // A namespace is in itself, so that who may do all in it may also look at it.
        let own = path.group.is_empty() && path.plural == "namespaces";
        let namespace = if own { name.clone() } else { path.namespace.clone() };
        // Rules about named objects hold for who lists or watches just that one; upstream does not do so for deletions.
        let name = match verb {
            "list" | "watch" => selector::one_name(query.get("fieldSelector")).unwrap_or_default(),
            _ => name,
        };
        Self {
            verb: verb.to_owned(),
            group: path.group.clone(),
            resource: path.plural.clone(),
            subresource: path.subresource.clone().unwrap_or_default(),
            namespace,
            name,
            path: None,
        }
    }

    /// What it takes to create a named object, whichever way the request came.
    pub(crate) fn of_create(resource: &Resource, namespace: &str, name: &str) -> Self {
        let own = resource.flavour == Flavour::Namespace;
        Self {
            verb: "create".to_owned(),
            group: resource.group.clone(),
            resource: resource.plural.clone(),
            namespace: if own { name } else { namespace }.to_owned(),
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// What a request about anything else wants.
    pub(crate) fn of_path(method: &Method, path: &str) -> Self {
        let verb = method.as_str().to_ascii_lowercase();
        Self { verb, path: Some(path.to_owned()), ..Self::default() }
    }

    /// The resource with its subresource, as rules name it.
    fn full_resource(&self) -> String {
        match self.subresource.as_str() {
            "" => self.resource.clone(),
            sub => format!("{}/{sub}", self.resource),
        }
    }

    fn refusal(&self, user: &User) -> ApiError {
        let name = &user.name;
        if let Some(path) = &self.path {
            return ApiError::forbidden_path(format!(
                "forbidden: User \"{name}\" cannot {} path \"{path}\"",
                self.verb
            ));
        }
        let scope = match self.namespace.as_str() {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace \"{namespace}\""),
        };
        let why = format!(
            "User \"{name}\" cannot {} resource \"{}\" in API group \"{}\" {scope}",
            self.verb,
            self.full_resource(),
            self.group
        );
        let subject = Subject { group: self.group.clone(), kind: self.resource.clone(), name: self.name.clone() };
        ApiError::forbidden(subject, &why)
    }
}

/// Lets a request through, or says in upstream's words why not.
pub(crate) fn authorize(index: &Index, user: &User, wanted: &Attributes) -> Result<(), ApiError> {
    if user.is_master() || Roles::of(index, user, &wanted.namespace).allow(wanted) {
        return Ok(());
    }
    Err(wanted.refusal(user))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of a real server.
    #[test]
    fn refusals_read_as_upstream_says_them() {
        let bob = User::named("bob", &["dev"]);
        let refused = |method: Method, path: &str| {
            let path = ResourcePath::parse(path).unwrap();
            Attributes::of_resource(&method, &path, &Query::default()).refusal(&bob).to_value()["message"].clone()
        };
        assert_eq!(
            refused(Method::GET, "/api/v1/namespaces"),
            "namespaces is forbidden: User \"bob\" cannot list resource \"namespaces\" in API group \"\" at the cluster scope"
        );
        assert_eq!(
            refused(Method::GET, "/api/v1/namespaces/default/secrets/x"),
            "secrets \"x\" is forbidden: User \"bob\" cannot get resource \"secrets\" in API group \"\" in the namespace \"default\""
        );
        assert_eq!(
            refused(Method::PUT, "/api/v1/namespaces/default/status"),
            "namespaces \"default\" is forbidden: User \"bob\" cannot update resource \"namespaces/status\" in API group \"\" in the namespace \"default\""
        );
        let lists = |method: Method, query: &str| {
            let path = ResourcePath::parse("/api/v1/namespaces/default/configmaps").unwrap();
            let query = Query::parse(&format!("/?{query}").parse().unwrap());
            let wanted = Attributes::of_resource(&method, &path, &query);
            (wanted.verb, wanted.name)
        };
        let asks = |verb: &str, name: &str| (verb.to_owned(), name.to_owned());
        assert_eq!(lists(Method::GET, "fieldSelector=metadata.name%3Dx"), asks("list", "x"));
        assert_eq!(lists(Method::GET, "watch=1&fieldSelector=metadata.name%3Dx"), asks("watch", "x"));
        assert_eq!(lists(Method::GET, "fieldSelector=nonsense"), asks("list", ""));
        assert_eq!(lists(Method::DELETE, "fieldSelector=metadata.name%3Dx"), asks("deletecollection", ""));
        let path = Attributes::of_path(&Method::GET, "/metrics").refusal(&bob).to_value();
        assert_eq!(path["message"], "forbidden: User \"bob\" cannot get path \"/metrics\"");
    }
}
