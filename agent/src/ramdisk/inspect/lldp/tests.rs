//! Captures of real switches, with `tcpdump` reading the same frames beside us.

use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;

use super::super::fixture::data;
use super::*;

const CAPTURES: [&str; 14] = [
    "lldpd-8023bt.pcap",
    "lldpd-connectx.pcap",
    "lldpd-med-loc-malformed.pcap",
    "lldpd-sg200.pcap",
    "tcpdump-LLDP_and_CDP.pcap",
    "tcpdump-lldp-app-priority.pcap",
    "tcpdump-lldp-infinite-loop-1.pcap",
    "tcpdump-lldp-infinite-loop-2.pcap",
    "tcpdump-lldp_8021_linkagg.pcap",
    "tcpdump-lldp_8023_mtu-oobr.pcap",
    "tcpdump-lldp_asan.pcap",
    "tcpdump-lldp_mgmt_addr_tlv_asan.pcap",
    "tcpdump-lldp_mudurl.pcap",
    "zeek-lldp.pcap",
];

/// Frames of a capture in the classic format, either byte order.
fn frames(capture: &[u8]) -> Vec<&[u8]> {
    let is_little = matches!(capture[0], 0xd4 | 0x4d);
    let word = |at: usize| {
        let bytes = capture.get(at..at + 4)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) } as usize)
    };
    assert_eq!(word(20), Some(1), "not Ethernet");
    let mut at = 24;
    std::iter::from_fn(|| {
        let length = word(at + 8)?;
        let frame = capture.get(at + 16..at + 16 + length)?;
        at += 16 + length;
        Some(frame)
    })
    .collect()
}

/// What `tcpdump` says of each LLDP frame, a text each.
fn tcpdump(name: &str) -> Vec<String> {
    let path = PathBuf::from(std::env::var_os("BESSEMER_TEST_DATA").unwrap()).join("pcap").join(name);
    let output = Command::new("tcpdump").args(["-nn", "-vv", "-t", "-r"]).arg(path).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut said = Vec::new();
    for line in text.lines() {
        match said.last_mut() {
            _ if line.starts_with("LLDP") => said.push(String::new()),
            _ if !line.starts_with(char::is_whitespace) => said.push("other".to_owned()),
            Some(frame) => *frame += &format!("{}\n", line.trim()),
            None => {}
        }
    }
    said.retain(|frame| !frame.starts_with("other"));
    said
}

/// What follows `label` on its line.
fn after<'a>(said: &'a str, label: &str) -> Option<&'a str> {
    said.lines().find_map(|line| line.split_once(label)).map(|(_, rest)| rest.trim())
}

#[test]
fn captures_are_read_as_tcpdump_reads_them() {
    let mut compared = 0;
    for name in CAPTURES {
        let Some(capture) = data(&format!("pcap/{name}")) else { return };
        let said = tcpdump(name);
        let ours: Vec<_> = frames(&capture).into_iter().filter(|frame| payload(frame).is_some()).map(read).collect();
        assert!(!said.is_empty() && said.len() == ours.len(), "{name}: {} frames, {} told", ours.len(), said.len());
        for (ours, said) in ours.iter().zip(&said) {
            let Some(ours) = ours else {
                assert!(!said.contains("Port ID TLV (2), length 7\n"), "{name}: not read, but told:\n{said}");
                continue;
            };
            let mut same = |ours: &str, label: &str| {
                if let Some(theirs) = after(said, label) {
                    let theirs = theirs.split_once(": ").map_or(theirs, |(_, value)| value);
                    assert_eq!(ours, theirs.replace("\\0x0a", "\n"), "{name}: {label}\n{said}");
                    compared += 1;
                }
            };
            same(&ours.system_name, "System Name TLV (5), length");
            same(&ours.port_description, "Port Description TLV (4), length");
            let ids: Vec<&str> = said
                .lines()
                .filter(|line| line.starts_with("Subtype "))
                .filter_map(|line| Some(line.split_once("): ")?.1))
                .collect();
            if let [chassis, port, ..] = ids.as_slice() {
                // One switch's id is no text; tcpdump makes letters of it.
                if !ours.unreadable.iter().any(|part| part.starts_with("1:")) {
                    assert_eq!(ours.chassis_id, *chassis, "{name}\n{said}");
                }
                assert_eq!(ours.port_id, *port, "{name}\n{said}");
                compared += 2;
            }
            let vlan = after(said, "port vlan id (PVID):").map(|vlan| vlan.parse::<u16>().unwrap());
            assert_eq!(ours.native_vlan, vlan, "{name}");
            let addresses: Vec<String> = said
                .lines()
                // Of another length it is no address, though tcpdump prints the first bytes as one.
                .filter(|line| line.contains("length 5, AFI IPv4") || line.contains("length 17, AFI IPv6"))
                .filter_map(|line| Some(line.split_once("): ")?.1.to_owned()))
                .collect();
            let told: Vec<String> = ours.management_addresses.iter().map(ToString::to_string).collect();
            assert_eq!(told, addresses, "{name}");
        }
    }
    assert!(compared >= 30, "only {compared} values were compared");
}

