//! Objects from one version of a custom kind to another. It knows versions, schemas and metadata, and nothing of
//! storage: the caller says which version it wants.
//!
//! Stored objects keep the version and the shape they were written in. Whoever reads one gets the defaults that its own
//! version has today, and then the object in the version asked for, pruned by that one's schema: what a version adds by
//! default is for those who write it. A write stores the storage version, with its defaults, and so migrates the object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::schema::{self, Schema};
use crate::status::ApiError;

/// Turns objects of one version of a kind into another. Registered by the program that embeds the server, with
/// [`ApiServer::register_conversion`](crate::ApiServer::register_conversion).
///
/// Must be pure: the same object gives the same answer, at any time, on any thread.
pub trait Convert: Send + Sync + 'static {
    /// The object of version `from` (such as `v1beta1`) as version `to` has it. Name, namespace, uid and other metadata
    /// are put back by the server, except for labels and annotations.
    ///
    /// # Errors
    /// Why the object cannot be converted; the request that needs it fails with that text.
    fn convert(&self, object: Value, from: &str, to: &str) -> Result<Value, String>;
}

impl<F> Convert for F
where
    F: Fn(Value, &str, &str) -> Result<Value, String> + Send + Sync + 'static,
{
    fn convert(&self, object: Value, from: &str, to: &str) -> Result<Value, String> {
        self(object, from, to)
    }
}

/// The registered conversions, by group and kind.
pub(crate) type Converters = BTreeMap<(String, String), Arc<dyn Convert>>;

/// How the objects of a kind change version.
#[derive(Default)]
pub(crate) struct Conversion {
    /// Without one, versions differ in nothing but their name, unless a webhook is wanted.
    pub(crate) hook: Option<Arc<dyn Convert>>,
    /// The definition names a webhook. It is not called: what needs it fails, in words.
    pub(crate) wants_webhook: bool,
    /// The schema of each version, by `apiVersion`.
    pub(crate) schemas: BTreeMap<String, Arc<Schema>>,
    /// The resource version of the definition: what was stored before may lack its defaults.
    pub(crate) defined_at: u64,
}

impl fmt::Debug for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversion").field("defined_at", &self.defined_at).finish_non_exhaustive()
    }
}

impl Conversion {
    /// The object as `api_version` has it, to be stored: with the defaults of that version.
    ///
    /// # Errors
    /// As [`Self::convert`].
    pub(crate) fn store(&self, object: Value, api_version: &str) -> Result<Value, ApiError> {
        let mut found = self.convert(object, api_version)?;
        if let Some(schema) = self.schemas.get(api_version) {
            schema::default(schema, &mut found);
        }
        Ok(found)
    }

    /// The object as `api_version` has it.
    ///
    /// # Errors
    /// When the hook fails, or answers another object than it was given.
    pub(crate) fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, ApiError> {
        let from = said(&object).to_owned();
        if self.is_older(&object)
            && let Some(schema) = self.schemas.get(&from)
        {
            tidy(schema, &mut object);
            schema::default(schema, &mut object);
        }
        let mut found = match &self.hook {
            _ if from == api_version => object,
            None if self.wants_webhook => return Err(no_webhook(&object, &from)),
            None => object,
            Some(hook) => hooked(hook.as_ref(), object, &from, api_version)?,
        };
        if from == api_version {
            return Ok(found);
        }
        object::set_field(&mut found, "apiVersion", api_version.into());
        if let Some(schema) = self.schemas.get(api_version) {
            tidy(schema, &mut found);
        }
        Ok(found)
    }

    /// Whether every object can be converted.
    pub(crate) fn cannot_fail(&self) -> bool {
        self.hook.is_none() && !self.wants_webhook
    }

    /// Whether a stored object is what a client of `api_version` gets.
    pub(crate) fn is_current(&self, object: &Value, api_version: &str) -> bool {
        said(object) == api_version && !self.is_older(object)
    }

    /// Whether what was stored at this version may lack defaults of today's definition.
    pub(crate) fn predates(&self, version: u64) -> bool {
        version < self.defined_at
    }

    /// Whether an object was stored before its definition took its present form.
    fn is_older(&self, object: &Value) -> bool {
        object::resource_version(object).parse().is_ok_and(|version| self.predates(version))
    }
}

/// Drops what a schema does not know.
fn tidy(schema: &Schema, object: &mut Value) {
    schema::prune(schema, object);
    schema::drop_nulls(schema, object);
}

fn said(object: &Value) -> &str {
    object.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
}

fn shown(object: &Value, from: &str) -> String {
    format!("{from}, Kind={}", object.get("kind").and_then(Value::as_str).unwrap_or_default())
}

