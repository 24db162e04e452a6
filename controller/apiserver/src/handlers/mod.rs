//! The verbs. Each file is one; this one finds the resource that a request speaks about and picks the verb.

mod apply;
mod create;
mod delete;
mod json_patch;
mod list_options;
mod metadata;
mod options;
mod page;
mod patch;
mod read;
mod review;
mod scale;
mod strategic;
mod update;
mod versions;
mod warnings;
mod watch;
mod write;

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use serde_json::Value;
use tokio::sync::OwnedSemaphorePermit;

use self::metadata::Source;
use self::options::Options;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::patch::try_patch;
use self::write::{Ownership, Write};
use crate::access::{self, Attributes, User};
use crate::core::Core;
use crate::metrics::About;
use crate::registry::{Flavour, Resource};
use crate::represent::{self, Form};
use crate::request::{Query, ResourcePath, check_name, decode_path, read_body, usual_watch};
use crate::status::ApiError;
use crate::{Error, crd, discovery, health, openapi, pretty, yaml};

pub(crate) use read::{Listed, listed_item};
pub(crate) use warnings::warn;

/// How often a write is tried when the definition of its kind changes meanwhile.
const TRIES: usize = 8;

/// A request about a resource, with all that the verbs need.
pub(crate) struct Call {
    /// Who asks.
    pub(crate) user: User,
    pub(crate) resource: Arc<Resource>,
    pub(crate) namespace: String,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) form: Form,
}

/// Which part of an object a write changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but the status, when that has its own path.
    Main,
    Status,
    /// The finalizers in a namespace's spec.
    Finalize,
}

impl Part {
    /// How field ownership names the path.
    fn subresource(self) -> &'static str {
        match self {
            Self::Main => "",
            Self::Status => "status",
            Self::Finalize => "finalize",
        }
    }
}

impl Call {
    /// The refusal of a body that is no good object of the kind.
    fn cannot_be_handled(&self, why: &str) -> ApiError {
        let (kind, version) = (&self.resource.kind, &self.resource.version);
        ApiError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    }
}

