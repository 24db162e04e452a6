//! What the watcher of a demo is shown: objects in, lines out, one for each change that means something to people.

use std::collections::BTreeMap;

use serde_json::Value;

use super::feed::text;

/// Remembers what was shown.
#[derive(Debug, Default)]
pub(crate) struct Board {
    shown: BTreeMap<String, String>,
    story: BTreeMap<String, Value>,
}

impl Board {
    /// The lines that this object is worth now.
    pub(crate) fn lines(&mut self, object: &Value) -> Vec<String> {
        let key = format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"));
        let mut lines = self.story(&key, object);
        let summary = match text(object, "/kind") {
            "BareMetalHost" => host(object),
            "HostRecord" => record(object),
            "Machine" => machine(object),
            "Cluster" => with_conditions(text(object, "/status/phase"), object, &["ControlPlaneInitialized"]),
            "KubeadmControlPlane" => with_conditions("", object, &["Initialized", "Available"]),
            _ => String::new(),
        };
        if !summary.is_empty() && self.shown.get(&key) != Some(&summary) {
            lines.push(format!("{key}: {summary}"));
            self.shown.insert(key, summary);
        }
        lines
    }

    /// New lines of a host's story.
    fn story(&mut self, key: &str, object: &Value) -> Vec<String> {
        let Some(story) = object.pointer("/status/story").and_then(Value::as_array) else { return vec![] };
        let last = self.story.get(key);
        let seen = last.and_then(|last| story.iter().rposition(|line| line == last)).map_or(0, |at| at + 1);
        let name = text(object, "/metadata/name");
        let new = story.iter().skip(seen);
        let lines = new.map(|line| format!("{name}  {:<16} {}", text(line, "/event"), text(line, "/detail"))).collect();
        if let Some(line) = story.last() {
            self.story.insert(key.to_owned(), line.clone());
        }
        lines
    }
}

fn host(object: &Value) -> String {
    let power = match object.pointer("/status/poweredOn") {
        Some(Value::Bool(true)) => "on",
        Some(_) => "off",
        None => return String::new(),
    };
    let mut summary = format!("{}, power {power}", text(object, "/status/provisioning/state"));
    if let kind @ ("error" | "delayed" | "detached") = text(object, "/status/operationalStatus") {
        let message = text(object, "/status/errorMessage");
        summary += &format!(", {kind}: {}: {message}", text(object, "/status/errorType"));
    }
    summary
}

/// In steps of a tenth, so that a long write is a dozen lines.
fn record(object: &Value) -> String {
    let progress = "/status/work/progress";
    let number = |name: &str| object.pointer(&format!("{progress}/{name}")).and_then(Value::as_u64);
    let phase = text(object, &format!("{progress}/phase"));
    let done = number("done").unwrap_or_default();
    match number("total").filter(|total| *total > 0) {
        _ if phase.is_empty() => String::new(),
        Some(total) => format!("{phase} {} %", done.saturating_mul(10) / total * 10),
        None => phase.to_owned(),
    }
}

fn machine(object: &Value) -> String {
    let node = text(object, "/status/nodeRef/name");
    let phase = text(object, "/status/phase");
    if node.is_empty() {
        return with_conditions(phase, object, &["BootstrapConfigReady", "InfrastructureReady"]);
    }
    with_conditions(&format!("{phase}, node {node}"), object, &["NodeReady"])
}

/// The summary and, of the named conditions, those that are true, and why the others are not.
fn with_conditions(summary: &str, object: &Value, names: &[&str]) -> String {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let mut parts: Vec<String> = if summary.is_empty() { vec![] } else { vec![summary.to_owned()] };
    for condition in conditions.into_iter().flatten().filter(|c| names.contains(&text(c, "/type"))) {
        match text(condition, "/status") {
            "True" => parts.push(text(condition, "/type").to_owned()),
            _ => parts.push(format!("not {} ({})", text(condition, "/type"), text(condition, "/reason"))),
        }
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_changes_are_shown() {
        let mut board = Board::default();
        let mut host = json!({"kind": "BareMetalHost", "metadata": {"name": "a"}, "status": {
            "provisioning": {"state": "inspecting"}, "operationalStatus": "OK", "poweredOn": true}});
        assert_eq!(board.lines(&host), ["BareMetalHost a: inspecting, power on"]);
        assert_eq!(board.lines(&host), [""; 0]);
        host["status"]["operationalStatus"] = json!("error");
        host["status"]["errorType"] = json!("inspection error");
        host["status"]["errorMessage"] = json!("no agent");
        assert_eq!(board.lines(&host), ["BareMetalHost a: inspecting, power on, error: inspection error: no agent"]);
    }

    #[test]
    fn a_story_is_told_once_and_progress_in_steps() {
        let mut board = Board::default();
        let line = |event: &str| json!({"at": "t", "event": event, "detail": "d"});
        let progress = |done: u64| json!({"progress": {"phase": "writing", "done": done, "total": 1000}});
        let record = |story: Vec<Value>, done| json!({"kind": "HostRecord", "metadata": {"name": "a"}, "status": {"story": story, "work": progress(done)}});
        assert_eq!(
            board.lines(&record(vec![line("one")], 110)),
            ["a  one              d", "HostRecord a: writing 10 %"]
        );
        assert_eq!(board.lines(&record(vec![line("one")], 190)), [""; 0]);
        assert_eq!(board.lines(&record(vec![line("one"), line("two")], 190)), ["a  two              d"]);
        assert_eq!(board.lines(&record(vec![line("two")], 200)), ["HostRecord a: writing 20 %"]);
    }
}
