//! What the server counts, under upstream's names where upstream has one: requests, how long they took, watches, and
//! how many objects are stored. Shows kinds and counts, never objects.

use std::time::Duration;

use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::registry;
use crate::request::{Query, ResourcePath};
use crate::store::Index;

/// Seconds.
const BUCKETS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// What a request was about. Only resources that are served have a name here, so that clients cannot add labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct About {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stored {
    resource: String,
}

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    duration: Family<About, Histogram>,
    objects: Family<Stored, Gauge>,
    version: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<Answered, Counter>::default();
        registry.register("apiserver_request", "Requests by verb, resource and answer", requests.clone());
        let duration = Family::<About, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let help = "How long requests took until the answer began";
        registry.register("apiserver_request_duration_seconds", help, duration.clone());
        let objects = Family::<Stored, Gauge>::default();
        registry.register("apiserver_storage_objects", "Objects stored, by resource", objects.clone());
        let version = Gauge::default();
        registry.register("apiserver_storage_resource_version", "Version of the last write", version.clone());
        Self { registry, requests, duration, objects, version }
    }
}

impl About {
    pub(crate) fn of(registry: &registry::Registry, method: &Method, path: &str, query: &Query) -> Self {
        let found = ResourcePath::parse(path);
        let known = found.filter(|path| registry.find(&path.group, &path.version, &path.plural).is_some());
        let Some(path) = known else {
            return Self {
                verb: verb(method, true, false),
                group: String::new(),
                version: String::new(),
                resource: String::new(),
            };
        };
        let verb = verb(method, path.name.is_some(), query.flag("watch"));
        Self { verb, group: path.group, version: path.version, resource: path.plural }
    }
}

fn verb(method: &Method, one: bool, watch: bool) -> &'static str {
    match (method.as_str(), one) {
        ("GET", false) if watch => "WATCH",
        ("GET", false) => "LIST",
        ("GET", true) => "GET",
        ("POST", _) => "POST",
        ("PUT", _) => "PUT",
        ("PATCH", _) => "PATCH",
        ("DELETE", false) => "DELETECOLLECTION",
        ("DELETE", true) => "DELETE",
        _ => "other",
    }
}

impl Metrics {
    /// Counts one answer.
    pub(crate) fn count(&self, about: About, code: u16, took: Duration) {
        self.duration.get_or_create(&about).observe(took.as_secs_f64());
        let About { verb, group, version, resource } = about;
        self.requests.get_or_create(&Answered { verb, group, version, resource, code }).inc();
    }

    /// All of it as OpenMetrics text.
    pub(crate) fn text(&self, index: &Index) -> String {
        for (resource, count) in index.counts() {
            let (group, plural) = resource.split_once('/').unwrap_or(("", &resource));
            let name = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
            self.objects.get_or_create(&Stored { resource: name }).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.version.set(i64::try_from(index.version()).unwrap_or(i64::MAX));
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
