//! How messages change what is known of a host.

use bessemer_protocol::{ItemState, Up};
use bessemer_reconcilers::outside::{AgentView, ItemView, Progress};

use super::Hello;
use crate::identity::{AgentIdentity, RoleIdentity};

/// Items kept per host: an honest agent remembers a handful.
const MAX_ITEMS: usize = 32;

/// A new stream: what the agent says now replaces what was known, except how far a running item had come.
pub(super) fn attach(view: &mut AgentView, who: &AgentIdentity, hello: Hello) {
    let mut known = std::mem::take(&mut view.items);
    view.connected = true;
    view.lost_since = None;
    view.role = Some(hello.role);
    view.agent_version = Some(hello.agent_version);
    match who.role {
        RoleIdentity::Ramdisk { boot } => {
            view.boot_id = Some(boot);
            view.node = None;
        }
        RoleIdentity::Node { .. } => view.boot_id = None,
    }
    view.items = hello
        .items
        .into_iter()
        .take(MAX_ITEMS)
        .map(|ItemState { work_id, outcome }| {
            let progress = known.remove(&work_id).and_then(|item| item.progress);
            (work_id, ItemView { progress, outcome })
        })
        .collect();
}

/// One later message.
pub(super) fn apply(view: &mut AgentView, message: Up) {
    match message {
        // A second Hello says nothing new; the stream's reader does not let it through.
        Up::Heartbeat | Up::Hello { .. } => {}
        Up::Progress { work_id, phase, done, total } => {
            if let Some(item) = item(view, work_id) {
                item.progress = Some(Progress { phase, done, total });
            }
        }
        Up::Result { work_id, outcome } => {
            if let Some(item) = item(view, work_id) {
                item.outcome = Some(outcome);
            }
        }
        Up::Node(report) => view.node = Some(report),
    }
}

fn item(view: &mut AgentView, id: bessemer_protocol::WorkId) -> Option<&mut ItemView> {
    if view.items.len() >= MAX_ITEMS && !view.items.contains_key(&id) {
        return None;
    }
    Some(view.items.entry(id).or_default())
}