fn no_webhook(object: &Value, from: &str) -> ApiError {
    let why = "this server calls no webhooks; register a conversion in the program that embeds it";
    ApiError::unknown(format!("conversion webhook for {} failed: {why}", shown(object, from)))
}

fn hooked(hook: &dyn Convert, object: Value, from: &str, to: &str) -> Result<Value, ApiError> {
    let version = |api_version: &str| api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let kind = object.get("kind").cloned().unwrap_or_default();
    let shown = shown(&object, from);
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    let converted = hook.convert(object, &version(from), &version(to));
    let failed = |why: &str| ApiError::unknown(format!("conversion webhook for {shown} failed: {why}"));
    let odd = |why: &str| ApiError::unknown(format!("conversion webhook for {shown} returned invalid object: {why}"));
    let mut converted = converted.map_err(|why| failed(&why))?;
    if !converted.is_object() || !converted.get("metadata").is_some_and(Value::is_object) {
        return Err(odd("missing metadata in converted object"));
    }
    if converted.get("kind") != Some(&kind) {
        return Err(odd("must have the same kind"));
    }
    for field in ["name", "namespace", "uid"] {
        let now = converted.get("metadata").and_then(|metadata| metadata.get(field));
        if now != metadata.get(field) {
            return Err(odd(&format!("must have the same {field}")));
        }
    }
    restore(&mut converted, metadata);
    object::set_field(&mut converted, "apiVersion", to.into());
    Ok(converted)
}

/// Puts metadata back as it was, but for labels and annotations.
fn restore(converted: &mut Value, mut metadata: Value) {
    for field in ["labels", "annotations"] {
        match converted.get("metadata").and_then(|metadata| metadata.get(field)).cloned() {
            Some(value) => object::set_field(&mut metadata, field, value),
            None => {
                object::remove_field(&mut metadata, field);
            }
        }
    }
    object::set_field(converted, "metadata", metadata);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conversion(hook: impl Convert) -> Conversion {
        let schema = |field: &str| {
            let spec = json!({"type": "object", "properties": {field: {"type": "string"}, "d": {"type": "string", "default": "x"}}});
            Arc::new(Schema::parse(&json!({"type": "object", "properties": {"spec": spec}})).unwrap())
        };
        let schemas = [("g/v1".to_owned(), schema("a")), ("g/v2".to_owned(), schema("b"))];
        Conversion { hook: Some(Arc::new(hook)), wants_webhook: false, schemas: schemas.into(), defined_at: 5 }
    }

    fn object(version: u64) -> Value {
        json!({"apiVersion": "g/v1", "kind": "K", "spec": {"a": "1"}, "metadata": {
            "name": "n", "uid": "u", "resourceVersion": version.to_string(), "labels": {"l": "1"},
        }})
    }

    #[test]
    fn a_hook_moves_fields_and_metadata_stays() {
        let conversion = conversion(|mut object: Value, from: &str, to: &str| {
            assert_eq!((from, to), ("v1", "v2"));
            let spec = json!({"b": object["spec"]["a"], "unknown": 1});
            object["spec"] = spec;
            object["metadata"]["labels"] = json!({"l": "2"});
            object["metadata"]["resourceVersion"] = json!("77");
            Ok(object)
        });
        let found = conversion.convert(object(9), "g/v2").unwrap();
        assert_eq!(
            found,
            json!({"apiVersion": "g/v2", "kind": "K", "spec": {"b": "1"}, "metadata": {
                "name": "n", "uid": "u", "resourceVersion": "9", "labels": {"l": "2"},
            }})
        );
        // Who stores it gets that version's defaults, too.
        assert_eq!(conversion.store(object(9), "g/v2").unwrap()["spec"], json!({"b": "1", "d": "x"}));
        // What is in the right version stays as it is, unless it is older than the definition.
        assert_eq!(conversion.convert(object(9), "g/v1").unwrap(), object(9));
        assert_eq!(conversion.convert(object(3), "g/v1").unwrap()["spec"], json!({"a": "1", "d": "x"}));
    }

    #[test]
    fn a_hook_that_errs_or_cheats_is_an_error() {
        let fails = conversion(|_: Value, _: &str, _: &str| Err("no".to_owned()));
        let error = fails.convert(object(9), "g/v2").unwrap_err().to_string();
        assert!(error.starts_with("conversion webhook for g/v1, Kind=K failed: no"), "{error}");
        let cheats = conversion(|mut object: Value, _: &str, _: &str| {
            object["metadata"]["name"] = json!("other");
            Ok(object)
        });
        let error = cheats.convert(object(9), "g/v2").unwrap_err().to_string();
        assert!(error.contains("must have the same name"), "{error}");
    }
}
