//! The ways to the server's console that a BMC offers: access only, nothing is opened here.
//!
//! The system tells of the host's own console, and how to enter it (`ComputerSystem.SerialConsole`); older services tell
//! only of the manager's (`Manager.SerialConsole`, `CommandShell`), and the ports stand in a third place.

use redfish_client::Resource;
use serde_json::Value;

use super::RedfishBmc;
use super::quirks::{Subject, console_command};
use crate::{BmcError, ConsoleAccess, ConsoleKind};

const ACT: &str = "looking for the console";

/// The consoles of one manager: what it lists, at the ports its protocols have.
fn of_manager(manager: &Resource, protocols: Option<&Resource>, enter: Option<&str>) -> Vec<ConsoleAccess> {
    let mut found = Vec::new();
    for (place, host) in [("SerialConsole", true), ("GraphicalConsole", true), ("CommandShell", false)] {
        let Some(console) = manager.value(place) else { continue };
        let on = console.get("ServiceEnabled").and_then(Value::as_bool);
        let sessions = console.get("MaxConcurrentSessions").and_then(Value::as_u64).filter(|sessions| *sessions > 0);
        for word in manager.texts(&format!("{place}/ConnectTypesSupported")) {
            let kind = kind(&word);
            // A shell over IPMI is its serial console under another name.
            if !host && kind != ConsoleKind::Ssh && kind != ConsoleKind::Telnet {
                continue;
            }
            let key = match kind {
                ConsoleKind::IpmiSol => "IPMI",
                ConsoleKind::Kvm => "KVMIP",
                ConsoleKind::Ssh => "SSH",
                ConsoleKind::Telnet => "Telnet",
                ConsoleKind::Other(_) => "",
            };
            let protocol = |name| protocols.and_then(|protocols| protocols.value(&format!("{key}/{name}")));
            let running = protocol("ProtocolEnabled").and_then(Value::as_bool);
            let hint = match kind {
                ConsoleKind::Ssh | ConsoleKind::Telnet if host => {
                    Some("leads to the server's serial console".to_owned())
                }
                ConsoleKind::Ssh | ConsoleKind::Telnet => Some(match enter {
                    Some(command) => {
                        format!("leads to the bmc's own shell; `{command}` there enters the serial console")
                    }
                    None => "leads to the bmc's own shell".to_owned(),
                }),
                _ => None,
            };
            let enabled = match (on, running) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (None, None) => None,
                _ => Some(true),
            };
            found.push(ConsoleAccess { kind, enabled, port: protocol("Port").and_then(port), sessions, hint });
        }
    }
    found
}

/// The host's consoles as its system tells of them, which is where it says how to enter and leave.
fn of_system(system: &Resource) -> Vec<ConsoleAccess> {
    let sessions = |place: &str| {
        system.value(&format!("{place}/MaxConcurrentSessions")).and_then(Value::as_u64).filter(|sessions| *sessions > 0)
    };
    let serial = [("SSH", ConsoleKind::Ssh), ("Telnet", ConsoleKind::Telnet), ("IPMI", ConsoleKind::IpmiSol)];
    let mut found: Vec<ConsoleAccess> = Vec::new();
    for (word, kind) in serial {
        let Some(console) = system.value(&format!("SerialConsole/{word}")) else { continue };
        let text = |name: &str| console.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let enter = text("ConsoleEntryCommand").map(|command| format!("`{command}` enters it"));
        let leave = text("HotKeySequenceDisplay").map(|keys| format!("to leave: {keys}"));
        let hint = [enter, leave].into_iter().flatten().collect::<Vec<_>>().join("; ");
        found.push(ConsoleAccess {
            kind,
            enabled: console.get("ServiceEnabled").and_then(Value::as_bool),
            port: console.get("Port").and_then(port),
            sessions: sessions("SerialConsole"),
            hint: Some(hint).filter(|hint| !hint.is_empty()),
        });
    }
    for word in system.texts("GraphicalConsole/ConnectTypesSupported") {
        found.push(ConsoleAccess {
            kind: kind(&word),
            enabled: system.value("GraphicalConsole/ServiceEnabled").and_then(Value::as_bool),
            port: system.value("GraphicalConsole/Port").and_then(port),
            sessions: sessions("GraphicalConsole"),
            hint: None,
        });
    }
    found
}

