//! Delete and deletecollection. Finalizers hold an object back; what hangs on it is removed by garbage collection.

use std::sync::Arc;

use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::list_options::integer;
use super::page::Token;
use super::{Call, read, write, written};
use crate::core::Core;
use crate::flavour;
use crate::lifecycle::{self, Policy, Removal};
use crate::object;
use crate::registry::{Flavour, Resource};
use crate::represent::answer;
use crate::request::{check_name, parse_delete_options};
use crate::selector::Selector;
use crate::status::{ApiError, Cause, Subject};
use crate::store::Txn;

/// Namespaces that may not be deleted.
const KEPT_NAMESPACES: &[&str] = &["default", "kube-system", "kube-public"];

/// What a delete asks for.
#[derive(Debug, Clone)]
struct Options {
    uid: Option<String>,
    version: Option<String>,
    policy: Policy,
    dry_run: bool,
}

impl Options {
    /// From the body when there is one, else from the query, as upstream reads them.
    fn parse(call: &Call, body: &[u8]) -> Result<Self, ApiError> {
        let options = if body.is_empty() { from_query(call)? } else { parse_delete_options(&call.headers, body)? };
        let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let policy = text("/propagationPolicy");
        let orphans = options.get("orphanDependents").and_then(Value::as_bool);
        let dry_run = options.get("dryRun").and_then(Value::as_array).filter(|list| !list.is_empty());
        let mut causes = Vec::new();
        if let (Some(policy), Some(_)) = (&policy, orphans) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            causes.push(Cause::invalid("propagationPolicy", &policy.as_str().into(), detail));
        }
        let parsed = match policy.as_deref() {
            None if orphans == Some(true) => Policy::Orphan,
            None if orphans == Some(false) => Policy::Background,
            None => Policy::Unsaid,
            Some("Orphan") => Policy::Orphan,
            Some("Foreground") => Policy::Foreground,
            Some("Background") => Policy::Background,
            Some(other) => {
                let known = ["Foreground", "Background", "Orphan", "nil"].map(Into::into);
                causes.push(Cause::unsupported("propagationPolicy", &other.into(), &known));
                Policy::Unsaid
            }
        };
        if dry_run.is_some_and(|list| list.iter().any(|what| what != "All")) {
            let found = options.get("dryRun").cloned().unwrap_or_default();
            causes.push(Cause::unsupported("dryRun", &found, &["All".into()]));
        }
        if !causes.is_empty() {
            let subject = Subject { group: "meta.k8s.io".into(), kind: "DeleteOptions".into(), name: String::new() };
            return Err(ApiError::invalid(subject, causes));
        }
        Ok(Self {
            uid: text("/preconditions/uid"),
            version: text("/preconditions/resourceVersion"),
            policy: parsed,
            dry_run: dry_run.is_some(),
        })
    }

    fn check(&self, resource: &Resource, object: &Value) -> Result<(), ApiError> {
        let subject = || resource.kind_subject(object::name(object));
        if let Some(wanted) = self.uid.as_deref().filter(|wanted| *wanted != object::uid(object)) {
            let found = object::uid(object);
            let why = format!(
                "the UID in the precondition ({wanted}) does not match the UID in record ({found}). The object might \
                 have been deleted and then recreated"
            );
            return Err(ApiError::conflict(subject(), &why));
        }
        if let Some(wanted) = self.version.as_deref().filter(|wanted| *wanted != object::resource_version(object)) {
            let found = object::resource_version(object);
            let why = format!(
                "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
                 ({found}). The object might have been modified"
            );
            return Err(ApiError::conflict(subject(), &why));
        }
        Ok(())
    }
}

fn from_query(call: &Call) -> Result<Value, ApiError> {
    let mut options = json!({});
    let mut set = |name: &str, value: Value| object::set_field(&mut options, name, value);
    match call.query.get("propagationPolicy") {
        "" => {}
        policy => set("propagationPolicy", policy.into()),
    }
    match call.query.all("dryRun") {
        dry_run if dry_run.is_empty() => {}
        dry_run => set("dryRun", json!(dry_run)),
    }
    integer(call.query.get("gracePeriodSeconds"))?;
    match call.query.get("orphanDependents") {
        "" => {}
        _ => set("orphanDependents", call.query.flag("orphanDependents").into()),
    }
    Ok(options)
}