/// Answers any request; errors become a Status.
pub(crate) async fn handle(core: Arc<Core>, mut request: Request<Body>) -> Response {
    if let Some(uri) = usual_watch(request.uri()) {
        *request.uri_mut() = uri;
    }
    let query = Query::parse(request.uri());
    let is_watch = request.method() == Method::GET && query.flag("watch");
    let pretty = !is_watch && pretty::is_wanted(&query, request.headers());
    let deprecated = deprecation(&core, request.uri().path());
    let (about, begun) = (About::of(&core.registry(), request.method(), request.uri().path(), &query), Instant::now());
    let in_yaml = !is_watch && yaml::is_wanted(request.headers());
    let mut response = match core.limits().enter(request.method(), is_watch).await {
        Ok(place) => route(&core, request, query, place).await.unwrap_or_else(IntoResponse::into_response),
        Err(error) => error.into_response(),
    };
    core.metrics().count(about, response.status().as_u16(), begun.elapsed());
    warn(&mut response, deprecated.as_slice());
    // Documents under their hash say themselves that they may be kept.
    let cached = response.headers_mut().entry(http::header::CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-cache, private"));
    match (in_yaml, pretty) {
        (true, _) => yaml::convert(response).await.unwrap_or_else(IntoResponse::into_response),
        (false, true) => pretty::indent(response),
        (false, false) => response,
    }
}

/// What to say to those who still use a deprecated version.
fn deprecation(core: &Core, path: &str) -> Option<String> {
    let path = ResourcePath::parse(&decode_path(path))?;
    let resource = core.registry().find(&path.group, &path.version, &path.plural)?;
    let fits = resource.namespaced || path.namespace.is_empty();
    resource.deprecated.clone().filter(|_| fits)
}

/// A request about a resource, before it is known which one that is.
struct Asked {
    head: Parts,
    path: ResourcePath,
    query: Query,
    user: User,
    /// Read when first needed.
    unread: Option<Body>,
    body: Bytes,
    place: Arc<OwnedSemaphorePermit>,
}

impl Asked {
    async fn body(&mut self) -> Result<Bytes, ApiError> {
        if let Some(unread) = self.unread.take() {
            self.body = read_body(unread).await?;
        }
        Ok(self.body.clone())
    }
}

async fn route(
    core: &Arc<Core>,
    request: Request<Body>,
    query: Query,
    place: OwnedSemaphorePermit,
) -> Result<Response, ApiError> {
    let (head, body) = request.into_parts();
    let decoded = decode_path(head.uri.path());
    let path = ResourcePath::parse(&decoded);
    let user = admit(core, &head, path.as_ref(), &query)?;
    let Some(path) = path else {
        if head.uri.path() == "/metrics" {
            return Ok(represent::metrics(core.metrics().text(&core.store().read())));
        }
        let asked = head.uri.path().trim_end_matches('/');
        if let Some(health) = health::answer(asked, &query, core.store().failure()) {
            return Ok(health);
        }
        let registry = core.registry();
        if let Some(answer) = discovery::answer(&registry, &head)? {
            return Ok(answer);
        }
        let known =
            (head.method == Method::GET).then(|| openapi::answer(&registry, &head.uri, &head.headers)).flatten();
        // Below /api everything is answered by the core group.
        return match known {
            None if decoded.starts_with("/api/") => Err(ApiError::no_such_path()),
            known => Ok(known.unwrap_or_else(represent::page_not_found)),
        };
    };
    let mut asked = Asked { head, path, query, user, unread: Some(body), body: Bytes::new(), place: Arc::new(place) };
    for _ in 1..TRIES {
        match serve(core, &mut asked).await {
            Err(error) if error.is_outdated() => {}
            answer => return answer,
        }
    }
    serve(core, &mut asked).await
}

/// Answers a request by what its kind is at this moment.
async fn serve(core: &Arc<Core>, asked: &mut Asked) -> Result<Response, ApiError> {
    let (registry, path, method) = (core.registry(), asked.path.clone(), asked.head.method.clone());
    let Some(resource) = registry.find(&path.group, &path.version, &path.plural) else {
        // Where no such group is, nothing answers; where it is, the group does.
        return if path.group.is_empty() || registry.has_built_in(&path.group, &path.version) {
            Err(ApiError::no_such_path())
        } else {
            Ok(represent::page_not_found())
        };
    };
    // An object of a namespaced kind needs its namespace in the path; a cluster-scoped kind has none.
    let misplaced =
        if resource.namespaced { path.namespace.is_empty() && path.name.is_some() } else { !path.namespace.is_empty() };
    let misplaced =
        misplaced || resource.is_custom() && resource.namespaced && path.namespace.is_empty() && method == Method::POST;
    if misplaced {
        return if resource.is_custom() { Ok(represent::page_not_found()) } else { Err(ApiError::no_such_path()) };
    }
    let is_route = path.subresource.as_deref().is_none_or(|part| has_part(&resource, part));
    if !resource.is_custom() && !is_route {
        return Err(ApiError::no_such_path());
    }
    // A delete looks at its options first.
    if method != Method::DELETE || path.subresource.is_some() {
        path.name.as_deref().map_or(Ok(()), check_name)?;
    }
    let lists = path.name.is_none() && method == Method::GET;
    let form = Form::parse(&asked.head.headers, &asked.query, &resource, !lists)?;
    let (user, query, headers) = (asked.user.clone(), asked.query.clone(), asked.head.headers.clone());
    if path.subresource.as_deref() == Some("scale") && resource.scale.is_some() {
        let name = path.name.unwrap_or_default();
        let call = Call { user, resource, namespace: path.namespace, query, headers, form };
        return scale::handle(core, call, method, name, asked.body()).await;
    }
    let finalizes = resource.flavour == Flavour::Namespace && path.subresource.as_deref() == Some("finalize");
    let part = match path.subresource.as_deref() {
        None => Part::Main,
        Some("status") if resource.has_status => Part::Status,
        Some(_) if finalizes => Part::Finalize,
        // Upstream looks for the object of a custom kind with what it does not know.
        Some(_) if resource.is_custom() => {
            return Err(ApiError::not_found(resource.subject(path.name.as_deref().unwrap_or_default())));
        }
        // Refused above.
        Some(_) => return Err(ApiError::no_such_path()),
    };
    if part == Part::Status && resource.is_custom() {
        match method {
            Method::POST => return Err(ApiError::not_supported(&resource.subject(""), "create")),
            Method::DELETE => return Err(ApiError::not_supported(&resource.subject(""), "delete")),
            _ => {}
        }
    }
    let call = Call { user, resource, namespace: path.namespace, query, headers, form };
    match (method, path.name) {
        (Method::POST, None) if call.resource.flavour == Flavour::Review => {
            review::review(core, &call, &asked.body().await?)
        }
        (_, Some(_)) if call.resource.flavour == Flavour::Review => Err(ApiError::no_such_path()),
        _ if call.resource.flavour == Flavour::Review => Err(ApiError::method_not_allowed()),
        (method, _) if finalizes && method != Method::PUT => Err(ApiError::method_not_allowed()),
        (Method::DELETE, None) if !call.resource.allows("deletecollection") => Err(ApiError::method_not_allowed()),
        (Method::GET, None) if call.query.flag("watch") => watch::watch(core, call, Arc::clone(&asked.place)),
        (Method::GET, None) => read::list(core, &call),
        (Method::GET, Some(name)) => read::get(core, &call, &name),
        (Method::POST, None) => create::create(core, call, &asked.body().await?).await,
        (Method::PUT, Some(name)) => update::update(core, call, name, part, &asked.body().await?).await,
        (Method::PATCH, Some(name)) => patch::patch(core, call, name, part, &asked.body().await?).await,
        (Method::DELETE, Some(name)) if part == Part::Main => {
            delete::delete(core, call, name, &asked.body().await?).await
        }
        (Method::DELETE, None) => delete::delete_collection(core, call, &asked.body().await?).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

/// Whether a built-in kind has this subresource.
fn has_part(resource: &Resource, part: &str) -> bool {
    match part {
        "status" => resource.has_status,
        "finalize" => resource.flavour == Flavour::Namespace,
        _ => false,
    }
}

/// Who asks, once it is clear that they may.
fn admit(core: &Core, head: &Parts, path: Option<&ResourcePath>, query: &Query) -> Result<User, ApiError> {
    // Who comes without a listener in between holds the server itself.
    let user = head.extensions.get::<User>().cloned().unwrap_or_else(User::administrator);
    let index = core.store().read();
    let user = access::impersonate(&index, &head.headers, user)?;
    let wanted = match path {
        Some(path) => Attributes::of_resource(&head.method, path, query),
        None => Attributes::of_path(&head.method, head.uri.path()),
    };
    access::authorize(&index, &user, &wanted)?;
    Ok(user)
}

/// Whether the one who applies or updates may also create: that right is not enough where nothing is yet.
fn may_create(core: &Core, call: &Call, name: &str) -> Result<(), ApiError> {
    let resource = &call.resource;
    let wanted = Attributes::of_create(resource, &call.namespace, name);
    access::authorize(&core.store().read(), &call.user, &wanted)
}

/// A written object as the answer, with a warning for each field that was dropped.
fn written(call: &Call, code: StatusCode, object: &Value, warnings: &[String]) -> Result<Response, ApiError> {
    let served = write::served(&call.resource, object)?;
    let mut response = represent::answer(code, &call.form.object(&call.resource, &served));
    warn(&mut response, warnings);
    Ok(response)
}

/// An object of a built-in, cluster-scoped kind that the server itself stores.
pub(crate) struct Own {
    pub(crate) group: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) object: Value,
}

/// Stores objects as given, all or none, in one write: creates each, or replaces it unless it is to be kept.
pub(crate) async fn put(core: &Core, objects: Vec<Own>, keep: bool) -> Result<(), Error> {
    let mut writes = Vec::new();
    for Own { group, plural, mut object } in objects {
        let name = crate::object::name(&object).to_owned();
        let admitted = admit_own(core, group, plural, &mut object);
        writes.push((admitted.map_err(|error| refused(&name, &error))?, name, object));
    }
    let put = move |txn: &mut crate::store::Txn<'_>| {
        for (write, name, object) in writes {
            put_one(txn, &write, &name, object, keep).map_err(|error| refused(&name, &error))?;
        }
        Ok(())
    };
    core.store().write(put).await
}

fn admit_own(core: &Core, group: &str, plural: &str, object: &mut Value) -> Result<Write, ApiError> {
    let resource = core.registry().find(group, "v1", plural).ok_or_else(ApiError::no_such_path)?;
    let call = Call {
        user: User::administrator(),
        resource: Arc::clone(&resource),
        namespace: String::new(),
        query: Query::default(),
        headers: HeaderMap::new(),
        form: Form::Whole,
    };
    write::admit(&call, object, Source::Trusted)?;
    Ok(Write::new(core, &resource, Options::of_the_server(), Part::Main))
}

fn put_one(
    txn: &mut crate::store::Txn<'_>,
    write: &Write,
    name: &str,
    mut object: Value,
    keep: bool,
) -> Result<(), ApiError> {
    let resource = write.resource();
    let Some(current) = txn.get(&resource.key("", name)) else {
        return write.insert(txn, object, Ownership::Tracked).map(drop);
    };
    // What people may change is theirs once it is there.
    if keep || (resource.flavour == Flavour::Definition && crd::is_stored(&object, &current)) {
        return Ok(());
    }
    // Whatever is there is replaced.
    let version = crate::object::resource_version(&current).to_owned();
    crate::object::set_meta(&mut object, "resourceVersion", version);
    write.replace(txn, &current, object, Ownership::Tracked).map(drop)
}

fn refused(name: &str, error: &ApiError) -> Error {
    Error::Install { name: name.to_owned(), message: error.to_string() }
}
