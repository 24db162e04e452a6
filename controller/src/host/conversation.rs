//! A conversation as text.

use std::collections::BTreeSet;

use bessemer_api::bessemer::{BootExchange, BootTrace};
use kube::ResourceExt;

/// Whose conversation it is, in one line.
pub(super) fn heading(trace: &BootTrace) -> String {
    let status = trace.status.clone().unwrap_or_default();
    let of = match (&status.host, trace.namespace()) {
        (Some(host), Some(namespace)) => format!("host {namespace}/{host}"),
        _ => "of no BareMetalHost".to_owned(),
    };
    let forgotten = match status.forgotten {
        0 => String::new(),
        count => format!(", {count} earlier exchanges are forgotten"),
    };
    format!("{}, {of}{forgotten}", status.machine)
}

/// One exchange in one line; the boot server is named where there are several.
pub(super) fn line(exchange: &BootExchange, with_server: bool) -> String {
    let BootExchange { at, server, protocol, asked, answer, why } = exchange;
    let time = at.0.strftime("%Y-%m-%d %H:%M:%SZ");
    let server = if with_server { format!("{server}  ") } else { String::new() };
    let why = if why.is_empty() { String::new() } else { format!(" ({why})") };
    format!("{time}  {server}{protocol:<5}  {asked} -> {answer}{why}")
}

/// Whether exchanges of more than one boot server are among them.
pub(super) fn has_several_servers(exchanges: &[BootExchange]) -> bool {
    exchanges.iter().map(|exchange| &exchange.server).collect::<BTreeSet<_>>().len() > 1
}

/// Those of `now` that are not in `before`, in order. Equal ones are told apart by their number.
pub(super) fn news<'a>(before: &[BootExchange], now: &'a [BootExchange]) -> Vec<&'a BootExchange> {
    let mut known: Vec<&BootExchange> = before.iter().collect();
    let mut new = Vec::new();
    for exchange in now {
        match known.iter().position(|old| *old == exchange) {
            Some(index) => drop(known.swap_remove(index)),
            None => new.push(exchange),
        }
    }
    new
}

/// What is to be seen of the end of a conversation, for people who look for what is wrong.
pub(super) fn verdict(exchanges: &[BootExchange]) -> Option<String> {
    let last = exchanges.last()?;
    let asked_in_vain = exchanges.iter().rev().take_while(|exchange| exchange.answer == "no answer").count();
    match (last.protocol.as_str(), last.answer.as_str()) {
        (_, "no answer") if last.why.is_empty() => Some(format!("its last {asked_in_vain} questions got no answer")),
        (_, "no answer") => Some(format!("its last {asked_in_vain} questions got no answer: {}", last.why)),
        ("dhcp4" | "dhcp6", answer) if answer.starts_with("offered") => {
            Some("it was offered an address and did not take it: it may have taken another server's offer".to_owned())
        }
        ("dhcp4" | "dhcp6", answer) if answer.starts_with("confirmed") && answer.contains("ipxe") => Some(
            "it was told to load iPXE and did not ask for it: does a firewall hold back TFTP (UDP 69) or HTTP?"
                .to_owned(),
        ),
        ("proxy", answer) if answer.starts_with("offered") => Some(
            "it was told what to load, and was not heard to take an address of the other DHCP server: does that one give it any?"
                .to_owned(),
        ),
        ("proxy", "noted") => Some(
            "it has an address of the other DHCP server and did not ask for its boot file: does that server name a file of its \
             own, or does a firewall hold back TFTP (UDP 69) or HTTP?"
                .to_owned(),
        ),
        ("proxy", answer) if answer.starts_with("confirmed") => Some(
            "it was told what to load and did not ask for it: does a firewall hold back TFTP (UDP 69) or HTTP?".to_owned(),
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bessemer_api::Time;
    use jiff::Timestamp;

    use super::*;

    fn exchange(second: i64, answer: &str, why: &str) -> BootExchange {
        BootExchange {
            at: Time(Timestamp::from_second(second).unwrap()),
            server: "rack-1".to_owned(),
            protocol: "dhcp4".to_owned(),
            asked: "discover by iPXE".to_owned(),
            answer: answer.to_owned(),
            why: why.to_owned(),
        }
    }

    #[test]
    fn a_line_says_when_what_and_why() {
        let said = exchange(0, "no answer", "no pool");
        assert_eq!(line(&said, false), "1970-01-01 00:00:00Z  dhcp4  discover by iPXE -> no answer (no pool)");
        let said = exchange(0, "noted", "");
        assert_eq!(line(&said, true), "1970-01-01 00:00:00Z  rack-1  dhcp4  discover by iPXE -> noted");
    }

    #[test]
    fn only_what_is_new_is_shown() {
        let [a, b, c] = [exchange(1, "x", ""), exchange(2, "x", ""), exchange(3, "x", "")];
        let before = [a.clone(), a.clone(), b.clone()];
        // The oldest was forgotten, an equal one came.
        let now = [a, b.clone(), b.clone(), c.clone()];
        assert_eq!(news(&before, &now), [&b, &c]);
        assert_eq!(news(&now, &now), Vec::<&BootExchange>::new());
    }

    #[test]
    fn the_end_of_a_conversation_tells_something() {
        let silent = || exchange(1, "no answer", "the machine is unknown");
        for (said, verdict_is) in [
            (vec![], None),
            (
                vec![exchange(1, "noted", ""), silent(), silent()],
                Some("its last 2 questions got no answer: the machine is unknown"),
            ),
            (vec![exchange(1, "sent 5 bytes in 0.1 s", "")], None),
        ] {
            assert_eq!(verdict(&said).as_deref(), verdict_is);
        }
        assert!(verdict(&[exchange(1, "offered 10.0.0.9 ipxe.efi", "")]).unwrap().contains("did not take it"));
        assert!(verdict(&[exchange(1, "confirmed 10.0.0.9 ipxe.efi", "")]).unwrap().contains("UDP 69"));
        let beside =
            |answer| verdict(&[BootExchange { protocol: "proxy".to_owned(), ..exchange(1, answer, "") }]).unwrap();
        assert!(beside("offered ipxe.efi").contains("does that one give it any"));
        assert!(beside("noted").contains("does that server name a file of its own"));
        assert!(beside("confirmed ipxe.efi").contains("UDP 69"));
    }
}
