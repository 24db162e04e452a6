//! The management controller as its own host sees it (IPMI 2.0 over the kernel's driver).

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::{Duration, Instant};

use bessemer_protocol::InBandBmc;

use crate::ioctl::ipmi;

/// For one command. Some controllers take seconds.
const PATIENCE: Duration = Duration::from_secs(3);
/// For all of them.
const DEADLINE: Duration = Duration::from_secs(20);

/// Network functions and commands.
const APPLICATION: u8 = 0x06;
const TRANSPORT: u8 = 0x0c;
const GET_DEVICE_ID: u8 = 0x01;
const GET_CHANNEL_INFO: u8 = 0x42;
const GET_LAN_PARAMETERS: u8 = 0x02;

/// Sends a command and gives the answer with its completion code.
pub(super) type Exchange<'a> = dyn FnMut(u8, u8, &[u8]) -> io::Result<Vec<u8>> + 'a;

/// Asks through `device`, as a rule `/dev/ipmi0`.
pub(super) fn ask(device: &Path) -> Result<InBandBmc, String> {
    let file = File::options().read(true).write(true).open(device);
    let file = file.map_err(|error| format!("{}: {error}", device.display()))?;
    let until = Instant::now() + DEADLINE;
    read(&mut |netfn, command, data| {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        ipmi(&file, netfn, command, data, left.min(PATIENCE))
    })
}

/// What the controller says of itself and of its first LAN channel that has an address.
pub(super) fn read(exchange: &mut Exchange<'_>) -> Result<InBandBmc, String> {
    let mut found = InBandBmc::default();
    let device = command(exchange, APPLICATION, GET_DEVICE_ID, &[])?;
    if let [_, _, major, minor, version, ..] = device.as_slice() {
        found.firmware = format!("{}.{:02x}", major & 0x7f, minor);
        // Minor and major are in one byte, the wrong way round.
        found.ipmi_version = format!("{}.{}", version & 0xf, version >> 4);
    }
    let mut first = None;
    for channel in 1..=11 {
        if !is_lan(exchange, channel) {
            continue;
        }
        let mut lan = found.clone();
        fill(exchange, channel, &mut lan);
        if !lan.addresses.is_empty() {
            return Ok(lan);
        }
        first.get_or_insert(lan);
    }
    first.ok_or_else(|| "it has no LAN channel".to_owned())
}

fn is_lan(exchange: &mut Exchange<'_>, channel: u8) -> bool {
    const LAN_802_3: u8 = 4;
    let info = command(exchange, APPLICATION, GET_CHANNEL_INFO, &[channel]);
    info.is_ok_and(|info| info.get(1).is_some_and(|medium| medium & 0x7f == LAN_802_3))
}

fn fill(exchange: &mut Exchange<'_>, channel: u8, found: &mut InBandBmc) {
    // The first byte of each answer is the parameter's revision.
    let mut parameter = |number: u8, set: u8| {
        let answer = command(exchange, TRANSPORT, GET_LAN_PARAMETERS, &[channel, number, set, 0]).ok()?;
        answer.get(1..).map(<[u8]>::to_vec)
    };
    if let Some(address) = parameter(3, 0).and_then(|value| value.first_chunk::<4>().copied()) {
        keep(found, IpAddr::V4(Ipv4Addr::from(address)));
    }
    found.address_source = match parameter(4, 0).as_deref() {
        Some([source, ..]) => match source & 0xf {
            1 => "static",
            2 => "dhcp",
            3 => "bios",
            4 => "other",
            _ => "",
        },
        _ => "",
    }
    .to_owned();
    if let Some(mac) = parameter(5, 0).and_then(|value| value.first_chunk::<6>().copied()) {
        found.mac = mac.map(|octet| format!("{octet:02x}")).join(":");
    }
    // The upper bit says that there is one.
    found.vlan = match parameter(20, 0).as_deref() {
        Some([low, high, ..]) if high & 0x80 != 0 => Some(u16::from(high & 0xf) << 8 | u16::from(*low)),
        _ => None,
    };
    // Static and dynamic addresses of IPv6: number, source, address, prefix, status.
    for number in [56, 59] {
        for set in 0..2 {
            let Some(value) = parameter(number, set) else { break };
            if let Some(address) = value.get(2..).and_then(|rest| rest.first_chunk::<16>().copied()) {
                keep(found, IpAddr::V6(Ipv6Addr::from(address)));
            }
        }
    }
}

