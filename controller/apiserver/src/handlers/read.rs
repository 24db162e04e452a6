//! Get and list, from the in-memory index: of the newest state, or of an earlier one that is still remembered.

use std::borrow::Cow;
use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value};

use super::Call;
use super::list_options::{ListOptions, Wanted, parse_version};
use super::page::Token;
use crate::core::Core;
use crate::flavour;
use crate::registry::{Flavour, Resource};
use crate::represent::{self, Form};
use crate::selector::Selector;
use crate::status::ApiError;
use crate::store::{Expired, Page, Record};

pub(super) fn get(core: &Core, call: &Call, name: &str) -> Result<Response, ApiError> {
    if call.query.flag("export") {
        let why = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(ApiError::bad_request(why));
    }
    let wanted = parse_version(call.query.get("resourceVersion")).map_err(ApiError::unexplained)?;
    let key = call.resource.key(&call.namespace, name);
    let found = {
        let index = core.store().read();
        if wanted > index.version() {
            return Err(ApiError::too_new(wanted, index.version()));
        }
        index.record(&key).cloned()
    };
    let found = found.ok_or_else(|| ApiError::not_found(call.resource.subject(name)))?;
    call.form.check_object(&call.resource)?;
    if call.form == Form::Whole
        && let Some(bytes) = as_stored(&call.resource, &found)
    {
        let mut bytes = bytes.into_owned();
        bytes.push(b'\n');
        return Ok(represent::json(StatusCode::OK, bytes));
    }
    Ok(represent::answer(StatusCode::OK, &call.form.object(&call.resource, &served(&call.resource, &found)?)))
}

/// An object in the version that the client asked for.
pub(super) fn served(resource: &Resource, record: &Record) -> Result<Value, ApiError> {
    flavour::to_served(resource, Value::clone(&record.value()))
}

/// The object's bytes, when they can be sent as they are.
pub(super) fn as_stored<'a>(resource: &Resource, record: &'a Record) -> Option<Cow<'a, [u8]>> {
    let bytes = record.json();
    let current = match resource.flavour {
        Flavour::NewEvent | Flavour::CoreEvent | Flavour::Role | Flavour::ClusterRole => false,
        // The fields of stored objects are in order, which begins with their version.
        Flavour::Custom => {
            let version = resource.api_version();
            if resource.conversion.predates(record.version()) {
                return None;
            }
            let rest = bytes.strip_prefix(b"{\"apiVersion\":\"");
            rest.and_then(|rest| rest.strip_prefix(version.as_bytes())).is_some_and(|rest| rest.starts_with(b"\""))
        }
        _ => true,
    };
    current.then_some(bytes)
}

/// Whether an object is selected.
pub(super) fn is_selected(resource: &Resource, selector: &Selector, record: &Record) -> Result<bool, ApiError> {
    if selector.is_empty() {
        return Ok(true);
    }
    let object = record.value();
    if flavour::is_stored_form(resource, &object) {
        return Ok(selector.matches(&object));
    }
    Ok(selector.matches(&served(resource, record)?))
}

pub(super) fn list(core: &Core, call: &Call) -> Result<Response, ApiError> {
    let options = ListOptions::parse(call)?;
    let page = page(core, call, &options.wanted)?;
    call.form.check_list(&call.resource)?;
    let (version, total) = (page.version, page.objects.len());
    let mut taken = 0;
    let mut last = String::new();
    let mut objects = Vec::new();
    for (place, record) in page.objects {
        if options.limit > 0 && objects.len() == options.limit {
            break;
        }
        taken += 1;
        if is_selected(&call.resource, &options.selector, &record)? {
            objects.push(Listed::new(&call.resource, record)?);
        }
        last = place;
    }
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), version.to_string().into());
    if taken < total {
        let inside = last.strip_prefix(&prefix(&call.namespace)).unwrap_or(&last);
        let left = options.selector.is_empty().then_some(total - taken);
        metadata.extend(continued(&Token::behind(version, inside), left));
    } else if call.resource.is_custom() && call.form == Form::Whole {
        metadata.insert("continue".to_owned(), "".into());
    }
    Ok(represent::list(call.form, &call.resource, metadata, objects))
}

/// What the metadata of a page say of those to come, and of how many objects they hold where that is known.
pub(super) fn continued(next: &Token, left: Option<usize>) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("continue".to_owned(), next.encode().into());
    metadata.extend(left.map(|left| ("remainingItemCount".to_owned(), left.into())));
    metadata
}

/// The objects of the state that is wanted, or why it cannot be shown.
fn page(core: &Core, call: &Call, wanted: &Wanted) -> Result<Page, ApiError> {
    let index = core.store().read();
    let (resource, namespace) = (&call.resource.stored_as, &call.namespace);
    let newest = index.version();
    let asked = match wanted {
        Wanted::Newest(version) | Wanted::Exact(version) | Wanted::After(Token { version: Some(version), .. }) => {
            *version
        }
        Wanted::After(_) => 0,
    };
    if asked > newest {
        return Err(ApiError::too_new(asked, newest));
    }
    match wanted {
        // A page of nothing: also what a version of zero means.
        Wanted::Newest(_) => index.page(resource, namespace, "", 0),
        Wanted::Exact(version) => index.page(resource, namespace, "", *version),
        Wanted::After(token) => {
            let start = format!("{}{}", prefix(namespace), token.start);
            index.page(resource, namespace, &start, token.version.unwrap_or_default())
        }
    }
    .map_err(|Expired { .. }| match wanted {
        Wanted::After(token) => {
            let anew = Token { version: None, start: token.start.clone() };
            ApiError::expired_page(&anew.encode())
        }
        _ => ApiError::gone("The resourceVersion for the provided list is too old."),
    })
}

fn prefix(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!("{namespace}/") }
}

/// An object of a list, to be written when its turn comes: a list is not held in memory as it is sent.
pub(crate) struct Listed(Arc<Record>);

impl Listed {
    /// Makes sure that the object can be written. A conversion that may fail is tried, and its result dropped: conversions
    /// are pure, so that what went well once goes well again.
    fn new(resource: &Resource, record: Arc<Record>) -> Result<Self, ApiError> {
        let is_plain = resource.flavour != Flavour::Custom || resource.conversion.cannot_fail();
        if !is_plain && as_stored(resource, &record).is_none() {
            served(resource, &record)?;
        }
        Ok(Self(record))
    }

    /// The object as an item of the list.
    ///
    /// # Errors
    /// When its conversion fails now, though it went well before.
    pub(crate) fn into_item(self, form: Form, resource: &Resource) -> Result<Vec<u8>, ApiError> {
        if form == Form::Whole
            && resource.is_custom()
            && let Some(bytes) = as_stored(resource, &self.0)
        {
            return Ok(bytes.into_owned());
        }
        Ok(item(form, resource, served(resource, &self.0)?))
    }
}

/// A served object as an item of a list of its kind.
pub(crate) fn listed_item(resource: &Resource, mut object: Value) -> Value {
    // Items of built-in kinds do not say what they are; upstream's list types do that for them.
    if !resource.is_custom() {
        crate::object::remove_field(&mut object, "kind");
        crate::object::remove_field(&mut object, "apiVersion");
    }
    object
}

fn item(form: Form, resource: &Resource, object: Value) -> Vec<u8> {
    let item = match form {
        Form::Whole => listed_item(resource, object),
        Form::Partial | Form::PartialList => crate::table::partial(&object),
        Form::Table(style) => crate::table::row(resource, &object, style),
    };
    serde_json::to_vec(&item).unwrap_or_default()
}
