//! How messages change what is known of a host.

use bessemer_protocol::{ItemState, Outcome, Report, Up};
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
            if let Outcome::Done { report: Report::Collected { agent, kernel } } = &outcome {
                collected(view, agent, kernel);
            }
            if let Some(item) = item(view, work_id) {
                item.outcome = Some(outcome);
            }
        }
        Up::Node(report) => view.node = Some(report),
        Up::Log { lines } => log(view, &lines),
    }
}

/// What was asked for takes the place of what came by itself: the newest half of it each of what the kernel and the agent said.
fn collected(view: &mut AgentView, agent: &[String], kernel: &[String]) {
    let newest = |lines: &[String]| {
        let mut room = AgentView::LOG_TAIL / 2;
        let fits = |line: &&String| {
            let left = room.checked_sub(line.len() + 1);
            room = left.unwrap_or(0);
            left.is_some()
        };
        let mut newest: Vec<String> = lines.iter().rev().take_while(fits).cloned().collect();
        newest.reverse();
        newest
    };
    view.log_tail.clear();
    log(view, &newest(kernel));
    log(view, &newest(agent));
}

fn log(view: &mut AgentView, lines: &[String]) {
    for line in lines {
        view.log_tail.push_str(line);
        view.log_tail.push('\n');
    }
    let surplus = view.log_tail.len().saturating_sub(AgentView::LOG_TAIL);
    if surplus > 0 {
        // From the next line's beginning on, which is also between two characters.
        let from =
            view.log_tail.bytes().skip(surplus).position(|byte| byte == b'\n').map_or(surplus, |at| surplus + at + 1);
        view.log_tail = view.log_tail.get(from..).unwrap_or_default().to_owned();
    }
}

fn item(view: &mut AgentView, id: bessemer_protocol::WorkId) -> Option<&mut ItemView> {
    if view.items.len() >= MAX_ITEMS && !view.items.contains_key(&id) {
        return None;
    }
    Some(view.items.entry(id).or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_console_the_newest_whole_lines_are_kept() {
        let mut view = AgentView::default();
        for number in 0..10_000 {
            apply(&mut view, Up::Log { lines: vec![format!("{number} ü")] });
        }
        assert!(view.log_tail.len() <= AgentView::LOG_TAIL);
        assert!(view.log_tail.len() > AgentView::LOG_TAIL - 20);
        assert!(view.log_tail.ends_with("9998 ü\n9999 ü\n"));
        assert!(view.log_tail.lines().next().unwrap().ends_with(" ü"), "the first line is whole");
    }

    #[test]
    fn logs_that_were_asked_for_take_the_place_of_others() {
        let mut view = AgentView::default();
        apply(&mut view, Up::Log { lines: vec!["earlier".into()] });
        let lines = |who: &str| (0..2000).map(|number| format!("{who} {number} ü")).collect::<Vec<_>>();
        let work_id = bessemer_protocol::WorkId::random();
        let report = Report::Collected { agent: lines("agent"), kernel: lines("kernel") };
        apply(&mut view, Up::Result { work_id, outcome: Outcome::Done { report } });
        assert!(view.log_tail.len() <= AgentView::LOG_TAIL && view.log_tail.len() > AgentView::LOG_TAIL - 60);
        assert!(view.log_tail.contains("kernel 1999 ü\n") && view.log_tail.ends_with("agent 1999 ü\n"));
        assert!(!view.log_tail.contains("earlier") && view.log_tail.starts_with("kernel "));
    }
}
