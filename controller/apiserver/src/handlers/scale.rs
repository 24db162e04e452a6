//! The scale subresource of custom kinds: an `autoscaling/v1` Scale that shows and sets the replicas of an object. A
//! write changes the Scale as any other object would be changed, and then that one field of the object.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use axum::response::Response;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::metadata::{self, Source};
use super::options::{Options, Verb};
use super::write::{self, Ownership, Write};
use super::{Call, Part, apply as applying, patch};
use crate::apply::{self, Managed, PathElement, Versioned, Versions};
use crate::body;
use crate::builtin::Message;
use crate::core::Core;
use crate::flavour;
use crate::gotext;
use crate::jsonpath::JsonPath;
use crate::object;
use crate::registry::{Cell, Column, Flavour, Resource, ScalePaths};
use crate::represent::answer;
use crate::request::{content_type, parse_text_object};
use crate::schema::Schema;
use crate::status::{ApiError, Cause};
use crate::store::Txn;

const API_VERSION: &str = "autoscaling/v1";
const MESSAGE: &str = "autoscaling.v1.Scale";
/// What an object that says nothing of its replicas looks like to a write.
const UNSET: i64 = i32::MIN as i64;

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let number = json!({"type": "integer", "format": "int32"});
    let schema = Schema::parse(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": number}},
        "status": {"type": "object", "properties": {"replicas": number, "selector": {"type": "string"}}},
    }}));
    Arc::new(schema.unwrap_or_else(|_| Schema::anything()))
});

/// Answers a request to the subresource.
pub(super) async fn handle(
    core: &Core,
    call: Call,
    method: Method,
    name: String,
    body: impl Future<Output = Result<Bytes, ApiError>>,
) -> Result<Response, ApiError> {
    match method {
        Method::GET => get(core, &call, &name),
        Method::PUT | Method::PATCH => write(core, call, method, name, &body.await?).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn get(core: &Core, call: &Call, name: &str) -> Result<Response, ApiError> {
    let (resource, paths) = parts(call)?;
    let found = core.store().read().get(&resource.key(&call.namespace, name));
    let found = found.ok_or_else(|| ApiError::not_found(resource.subject(name)))?;
    let object = flavour::to_served(resource, Value::clone(&found))?;
    let scale = scale_of(&object, paths);
    if at(&object, &paths.spec_replicas).is_none() {
        let path = format!(".{}", paths.spec_replicas.join("."));
        return Err(ApiError::internal(format!("the spec replicas field {path:?} does not exist")));
    }
    Ok(answer(StatusCode::OK, &call.form.object(&kind(resource), &scale)))
}

fn parts(call: &Call) -> Result<(&Resource, &ScalePaths), ApiError> {
    let paths = call.resource.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
    Ok((&call.resource, paths))
}

/// How a Scale is to change.
enum Change {
    Whole(Value),
    Patch(patch::Change),
    Apply(Value),
}

async fn write(core: &Core, call: Call, method: Method, name: String, bytes: &Bytes) -> Result<Response, ApiError> {
    let parent = Arc::clone(&call.resource);
    let call = Call { resource: Arc::new(kind(&parent)), ..call };
    let applies = content_type(&call.headers) == patch::APPLY;
    let (verb, (change, problems)) = if method == Method::PUT {
        let typed = |bytes: &[u8]| body::typed_json(bytes, Message::named(MESSAGE));
        let (object, problems) = parse_text_object(&call.headers, "Scale", bytes, typed)?;
        (Verb::Update, (Change::Whole(object), problems))
    } else {
        patch::check_type_of(&call, patch::CUSTOM)?;
        if applies {
            let (config, problems) = applying::parse(bytes)?;
            (Verb::Apply, (Change::Apply(config), problems))
        } else {
            let (change, problems) = patch::parse(&call, bytes)?;
            (Verb::Patch, (Change::Patch(change), problems))
        }
    };
    let options = Options::parse(&call, verb)?;
    let write = Write::new(core, &parent, options, Part::Main);
    let form = call.form;
    let run = move |txn: &mut Txn<'_>| {
        let paths = parent.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
        let current = write::stored(txn, &parent, &call.namespace, &name)?;
        let mut object = flavour::to_served(&parent, Value::clone(&current))?;
        let writer = ScaleWriter { write: &write, call: &call, paths, name: &name };
        let warnings = writer.change(&mut object, change, problems)?;
        let stored = write.finish(txn, |txn| write.replace(txn, &current, object, Ownership::Settled))?;
        let scale = scale_of(&flavour::to_served(&parent, Value::clone(&stored))?, paths);
        Ok::<_, ApiError>((form.object(&call.resource, &scale).into_owned(), warnings))
    };
    let (scale, warnings) = core.store().write(run).await?;
    let mut response = answer(StatusCode::OK, &scale);
    super::warn(&mut response, &warnings);
    Ok(response)
}

/// One write of a Scale.
struct ScaleWriter<'a> {
    write: &'a Write,
    /// About the Scale, not the object.
    call: &'a Call,
    paths: &'a ScalePaths,
    name: &'a str,
}

