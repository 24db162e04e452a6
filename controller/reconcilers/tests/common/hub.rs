//! Agents that do what the test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bessemer_protocol::{BootId, HostId, NodeReport, Outcome, Role, WorkId, WorkItem};
use bessemer_reconcilers::outside::{AgentHub, AgentHubError, AgentView, ItemView};
use futures::StreamExt;
use futures::stream::BoxStream;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::{broadcast, mpsc};
use tokio_stream::wrappers::BroadcastStream;

pub struct FakeHub {
    views: Mutex<HashMap<HostId, AgentView>>,
    changes: broadcast::Sender<HostId>,
    sent: mpsc::UnboundedSender<WorkItem>,
    inbox: tokio::sync::Mutex<mpsc::UnboundedReceiver<WorkItem>>,
}

impl FakeHub {
    pub fn new() -> Arc<Self> {
        let (sent, inbox) = mpsc::unbounded_channel();
        let (changes, _) = broadcast::channel(64);
        Arc::new(Self { views: Mutex::default(), changes, sent, inbox: tokio::sync::Mutex::new(inbox) })
    }

    /// The next item that an agent is handed.
    pub async fn received(&self) -> WorkItem {
        let next = tokio::time::timeout(super::PATIENCE, async { self.inbox.lock().await.recv().await }).await;
        next.expect("no work item came").unwrap()
    }

    pub fn connect_ramdisk(&self, host: HostId, boot: BootId) {
        self.change(host, |view| {
            *view = AgentView {
                connected: true,
                role: Some(Role::Ramdisk),
                boot_id: Some(boot),
                agent_version: Some("0.1.0".to_owned()),
                ..AgentView::default()
            };
        });
    }

    pub fn connect_node(&self, host: HostId, node: NodeReport) {
        self.change(host, |view| {
            *view = AgentView {
                connected: true,
                role: Some(Role::Node),
                agent_version: Some("0.1.0".to_owned()),
                node: Some(node),
                ..AgentView::default()
            };
        });
    }

    pub fn answer(&self, item: &WorkItem, outcome: Outcome) {
        let view = ItemView { progress: None, outcome: Some(outcome) };
        self.change(item.host_id, |host| drop(host.items.insert(item.id, view)));
    }

    /// The stream has been gone for long.
    pub fn lose(&self, host: HostId) {
        let long_ago = Timestamp::now() - SignedDuration::from_mins(5);
        self.change(host, |view| {
            view.connected = false;
            view.lost_since = Some(long_ago);
        });
    }

    fn change(&self, host: HostId, change: impl FnOnce(&mut AgentView)) {
        change(self.views.lock().unwrap().entry(host).or_default());
        let _ = self.changes.send(host);
    }
}

#[async_trait]
impl AgentHub for FakeHub {
    fn view(&self, host: &HostId) -> AgentView {
        self.views.lock().unwrap().get(host).cloned().unwrap_or_default()
    }

    async fn send(&self, item: WorkItem) -> Result<(), AgentHubError> {
        if !self.view(&item.host_id).connected {
            return Err(AgentHubError::NotConnected(item.host_id));
        }
        self.change(item.host_id, |view| _ = view.items.entry(item.id).or_default());
        self.sent.send(item).unwrap();
        Ok(())
    }

    async fn stored(&self, host: &HostId, work: WorkId) {
        self.change(*host, |view| drop(view.items.remove(&work)));
    }

    async fn disconnect(&self, host: &HostId, _reason: &str) {
        self.change(*host, |view| *view = AgentView::default());
    }

    fn changes(&self) -> BoxStream<'static, HostId> {
        BroadcastStream::new(self.changes.subscribe()).filter_map(|host| async { host.ok() }).boxed()
    }
}
