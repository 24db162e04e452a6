//! Events end an hour after they were last written, as upstream. Nothing else ends by itself.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::core::Core;
use crate::store::StoreError;

const LIFE: Duration = Duration::from_secs(3600);
const EVERY: Duration = Duration::from_secs(60);
/// Events removed in one transaction.
const AT_ONCE: usize = 500;

/// Removes old events now and then, until the server is gone.
pub(crate) async fn run(core: Weak<Core>) {
    let mut ticks = tokio::time::interval(EVERY);
    loop {
        ticks.tick().await;
        let Some(core) = core.upgrade() else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        match remove(&core, now.saturating_sub(LIFE).as_secs()).await {
            Ok(0) => {}
            Ok(removed) => tracing::debug!(removed, "old events are removed"),
            Err(error) => tracing::warn!(%error, "old events cannot be removed"),
        }
    }
}

/// Removes events last written before `time`, in seconds since 1970; answers how many.
async fn remove(core: &Core, time: u64) -> Result<usize, StoreError> {
    let Some(events) = core.registry().find("", "v1", "events") else { return Ok(0) };
    let mut all = 0;
    loop {
        let stored_as = Arc::clone(&events.stored_as);
        let write = move |txn: &mut crate::store::Txn<'_>| {
            let old = txn.written_before(&stored_as, time);
            Ok::<_, StoreError>(old.into_iter().take(AT_ONCE).filter_map(|key| txn.delete(key)).count())
        };
        let removed = core.store().write(write).await?;
        all += removed;
        if removed < AT_ONCE {
            return Ok(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn only_old_events_end() {
        let dir = tempfile::tempdir().unwrap();
        let core = Core::open(&dir.path().join("db")).unwrap();
        for resource in ["events", "configmaps"] {
            let resource = core.registry().find("", "v1", resource).unwrap();
            let write = move |txn: &mut crate::store::Txn<'_>| {
                for n in 0..AT_ONCE + 3 {
                    let name = format!("e{n}");
                    txn.put(resource.key("default", &name), json!({"metadata": {"name": name}}));
                }
                Ok::<_, StoreError>(())
            };
            core.store().write(write).await.unwrap();
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(remove(&core, now - 10).await.unwrap(), 0);
        assert_eq!(remove(&core, now + 10).await.unwrap(), AT_ONCE + 3);
        assert_eq!(core.store().read().list("/configmaps", "default").len(), AT_ONCE + 3);
    }
}
