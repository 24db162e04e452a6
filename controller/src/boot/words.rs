//! An exchange in the words that operators read.

use bessemer_api::Time;
use bessemer_api::bessemer::BootExchange;
use bessemer_pxe::{Answer, ClientArch, Exchange, Phase};
use jiff::Timestamp;

/// As it is written down by the boot server called `server`.
pub(super) fn exchange(exchange: &Exchange, server: &str) -> BootExchange {
    BootExchange {
        at: Time(Timestamp::try_from(exchange.at).unwrap_or_default()),
        server: server.to_owned(),
        protocol: exchange.protocol.name().to_owned(),
        asked: asked(exchange),
        answer: answer(&exchange.answer),
        why: exchange.why.as_deref().unwrap_or_default().to_owned(),
    }
}

fn asked(exchange: &Exchange) -> String {
    let program = match (exchange.phase, exchange.arch()) {
        (Phase::PxeFirmware, arch) => format!("{} (PXE)", firmware(arch)),
        (Phase::HttpFirmware, arch) => format!("{} (HTTP boot)", firmware(arch)),
        (Phase::Ipxe, _) => "iPXE".to_owned(),
        (Phase::System, _) => "a running system".to_owned(),
        (Phase::Unknown, _) => return with_relay(exchange, exchange.asked.clone().into_owned()),
    };
    with_relay(exchange, format!("{} by {program}", exchange.asked))
}

fn with_relay(exchange: &Exchange, asked: String) -> String {
    match exchange.client.as_ref().and_then(|client| client.relay.as_ref()) {
        Some(relay) => format!("{asked} through relay {}", relay.address),
        None => asked,
    }
}

fn firmware(arch: Option<ClientArch>) -> String {
    match arch {
        None => "firmware".to_owned(),
        Some(ClientArch::BIOS) => "BIOS firmware".to_owned(),
        Some(arch) => format!("{arch} firmware"),
    }
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Silent => "no answer".to_owned(),
        Answer::Sent { bytes, took, resent } => {
            let again = if *resent == 0 { String::new() } else { format!(", {resent} packets sent again") };
            format!("sent {bytes} bytes in {:.1} s{again}", took.as_secs_f64())
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::time::{Duration, SystemTime};

    use bessemer_pxe::{ClientIdentity, Protocol, Relay};

    use super::*;

    fn heard(phase: Phase, arch: Option<ClientArch>, relay: Option<[u8; 4]>, answer: Answer) -> BootExchange {
        let relay = relay.map(|address| Relay {
            address: IpAddr::from(address),
            circuit_id: None,
            remote_id: None,
            link_selection: None,
        });
        let client = ClientIdentity {
            macs: vec![],
            duid: None,
            client_id: None,
            smbios_uuid: None,
            arch,
            relay,
            interface: "br0".into(),
        };
        let heard = Exchange {
            at: SystemTime::UNIX_EPOCH + Duration::from_secs(7),
            protocol: Protocol::Dhcp4,
            phase,
            client: Some(client),
            peer: None,
            interface: "br0".into(),
            asked: "discover".into(),
            answer,
            why: Some("the host is not to boot".into()),
            boot_id: None,
        };
        exchange(&heard, "rack-1")
    }

    #[test]
    fn it_reads_like_a_sentence() {
        let sent = Answer::Sent { bytes: 1024, took: Duration::from_millis(1500), resent: 2 };
        let x64 = Some(ClientArch::UEFI_X64);
        for (phase, arch, relay, answer, asked, answered) in [
            (Phase::PxeFirmware, x64, None, Answer::Silent, "discover by uefi-x64 firmware (PXE)", "no answer"),
            (
                Phase::PxeFirmware,
                Some(ClientArch::BIOS),
                Some([10, 0, 0, 1]),
                Answer::Dropped,
                "discover by BIOS firmware (PXE) through relay 10.0.0.1",
                "dropped",
            ),
            (Phase::HttpFirmware, None, None, Answer::Noted, "discover by firmware (HTTP boot)", "noted"),
            (Phase::Ipxe, x64, None, sent, "discover by iPXE", "sent 1024 bytes in 1.5 s, 2 packets sent again"),
            (Phase::System, None, None, Answer::Noted, "discover by a running system", "noted"),
            (Phase::Unknown, None, None, Answer::Failed, "discover", "failed"),
        ] {
            let said = heard(phase, arch, relay, answer);
            assert_eq!((said.asked.as_str(), said.answer.as_str()), (asked, answered));
            assert_eq!((said.at.0.as_second(), said.why.as_str()), (7, "the host is not to boot"));
        }
    }
}