fn kind(word: &str) -> ConsoleKind {
    match word {
        "IPMI" => ConsoleKind::IpmiSol,
        "SSH" => ConsoleKind::Ssh,
        "Telnet" => ConsoleKind::Telnet,
        "KVMIP" => ConsoleKind::Kvm,
        other => ConsoleKind::Other(other.to_owned()),
    }
}

fn port(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0)
}

/// Both lists as one: the system's word on a way stands before the managers', which may still know its port.
fn joined(system: Vec<ConsoleAccess>, managers: Vec<ConsoleAccess>) -> Vec<ConsoleAccess> {
    let mut all = system;
    let own = all.len();
    for access in managers {
        if let Some(known) = all.iter_mut().take(own).find(|known| known.kind == access.kind) {
            known.port = known.port.or(access.port);
        } else if !all.contains(&access) {
            all.push(access);
        }
    }
    all
}

impl RedfishBmc {
    pub(super) async fn find_consoles(&self) -> Result<Vec<ConsoleAccess>, BmcError> {
        let system = self.system(ACT).await?;
        let enter = console_command(&Subject::of(&system));
        let mut managed = Vec::new();
        for at in self.managers_of(ACT, &system).await? {
            let Some(manager) = self.client.find(&at).await.map_err(|error| self.explain(ACT, error))? else {
                continue;
            };
            let protocols = match manager.link("NetworkProtocol") {
                Some(at) => self.client.find(&at).await.map_err(|error| self.explain(ACT, error))?,
                None => None,
            };
            managed.extend(of_manager(&manager, protocols.as_ref(), enter));
        }
        let all = joined(of_system(&system), managed);
        if all.is_empty() {
            return Err(self.unsupported(ACT, format!("neither {} nor its manager tells of a console", system.uri())));
        }
        Ok(all)
    }
}

/// What this room makes of `resource`, taken for each resource that it reads.
#[cfg(test)]
pub(super) fn decode_everything(resource: &Resource) -> String {
    format!("{:?}", joined(of_system(resource), of_manager(resource, Some(resource), None)))
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::json;

    use super::*;

    fn resource(body: Value) -> Resource {
        Resource::new(Reference::root(), None, body)
    }

    /// Supermicro: the system says how to enter, the manager has only a shell.
    #[test]
    fn the_system_says_how_to_enter() {
        let system = resource(json!({
            "GraphicalConsole": {"ServiceEnabled": true, "Port": 5900, "MaxConcurrentSessions": 4,
                "ConnectTypesSupported": ["KVMIP"]},
            "SerialConsole": {
                "MaxConcurrentSessions": 1,
                "SSH": {"ServiceEnabled": true, "Port": 22, "ConsoleEntryCommand": "cd system1/sol1; start",
                    "HotKeySequenceDisplay": "press <Esc>"},
                "IPMI": {"ServiceEnabled": true},
            },
        }));
        let manager = resource(json!({"CommandShell": {"ServiceEnabled": true, "ConnectTypesSupported": ["SSH"]}}));
        let protocols = resource(json!({"IPMI": {"Port": 623, "ProtocolEnabled": true}}));
        let all = joined(of_system(&system), of_manager(&manager, Some(&protocols), None));
        let shown: Vec<String> =
            all.iter().map(|one| format!("{} {:?} {:?} {:?}", one.kind, one.enabled, one.port, one.hint)).collect();
        assert_eq!(
            shown,
            [
                "ssh Some(true) Some(22) Some(\"`cd system1/sol1; start` enters it; to leave: press <Esc>\")",
                "ipmi sol Some(true) None None",
                "kvm Some(true) Some(5900) None",
            ]
        );
    }

    #[test]
    fn what_is_off_in_either_place_is_off() {
        let manager = resource(json!({"SerialConsole": {
            "ServiceEnabled": true, "ConnectTypesSupported": ["SSH", "IPMI", "Oem"], "MaxConcurrentSessions": 13,
        }}));
        let protocols = resource(json!({"IPMI": {"Port": 623, "ProtocolEnabled": false}, "SSH": {"Port": 2200}}));
        let all = of_manager(&manager, Some(&protocols), None);
        let shown: Vec<_> = all.iter().map(|one| (one.kind.to_string(), one.enabled, one.port)).collect();
        assert_eq!(
            shown,
            [
                ("ssh".to_owned(), Some(true), Some(2200)),
                ("ipmi sol".to_owned(), Some(false), Some(623)),
                ("Oem".to_owned(), Some(true), None),
            ]
        );
    }
}