impl ScaleWriter<'_> {
    /// Changes the object as its Scale is to be changed; answers the warnings.
    fn change(&self, object: &mut Value, change: Change, mut problems: Vec<String>) -> Result<Vec<String>, ApiError> {
        let path: Vec<PathElement> = self.paths.spec_replicas.iter().map(|step| PathElement::field(step)).collect();
        let owners = Managed::of(object);
        let versions = self.write.versions.names();
        let mut live = scale_of(object, self.paths);
        if at(object, &self.paths.spec_replicas).is_none() {
            set(&mut live, &["spec", "replicas"], UNSET.into());
        }
        apply::to_scale(&owners, &path, &versions).write_to(&mut live);

        let applied = matches!(change, Change::Apply(_));
        let (mut new, warnings) = match change {
            Change::Apply(config) => {
                let new = self.apply_to(&live, &config)?;
                let warnings = write::settle(problems, self.write.options.validation, applying::not_strict)?;
                (new, warnings)
            }
            Change::Whole(mut new) => {
                name_kind(&mut new)?;
                problems.extend(self.admit(&mut new, Source::Trusted)?);
                let refuse = |why: &str| self.call.cannot_be_handled(why);
                let warnings = write::settle(problems, self.write.options.validation, refuse)?;
                let sent = object::uid(&new);
                if !sent.is_empty() && sent != object::uid(object) {
                    let (resource, namespace) = (self.write.resource(), object::namespace(object));
                    let why = metadata::uid_mismatch(resource, namespace, self.name, sent, object::uid(object));
                    return Err(ApiError::conflict(resource.subject(self.name), &why));
                }
                (new, warnings)
            }
            Change::Patch(change) => {
                let mut new = live.clone();
                change.apply(&self.call.resource, &mut new)?;
                let shown = shown(&new);
                problems.extend(self.admit(&mut new, Source::Patch(&shown))?);
                let refuse = |why: &str| patch::unfit(&shown, why);
                let warnings = write::settle(problems, self.write.options.validation, refuse)?;
                (new, warnings)
            }
        };
        object::check_name(&new, self.name)?;
        self.carry_over(&new, object)?;
        if !applied {
            let none = new.pointer("/spec/replicas").and_then(Value::as_i64) == Some(0);
            // Upstream's type leaves a zero out, so nobody owns it.
            if let Some(spec) = new.get_mut("spec").and_then(Value::as_object_mut).filter(|_| none) {
                spec.remove("replicas");
            }
            self.as_writer(|writer| apply::track(writer, Some(&live), &mut new, None));
        }
        let scale_owners = Managed::of(&new);
        let api_version = self.write.resource().api_version();
        apply::from_scale(owners, scale_owners, &path, &api_version, &versions).write_to(object);
        Ok(warnings)
    }

    /// Upstream cannot carry out an apply that changes anything, since it takes the Scale for a version of the custom
    /// kind; what stands in its way is told first.
    fn apply_to(&self, live: &Value, config: &Value) -> Result<Value, ApiError> {
        let lost = |what: &str, name: &str| {
            ApiError::unexplained(format!(
                "{what} object (/{name}; {API_VERSION}, Kind=Scale) to proper version: request to convert CR to an \
                 invalid group/version: {API_VERSION}"
            ))
        };
        if Managed::of(live).0.is_empty() {
            return Err(lost("failed to create manager for existing fields: failed to convert live", ""));
        }
        let force = self.write.options.force;
        let new =
            self.as_writer(|writer| applying::laid_over(writer, &self.call.resource, Some(live), config, force))?;
        if new != *live {
            return Err(lost("failed to convert new", object::name(config)));
        }
        Ok(new)
    }

    fn admit(&self, new: &mut Value, source: Source<'_>) -> Result<Vec<String>, ApiError> {
        let problem = new.pointer("/spec/replicas").and_then(not_replicas);
        let remarks = write::admit(self.call, new, source)?;
        match (problem, source) {
            (None, _) => Ok(remarks.problems),
            (Some(why), Source::Patch(shown)) => Err(patch::unfit(shown, &why)),
            (Some(why), _) => Err(self.call.cannot_be_handled(&why)),
        }
    }

    /// Sets the object's replicas, at the version that the Scale names.
    fn carry_over(&self, scale: &Value, object: &mut Value) -> Result<(), ApiError> {
        let replicas = scale.pointer("/spec/replicas").and_then(Value::as_i64).unwrap_or_default();
        if replicas == UNSET {
            let path = format!(".{}", self.paths.spec_replicas.join("."));
            return Err(ApiError::bad_request(format!("the spec replicas field {path:?} cannot be empty")));
        }
        let steps: Vec<&str> = self.paths.spec_replicas.iter().map(String::as_str).collect();
        set(object, &steps, replicas.into());
        let version = object::resource_version(scale);
        if !version.is_empty() {
            object::set_meta(object, "resourceVersion", version);
        }
        Ok(())
    }

    /// Calls `then` with this write as field ownership sees it: a write of the Scale.
    fn as_writer<T>(&self, then: impl FnOnce(&apply::Writer<'_>) -> T) -> T {
        then(&apply::Writer {
            manager: &self.write.options.manager,
            api_version: API_VERSION,
            subresource: "scale",
            reset: apply::FieldSet::default(),
            nothing: json!({"apiVersion": API_VERSION, "kind": "Scale", "spec": {}, "status": {"replicas": 0}}),
            is_custom: false,
            versions: &ScaleVersion,
        })
    }
}

