//! What the controllers count: reconciles and how long they took. One set for the process, as there is one of each
//! controller in it; names are those of controller-runtime, so that dashboards made for it work.

use std::sync::LazyLock;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Seconds.
const BUCKETS: [f64; 10] = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    controller: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Name {
    controller: &'static str,
}

struct Metrics {
    registry: Registry,
    total: Family<Outcome, Counter>,
    time: Family<Name, Histogram>,
}

static METRICS: LazyLock<Metrics> = LazyLock::new(|| {
    let mut registry = Registry::default();
    let total = Family::<Outcome, Counter>::default();
    registry.register("controller_runtime_reconcile", "Reconciles by controller and outcome", total.clone());
    let time = Family::<Name, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
    registry.register("controller_runtime_reconcile_time_seconds", "How long reconciles took", time.clone());
    Metrics { registry, total, time }
});

/// Counts one reconcile.
pub(crate) fn count(controller: &'static str, took: Duration, is_ok: bool) {
    let result = if is_ok { "success" } else { "error" };
    METRICS.total.get_or_create(&Outcome { controller, result }).inc();
    METRICS.time.get_or_create(&Name { controller }).observe(took.as_secs_f64());
}

/// The metrics of all controllers of this process, as OpenMetrics text.
#[must_use]
pub fn metrics() -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &METRICS.registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reconciles_are_counted_by_outcome() {
        count("test", Duration::from_millis(3), true);
        count("test", Duration::from_millis(3), false);
        let text = metrics();
        assert!(text.contains("controller_runtime_reconcile_total{controller=\"test\",result=\"error\"} 1"), "{text}");
        assert!(text.ends_with("# EOF\n"));
    }
}
