//! How long each part of the way took.

use std::time::Duration;

use serde_json::Value;

use super::feed::text;

/// A point on the way: its name, and the object by which it is known to be reached.
type Milestone = (&'static str, fn(&Value) -> bool);

/// In the order in which they come.
const MILESTONES: [Milestone; 9] = [
    ("BMC's password checked", |object| is("BareMetalHost", object) && !matches!(state(object), "" | "registering")),
    ("powered on, booted from the network, agent enrolled", |object| {
        is("HostRecord", object) && object.pointer("/status/boot/enrolled") == Some(&Value::Bool(true))
    }),
    ("hardware inspected", |object| {
        is("BareMetalHost", object) && matches!(state(object), "available" | "provisioning" | "provisioned")
    }),
    ("image written and checked", |object| {
        let kind = text(object, "/status/work/kind");
        is("HostRecord", object)
            && (kind == "Leave" || kind == "Deploy" && object.pointer("/status/work/outcome").is_some())
    }),
    ("left the ramdisk", |object| is("BareMetalHost", object) && state(object) == "provisioned"),
    ("booted from its disk, agent back as node", |object| {
        is("HostRecord", object) && text(object, "/status/agent/role") == "node"
    }),
    ("kubelet up, Node registered", |object| is("Machine", object) && !text(object, "/status/nodeRef/name").is_empty()),
    ("Machine running", |object| is("Machine", object) && text(object, "/status/phase") == "Running"),
    ("kubeadm init done", |object| {
        is("HostRecord", object) && text(object, "/status/agent/nodePhase") == "bootstrapped"
    }),
];

fn is(kind: &str, object: &Value) -> bool {
    text(object, "/kind") == kind
}

fn state(object: &Value) -> &str {
    text(object, "/status/provisioning/state")
}

/// When each was reached.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    reached: Vec<(&'static str, Duration)>,
}

impl Phases {
    /// Notes a point that no object tells.
    pub(crate) fn reach(&mut self, name: &'static str, at: Duration) {
        self.reached.push((name, at));
    }

    /// Notes what this object shows to be reached for the first time.
    pub(crate) fn see(&mut self, object: &Value, at: Duration) {
        let new: Vec<_> = self.ahead().filter(|(_, reached)| reached(object)).map(|(name, _)| (*name, at)).collect();
        self.reached.extend(new);
    }

    /// The first point that is not reached; `None` when all are.
    pub(crate) fn waiting_for(&self) -> Option<&'static str> {
        self.ahead().map(|(name, _)| *name).next()
    }

    fn ahead(&self) -> impl Iterator<Item = &'static Milestone> {
        MILESTONES.iter().filter(|(name, _)| !self.reached.iter().any(|(reached, _)| reached == name))
    }

    /// One line per point, with the time since the one before.
    pub(crate) fn table(&self) -> String {
        let mut table = format!("{:>8} {:>8}  phase\n", "took", "at");
        let mut before = Duration::ZERO;
        for (name, at) in &self.reached {
            let took = at.saturating_sub(before).as_secs_f64();
            table += &format!("{took:>6.1} s {:>6.1} s  {name}\n", at.as_secs_f64());
            before = *at;
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn points_are_reached_in_order_and_once() {
        let host = |state: &str| json!({"kind": "BareMetalHost", "status": {"provisioning": {"state": state}}});
        let mut phases = Phases::default();
        phases.reach("start", Duration::from_secs(1));
        phases.see(&host("registering"), Duration::from_secs(2));
        assert_eq!(phases.waiting_for(), Some("BMC's password checked"));
        phases.see(&host("available"), Duration::from_secs(3));
        phases.see(&host("available"), Duration::from_secs(4));
        // the agent's enrolment was not seen yet, and is not taken for seen
        assert_eq!(phases.waiting_for(), Some("powered on, booted from the network, agent enrolled"));
        phases.see(&json!({"kind": "HostRecord", "status": {"boot": {"enrolled": true}}}), Duration::from_secs(5));
        assert_eq!(phases.waiting_for(), Some("image written and checked"));
        let table = phases.table();
        assert_eq!(table.lines().count(), 5, "{table}");
        assert!(table.contains("   2.0 s    3.0 s  BMC's password checked"), "{table}");
    }
}