/// A Scale need not say what it is; one that says it is something else is refused.
fn name_kind(scale: &mut Value) -> Result<(), ApiError> {
    for (field, wanted) in [("apiVersion", API_VERSION), ("kind", "Scale")] {
        match scale.get(field).and_then(Value::as_str).unwrap_or_default() {
            "" => object::set_field(scale, field, wanted.into()),
            found if found == wanted => {}
            _ => {
                let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
                return Err(ApiError::bad_request(why));
            }
        }
    }
    Ok(())
}

/// A Scale as errors show it: its metadata in upstream's order.
fn shown(scale: &Value) -> String {
    let part = |of: Option<&Value>, fields: &[&str]| {
        let shown = fields.iter().filter_map(|field| Some(format!("\"{field}\":{}", of?.get(*field)?)));
        shown.collect::<Vec<_>>().join(",")
    };
    let metadata =
        ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "labels", "annotations", "managedFields"];
    let head = part(Some(scale), &["apiVersion", "kind"]);
    let metadata = part(scale.get("metadata"), &metadata);
    format!("{{{head},\"metadata\":{{{metadata}}},{}}}", part(Some(scale), &["spec", "status"]))
}

/// Why a value is no number of replicas, as upstream's reader says it.
fn not_replicas(value: &Value) -> Option<String> {
    let found = match value {
        Value::Null => return None,
        Value::Number(number) if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok()) => return None,
        Value::Number(number) => format!("number {number}"),
        Value::String(_) => "string".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    };
    Some(format!("json: cannot unmarshal {found} into Go struct field ScaleSpec.spec.replicas of type int32"))
}

/// The one version of the Scale.
struct ScaleVersion;

impl Versions for ScaleVersion {
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>> {
        let schema = self.schema(api_version)?;
        Some(Versioned { object: Cow::Borrowed(object), schema })
    }

    fn schema(&self, api_version: &str) -> Option<Arc<Schema>> {
        (api_version == API_VERSION).then(|| Arc::clone(&SCHEMA))
    }
}

/// The Scale of an object.
fn scale_of(object: &Value, paths: &ScalePaths) -> Value {
    let number = |path: &[String]| at(object, path).and_then(Value::as_i64).unwrap_or_default();
    let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
    let metadata =
        metadata.iter().filter_map(|field| Some(((*field).to_owned(), object.get("metadata")?.get(*field)?.clone())));
    let mut scale = json!({
        "kind": "Scale", "apiVersion": API_VERSION, "metadata": metadata.collect::<serde_json::Map<_, _>>(),
        "spec": {}, "status": {"replicas": number(&paths.status_replicas)},
    });
    let replicas = number(&paths.spec_replicas);
    if replicas != 0 {
        set(&mut scale, &["spec", "replicas"], replicas.into());
    }
    if let Some(selector) = at(object, &paths.selector).and_then(Value::as_str).filter(|text| !text.is_empty()) {
        set(&mut scale, &["status", "selector"], selector.into());
    }
    scale
}