fn keep(found: &mut InBandBmc, address: IpAddr) {
    if !address.is_unspecified() && !found.addresses.contains(&address) {
        found.addresses.push(address);
    }
}

/// The answer without its completion code.
fn command(exchange: &mut Exchange<'_>, netfn: u8, command: u8, data: &[u8]) -> Result<Vec<u8>, String> {
    let answer =
        exchange(netfn, command, data).map_err(|error| format!("command {netfn:#04x} {command:#04x}: {error}"))?;
    match answer.split_first() {
        Some((0, rest)) => Ok(rest.to_vec()),
        Some((code, _)) => Err(format!("command {netfn:#04x} {command:#04x}: completion code {code:#04x}")),
        None => Err(format!("command {netfn:#04x} {command:#04x}: an empty answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A controller with a serial channel, a LAN channel that is not set up, and one that is.
    fn controller(netfn: u8, command: u8, data: &[u8]) -> io::Result<Vec<u8>> {
        let answer: &[u8] = match (netfn, command, data) {
            (APPLICATION, GET_DEVICE_ID, _) => &[0, 0x20, 0x81, 0x02, 0x37, 0x02, 0xbf],
            (APPLICATION, GET_CHANNEL_INFO, [1 | 8]) => &[0, 1, 0x04, 0x01],
            (APPLICATION, GET_CHANNEL_INFO, [2]) => &[0, 2, 0x05, 0x01],
            (TRANSPORT, GET_LAN_PARAMETERS, [8, 3, ..]) => &[0, 0x11, 10, 0, 0, 9],
            (TRANSPORT, GET_LAN_PARAMETERS, [1, 3, ..]) => &[0, 0x11, 0, 0, 0, 0],
            (TRANSPORT, GET_LAN_PARAMETERS, [_, 4, ..]) => &[0, 0x11, 2],
            (TRANSPORT, GET_LAN_PARAMETERS, [_, 5, ..]) => &[0, 0x11, 0xac, 0x1f, 0x6b, 1, 2, 3],
            (TRANSPORT, GET_LAN_PARAMETERS, [_, 20, ..]) => &[0, 0x11, 0x2c, 0x81],
            (TRANSPORT, GET_LAN_PARAMETERS, [8, 59, 0, ..]) => {
                &[0, 0x11, 0, 2, 0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 64, 0]
            }
            (TRANSPORT, GET_LAN_PARAMETERS, [8, 56, ..]) => {
                &[0, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
            }
            _ => &[0xcc],
        };
        Ok(answer.to_vec())
    }

    #[test]
    fn the_first_channel_with_an_address_is_told() {
        let found = read(&mut controller).unwrap();
        let addresses: Vec<String> = found.addresses.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.0.0.9", "2001:db8::9"]);
        assert_eq!(
            (found.mac.as_str(), found.vlan, found.address_source.as_str()),
            ("ac:1f:6b:01:02:03", Some(0x12c), "dhcp")
        );
        assert_eq!((found.firmware.as_str(), found.ipmi_version.as_str()), ("2.37", "2.0"));
    }

    #[test]
    fn a_controller_that_does_not_answer_is_said_to() {
        let error = read(&mut |_, _, _| Err(io::ErrorKind::TimedOut.into())).unwrap_err();
        assert!(error.starts_with("command 0x06 0x01: "), "{error}");
        assert_eq!(read(&mut |_, _, _| Ok(vec![0xc1])).unwrap_err(), "command 0x06 0x01: completion code 0xc1");
        assert_eq!(read(&mut |_, _, _| Ok(vec![0])).unwrap_err(), "it has no LAN channel");
        assert!(ask(Path::new("/nowhere/ipmi0")).unwrap_err().starts_with("/nowhere/ipmi0: "));
    }
}