#[test]
fn what_one_switch_says() {
    let Some(capture) = data("pcap/lldpd-8023bt.pcap") else { return };
    let found = read(frames(&capture)[0]).unwrap();
    assert_eq!((found.chassis_id.as_str(), found.port_id.as_str()), ("c0:64:e4:a9:9b:80", "Gi1/0/2"));
    assert_eq!((found.system_name.as_str(), found.native_vlan), ("cisco-bt-switch", Some(1)));
    assert_eq!(found.management_addresses, ["192.168.1.1".parse::<IpAddr>().unwrap()]);
    assert!(found.system_description.starts_with("Cisco IOS Software"), "{}", found.system_description);
}

fn frame(parts: &[(u8, &[u8])]) -> Vec<u8> {
    let mut frame = vec![0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1, 0x88, 0xcc];
    for (kind, value) in parts {
        frame.extend([kind << 1, u8::try_from(value.len()).unwrap()]);
        frame.extend(*value);
    }
    frame
}

#[test]
fn c187_a_part_that_cannot_be_read_costs_no_other() {
    let chassis: (u8, &[u8]) = (1, &[4, 0, 1, 2, 3, 4, 5]);
    let port: (u8, &[u8]) = (2, b"\x05swp1");
    let found = read(&frame(&[chassis, port, (5, b"caf\xe9"), (4, b"rack 7")])).unwrap();
    assert_eq!((found.system_name.as_str(), found.port_description.as_str()), ("", "rack 7"));
    assert_eq!(found.unreadable, ["5:636166e9"]);

    let whole = frame(&[chassis, port, (5, b"leaf1")]);
    let found = read(&whole[..whole.len() - 1]).unwrap();
    assert_eq!((found.port_id.as_str(), found.system_name.as_str()), ("swp1", ""));
    assert_eq!(found.unreadable, ["5:6c656166"]);

    let odd = read(&frame(&[(1, &[4, 0, 1]), port])).unwrap();
    assert_eq!((odd.port_id.as_str(), odd.unreadable), ("swp1", vec!["1:040001".to_owned()]));
    assert_eq!(read(&frame(&[(5, b"nobody")])), None, "it does not say who it is");
    let mut tagged = whole.clone();
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(read(&tagged), read(&whole));
    assert!(read(&[]).is_none() && read(&whole[..13]).is_none());
}

#[test]
fn extensions_of_802_are_read() {
    let found = read(&frame(&[
        (1, &[7, b'x']),
        (127, &[0, 0x80, 0xc2, 3, 0, 100, 4, b'p', b'r', b'o', b'd']),
        (127, &[0, 0x80, 0xc2, 7, 3, 0, 0, 0, 9]),
        (127, &[0, 0x12, 0x0f, 4, 0x24, 0x00]),
        (127, &[0, 0x80, 0xc2, 3, 0, 100, 9, b'p']),
        (127, &[0xde, 0xad]),
    ]))
    .unwrap();
    assert_eq!(found.vlans, [(100, "prod".to_owned())]);
    assert_eq!((found.aggregation, found.max_frame), (Some(9), Some(0x2400)));
    assert_eq!(found.unreadable, ["127:0080c2030064 0970".replace(' ', ""), "127:dead".into()]);
}

proptest! {
    #[test]
    fn no_frame_breaks_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..1600)) {
        let mut whole = frame(&[(1, &[7, b'x'])]);
        whole.extend(&bytes);
        let found = read(&whole).unwrap();
        prop_assert!(found.unreadable.len() <= MOST && found.vlans.len() <= MOST);
        read(&bytes);
    }
}