fn at<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    if path.is_empty() {
        return None;
    }
    path.iter().try_fold(object, |value, step| value.get(step)).filter(|value| !value.is_null())
}

/// Sets a field, with the objects on the way to it.
fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = json!({});
    }
    if let Some(fields) = object.as_object_mut() {
        set(fields.entry(*first).or_insert(Value::Null), rest, value);
    }
}

/// The Scale as a kind of its own, found under the plural of its parent.
fn kind(parent: &Resource) -> Resource {
    let column = |name: &str, kind: &str, path: &str| {
        Some(Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: String::new(),
            priority: 0,
            cell: Cell::Path(JsonPath::parse(path).ok()?),
        })
    };
    let columns = [
        column("Desired", "integer", ".spec.replicas"),
        column("Available", "integer", ".status.replicas"),
        column("Age", "date", ".metadata.creationTimestamp"),
    ];
    Resource {
        group: "autoscaling".to_owned(),
        version: "v1".to_owned(),
        kind: "Scale".to_owned(),
        plural: parent.plural.clone(),
        singular: String::new(),
        list_kind: "ScaleList".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: parent.namespaced,
        has_status: false,
        scale: None,
        verbs: &[],
        message: None,
        schema: Arc::clone(&SCHEMA),
        open_api: None,
        columns: columns.into_iter().flatten().collect(),
        selectable: Vec::new(),
        stored_as: Arc::clone(&parent.stored_as),
        stored_api_version: API_VERSION.to_owned(),
        conversion: Arc::default(),
        deprecated: None,
        made_of: parent.made_of.clone(),
        // A kind with no behaviour of its own.
        flavour: Flavour::Lease,
    }
}

/// What is wrong with the numbers that the Scale of an object would show.
pub(super) fn faults(resource: &Resource, object: &Value, part: Part) -> Vec<Cause> {
    let Some(paths) = &resource.scale else { return Vec::new() };
    let spec = (part == Part::Main).then_some(&paths.spec_replicas);
    let mut causes: Vec<Cause> =
        spec.into_iter().chain([&paths.status_replicas]).filter_map(|path| fault(object, path)).collect();
    if !paths.selector.is_empty() {
        let found = nested(object, &paths.selector).and_then(|found| of_type(found, &paths.selector, "string"));
        causes.extend(found.err().map(|why| Cause::invalid(&dotted(&paths.selector), &"".into(), &why)));
    }
    causes
}

fn dotted(path: &[String]) -> String {
    format!(".{}", path.join("."))
}

/// The value at a path; why it cannot be got at, in upstream's words.
fn nested<'v>(object: &'v Value, path: &[String]) -> Result<Option<&'v Value>, String> {
    let mut at = object;
    for (depth, step) in path.iter().enumerate() {
        match at {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(step) {
                Some(found) => at = found,
                None => return Ok(None),
            },
            other => {
                let place = dotted(path.get(..=depth).unwrap_or(path));
                return Err(misfit(&place, other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(at))
}

fn of_type<'v>(found: Option<&'v Value>, path: &[String], wanted: &str) -> Result<Option<&'v Value>, String> {
    match found {
        Some(value) if gotext::type_name(value) != wanted => Err(misfit(&dotted(path), value, wanted)),
        found => Ok(found),
    }
}

fn misfit(place: &str, found: &Value, wanted: &str) -> String {
    let (shown, kind) = (gotext::plain(found), gotext::type_name(found));
    format!("{place} accessor error: {shown} is of the type {kind}, expected {wanted}")
}

fn fault(object: &Value, path: &[String]) -> Option<Cause> {
    let found = match nested(object, path).and_then(|found| of_type(found, path, "int64")) {
        Ok(found) => found?,
        Err(why) => return Some(Cause::invalid(&dotted(path), &0.into(), &why)),
    };
    let number = found.as_i64()?;
    let problem = if number < 0 {
        "should be a non-negative integer".to_owned()
    } else if number > i64::from(i32::MAX) {
        format!("should be less than or equal to {}", i32::MAX)
    } else {
        return None;
    };
    Some(Cause::invalid(&dotted(path), found, &problem))
}
