//! Who wants to know that something about a host changed. Each listener has its own set of changed hosts: a slow one sees
//! fewer notices, never a wrong one, and nothing grows with the number of changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bessemer_protocol::HostId;
use futures::stream::{BoxStream, StreamExt};
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Changes {
    listeners: Mutex<Vec<Weak<Listener>>>,
}

#[derive(Default)]
struct Listener {
    changed: Mutex<HashSet<HostId>>,
    wake: Notify,
}

impl Changes {
    /// Tells every listener.
    pub(super) fn note(&self, host: HostId) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| {
            let Some(listener) = listener.upgrade() else { return false };
            listener.note(host);
            true
        });
    }

    /// A listener that is first told of every host in `known`, so that it does not matter when it came.
    pub(super) fn listen(&self, known: impl IntoIterator<Item = HostId>) -> BoxStream<'static, HostId> {
        let listener = Arc::new(Listener::default());
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&listener));
        known.into_iter().for_each(|host| listener.note(host));
        futures::stream::unfold(listener, |listener| async move {
            let host = listener.next().await;
            Some((host, listener))
        })
        .boxed()
    }
}

impl Listener {
    fn note(&self, host: HostId) {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner).insert(host);
        self.wake.notify_one();
    }

    async fn next(&self) -> HostId {
        loop {
            {
                let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(host) = changed.iter().next().copied() {
                    changed.remove(&host);
                    return host;
                }
            }
            // `notify_one` before this leaves a permit, so no change is slept through.
            self.wake.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_thousand_changes_of_one_host_are_one_notice() {
        let changes = Changes::default();
        let (known, other) = (HostId::random(), HostId::random());
        let mut listener = changes.listen([known]);
        assert_eq!(listener.next().await, Some(known));
        (0..1000).for_each(|_| changes.note(other));
        assert_eq!(listener.next().await, Some(other));
        assert_eq!(listener.next().now_or_never(), None);
        changes.note(known);
        assert_eq!(listener.next().await, Some(known));
    }

    #[tokio::test]
    async fn a_listener_that_went_away_is_forgotten() {
        let changes = Changes::default();
        drop(changes.listen([]));
        changes.note(HostId::random());
        assert!(changes.listeners.lock().unwrap().is_empty());
    }
}