pub(super) async fn delete(core: &Core, call: Call, name: String, body: &Bytes) -> Result<Response, ApiError> {
    let options = Options::parse(&call, body)?;
    check_name(&name)?;
    let (resource, namespace) = (Arc::clone(&call.resource), call.namespace.clone());
    let removal = core
        .store()
        .write(move |txn| {
            let current = write::stored(txn, &resource, &namespace, &name)?;
            options.check(&resource, &current)?;
            write::dry_run(txn, options.dry_run, |txn| remove(txn, &resource, &current, options.policy))
        })
        .await?;
    match removal {
        Removal::Gone(object) if shows_what_is_gone(&call.resource) => written(&call, StatusCode::OK, &object, &[]),
        Removal::Gone(object) => Ok(gone(&call.resource, &object)),
        Removal::Waiting(object) => written(&call, StatusCode::OK, &object, &[]),
    }
}

pub(super) async fn delete_collection(core: &Core, call: Call, body: &Bytes) -> Result<Response, ApiError> {
    let resource = Arc::clone(&call.resource);
    // A namespaced kind is deleted in one namespace at a time: a forgotten one must not mean all of them.
    if resource.namespaced && call.namespace.is_empty() {
        return Err(ApiError::method_not_allowed());
    }
    let options = Options::parse(&call, body)?;
    let selector = Selector::parse(&resource, call.query.get("labelSelector"), call.query.get("fieldSelector"))?;
    let namespace = call.namespace.clone();
    let most = match call.query.get("limit") {
        "" | "0" => usize::MAX,
        limit => limit.parse().map_err(|_| ApiError::bad_request(format!("invalid limit {limit:?}")))?,
    };
    let version = core.store().read().version();
    let selects_all = selector.is_empty();
    let (removed, rest) = core
        .store()
        .write(move |txn| {
            write::dry_run(txn, options.dry_run, |txn| {
                let (mut removed, mut last) = (Vec::new(), None);
                let found = txn.list(&resource.stored_as, &namespace);
                for (seen, current) in found.iter().enumerate() {
                    if removed.len() == most {
                        return Ok((removed, last.map(|last| (last, found.len() - seen))));
                    }
                    let served = flavour::to_served(&resource, Value::clone(current))?;
                    if selector.matches(&served) {
                        options.check(&resource, current)?;
                        remove(txn, &resource, current, options.policy)?;
                        removed.push(served);
                    }
                    last = Some(object::name(current).to_owned());
                }
                Ok::<_, ApiError>((removed, None))
            })
        })
        .await?;
    call.form.check_list(&call.resource)?;
    let mut list = call.form.list(&call.resource, &removed, version);
    if let Some((last, left)) = rest {
        // As the list that upstream goes by would say where it goes on.
        let metadata = read::continued(&Token::behind(version, &last), selects_all.then_some(left));
        if let Some(found) = object::meta_mut(&mut list) {
            found.extend(metadata);
        }
    }
    Ok(answer(StatusCode::OK, &list))
}

fn remove(txn: &mut Txn<'_>, resource: &Resource, current: &Arc<Value>, policy: Policy) -> Result<Removal, ApiError> {
    let name = object::name(current);
    match resource.flavour {
        Flavour::Namespace if KEPT_NAMESPACES.contains(&name) => {
            Err(ApiError::forbidden(resource.subject(name), "this namespace may not be deleted"))
        }
        Flavour::Namespace => Ok(lifecycle::remove_namespace(txn, current)),
        Flavour::Definition => Ok(lifecycle::remove_definition(txn, current)),
        _ => Ok(lifecycle::remove(txn, &resource.key(object::namespace(current), name), current, policy)),
    }
}

/// Kinds whose removed objects are the answer to their removal.
fn shows_what_is_gone(resource: &Resource) -> bool {
    matches!(resource.flavour, Flavour::ServiceAccount | Flavour::Namespace)
}

/// The answer when an object is gone at once.
fn gone(resource: &Resource, object: &Value) -> Response {
    let mut details = json!({"name": object::name(object), "kind": resource.plural, "uid": object::uid(object)});
    if !resource.group.is_empty() {
        object::set_field(&mut details, "group", resource.group.as_str().into());
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
    answer(StatusCode::OK, &status)
}
