//! The second half of storing a definition: its names are accepted, in a write of their own under the server's name, as
//! upstream's controllers do it. Both happen in one transaction, so nobody sees a definition between the two.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::accept;
use crate::apply::{self, FieldSet, Versioned, Versions, Writer};
use crate::builtin;
use crate::registry::Flavour;
use crate::schema::Schema;
use crate::store::{Key, Txn};

/// Who owns what the server says about a definition.
const MANAGER: &str = "kube-apiserver";
const API_VERSION: &str = "apiextensions.k8s.io/v1";

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let kind = builtin::resources().into_iter().find(|resource| resource.flavour == Flavour::Definition);
    kind.map(|kind| kind.schema).unwrap_or_default()
});

/// Says in the status of a stored definition which of its names it got; writes nothing when that is said already.
pub(crate) fn settle(txn: &mut Txn<'_>, key: Key) {
    let Some(stored) = txn.get(&key) else { return };
    let mut settled = Value::clone(&stored);
    accept(&mut settled, &txn.list(&key.resource, ""));
    if settled == *stored {
        return;
    }
    let writer = Writer {
        manager: MANAGER,
        api_version: API_VERSION,
        subresource: "status",
        reset: FieldSet::of(&[&["spec"]]),
        nothing: json!({"apiVersion": API_VERSION, "kind": "CustomResourceDefinition"}),
        is_custom: false,
        versions: &OneVersion,
    };
    apply::track(&writer, Some(&stored), &mut settled, None);
    txn.put(key, settled);
}

/// Definitions have one version.
struct OneVersion;

impl Versions for OneVersion {
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Versioned<'a>> {
        let schema = self.schema(api_version)?;
        Some(Versioned { object: Cow::Borrowed(object), schema })
    }

    fn schema(&self, api_version: &str) -> Option<Arc<Schema>> {
        (api_version == API_VERSION).then(|| Arc::clone(&SCHEMA))
    }
}
