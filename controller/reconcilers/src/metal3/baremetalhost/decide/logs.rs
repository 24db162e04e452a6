//! What agents said last: kept in the record whenever it is told, and asked for when an operator wants it.

use bessemer_protocol::{Outcome, Report, Role, Work, WorkItem};
use kube::ResourceExt;

use super::super::budgets::COLLECT_BUDGET;
use super::super::effect::Effect;
use super::{Rules, later};

/// On a BareMetalHost, of any value: have the agent in the ramdisk tell what it and its kernel said last. Goes away when it was asked.
const COLLECT_ANNOTATION: &str = "bessemer.dev/collect-logs";

impl Rules<'_> {
    /// Keeps what was told.
    pub(super) fn notice_logs(&mut self) {
        let told = &self.seen.agent.log_tail;
        // A controller that began anew has heard nothing yet, which is no reason to forget.
        if !told.is_empty() && *told != self.decision.record.log_tail {
            self.decision.record.log_tail.clone_from(told);
        }
    }

    /// Asks for logs if somebody wants them. They are nobody's state, so that no intent is written first: an item that is lost with its stream is
    /// asked for anew by whoever misses it.
    pub(super) fn collect_logs(&mut self) {
        // One effect a pass, and everything else comes first.
        if self.decision.effect.is_some() {
            return;
        }
        let agent = &self.seen.agent;
        let is_log = |outcome: &Outcome| matches!(outcome, Outcome::Done { report: Report::Collected { .. } });
        let collected = agent.items.iter().find(|(_, item)| item.outcome.as_ref().is_some_and(is_log));
        if let Some((id, _)) = collected {
            self.decision.effect = Some(Effect::Stored(*id));
        } else if agent.connected
            && agent.role == Some(Role::Ramdisk)
            && self.decision.host.annotations_mut().remove(COLLECT_ANNOTATION).is_some()
        {
            self.tell("logs", "asked for");
            self.decision.effect = Some(Effect::Send(Box::new(WorkItem {
                id: self.seen.seed.work,
                host_id: self.id,
                claim: None,
                deadline: later(self.now, COLLECT_BUDGET).as_second(),
                work: Work::Collect,
            })));
        }
    }
}
