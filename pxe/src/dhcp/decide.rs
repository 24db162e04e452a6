//! The pure rule from one request and the directory's answers to a reply, or to silence and the reason for it.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::options::{Options, code};
use super::packet::{MessageType, Packet};
use crate::config;
use crate::directory::{BootTarget, Lease};
use crate::identity::ClientArch;
use crate::script::Urls;
use crate::tftp::names;
use crate::trace::Phase;

/// Sub-option 6 of option 43, value 8: take the boot file named here, look for no other boot server (PXE 2.1, table 2-1).
const PXE_NO_DISCOVERY: [u8; 4] = [6, 1, 8, code::END];
/// iPXE's `no-pxedhcp` = 1: do not wait for a proxyDHCP server's offer.
const IPXE_NO_PROXY: [u8; 3] = [0xb0, 1, 1];

/// A subnet as one of our interfaces serves it.
#[derive(Debug, Clone)]
pub(crate) struct Subnet {
    pub(crate) server: Ipv4Addr,
    pub(crate) config: config::Subnet,
    pub(crate) has_undionly: bool,
}

/// What to do with one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Send this.
    Reply { packet: Box<Packet>, kind: MessageType, boot_file: Option<String> },
    /// Send nothing.
    Silent(&'static str),
}

/// Requests that need no answer whoever sent them, before the directory is asked. `None`: it may deserve one.
pub(crate) fn not_for_us(request: &Packet, server: Ipv4Addr) -> Option<&'static str> {
    if request.op != 1 {
        return Some("not a request");
    }
    if !request.giaddr.is_unspecified() {
        return Some("relayed requests are not served");
    }
    let named = request.options.address(code::SERVER_ID);
    match request.message_type() {
        None => Some("no known message type"),
        Some(MessageType::Offer | MessageType::Ack | MessageType::Nak) => Some("a server's message sent as a request"),
        Some(_) if named.is_some_and(|named| named != server) => Some("the client chose another server"),
        Some(_) => None,
    }
}

/// The answer to a DISCOVER, REQUEST or INFORM of a machine with a lease. `target` is `None` for a client that does
/// not boot from the network.
pub(crate) fn decide(
    request: &Packet,
    program: Phase,
    arch: Option<ClientArch>,
    lease: Lease,
    target: Option<BootTarget>,
    subnet: &Subnet,
    urls: &Urls,
) -> Decision {
    let boot_file = match target.map(|target| boot_file(program, arch, target, subnet, urls)) {
        None => None,
        Some(Ok(file)) => file,
        Some(Err(why)) => return Decision::Silent(why),
    };
    let kind = match request.message_type() {
        Some(MessageType::Discover) => MessageType::Offer,
        Some(MessageType::Inform) => MessageType::Ack,
        Some(MessageType::Request) => match claim(request, lease, subnet) {
            Claim::Ours => MessageType::Ack,
            Claim::Wrong => return nak(request, subnet),
            Claim::Foreign => return Decision::Silent("the client's address is another server's"),
            Claim::Missing => return Decision::Silent("a request without an address"),
        },
        _ => return Decision::Silent("needs no answer"),
    };
    let mut packet = answer(request, kind, program, lease, subnet);
    if let Some(file) = &boot_file {
        name_boot_file(&mut packet, request, file, subnet);
    }
    Decision::Reply { packet: Box::new(packet), kind, boot_file }
}

enum Claim {
    Ours,
    Wrong,
    Foreign,
    Missing,
}

/// Is the address that a REQUEST names (option 50 when selecting or rebooting, ciaddr when renewing) the leased one?
/// A wrong one is refused only inside our own pool or when the client chose us by name: any other may be the lease of
/// another server on this segment.
fn claim(request: &Packet, lease: Lease, subnet: &Subnet) -> Claim {
    let ciaddr = Some(request.ciaddr).filter(|address| !address.is_unspecified());
    match request.options.address(code::REQUESTED_ADDRESS).or(ciaddr) {
        None => Claim::Missing,
        Some(address) if address == lease.address => Claim::Ours,
        Some(address)
            if subnet.config.pool.as_ref().is_some_and(|pool| pool.contains(address))
                || request.options.has(code::SERVER_ID) =>
        {
            Claim::Wrong
        }
        Some(_) => Claim::Foreign,
    }
}

/// The file a boot client is sent to; an error is the reason for silence, `None` a lease without a boot file.
fn boot_file(
    program: Phase,
    arch: Option<ClientArch>,
    target: BootTarget,
    subnet: &Subnet,
    urls: &Urls,
) -> Result<Option<String>, &'static str> {
    if target == BootTarget::Nothing {
        return Err("nothing to boot");
    }
    match (program, arch, target) {
        (Phase::System | Phase::Unknown, ..) => Ok(None),
        // Works for firmware that iPXE cannot serve, too: without a boot file it goes on to the next boot entry.
        (_, Some(arch), BootTarget::LocalDisk) if !arch.is_x86_64() => Ok(None),
        (_, Some(arch), _) if !arch.is_x86_64() => Err("no boot program for this architecture"),
        (Phase::Ipxe, _, BootTarget::Ramdisk { boot_id } | BootTarget::Discover { boot_id }) => {
            Ok(Some(urls.ramdisk_script(boot_id)))
        }
        (Phase::Ipxe, _, BootTarget::LocalDisk) => Ok(Some(urls.local_script())),
        (Phase::Ipxe, ..) => Ok(Some(urls.hold_script())),
        // Firmware goes on to its next boot entry seconds after "no such file", and stalls for a minute without an
        // offer. Not by way of iPXE: Debian's `ipxe.efi` hangs OVMF when it exits.
        (Phase::HttpFirmware, Some(ClientArch::UEFI_X64_HTTP), BootTarget::LocalDisk) => Ok(Some(urls.absent())),
        (Phase::HttpFirmware, Some(ClientArch::UEFI_X64_HTTP), _) => Ok(Some(urls.ipxe_efi())),
        (Phase::HttpFirmware, ..) => Err("no HTTP boot program for this architecture"),
        (Phase::PxeFirmware, _, BootTarget::LocalDisk) => Ok(Some(names::ABSENT.to_owned())),
        (Phase::PxeFirmware, Some(ClientArch::UEFI_X64 | ClientArch::UEFI_X64_EBC), _) => {
            Ok(Some(names::IPXE_EFI.to_owned()))
        }
        // RFC 4578: firmware without option 93 is old BIOS firmware.
        (Phase::PxeFirmware, Some(ClientArch::BIOS) | None, _) if subnet.has_undionly => {
            Ok(Some(names::UNDIONLY.to_owned()))
        }
        (Phase::PxeFirmware, ..) => Err("no PXE boot program for this architecture"),
    }
}

fn answer(request: &Packet, kind: MessageType, program: Phase, lease: Lease, subnet: &Subnet) -> Packet {
    let mut packet = Packet::reply_to(request);
    let informed = request.message_type() == Some(MessageType::Inform);
    // RFC 2131, table 3: an ACK carries the client's own address back, an OFFER none.
    if kind == MessageType::Ack {
        packet.ciaddr = request.ciaddr;
    }
    let options = &mut packet.options;
    options.push(code::MESSAGE_TYPE, [kind.octet()]);
    options.push_address(code::SERVER_ID, subnet.server);
    if !informed {
        packet.yiaddr = lease.address;
        push_times(options, subnet.config.lease_time);
    }
    options.push_address(code::SUBNET_MASK, subnet.config.prefix.netmask());
    if let Some(router) = subnet.config.router {
        options.push_address(code::ROUTER, router);
    }
    if !subnet.config.dns.is_empty() {
        options.push(code::DNS, subnet.config.dns.iter().flat_map(Ipv4Addr::octets).collect::<Vec<_>>());
    }
    match program {
        Phase::PxeFirmware => {
            options.push(code::VENDOR_CLASS, *b"PXEClient");
            options.push(code::VENDOR_SPECIFIC, PXE_NO_DISCOVERY);
        }
        Phase::HttpFirmware => options.push(code::VENDOR_CLASS, *b"HTTPClient"),
        Phase::Ipxe => options.push(code::IPXE, IPXE_NO_PROXY),
        Phase::System | Phase::Unknown => {}
    }
    echo(request, options);
    packet
}

/// Options that come back as they came: the client id (RFC 6842) and the machine's UUID (RFC 4578).
fn echo(request: &Packet, options: &mut Options) {
    for code in [code::CLIENT_ID, code::CLIENT_UUID] {
        if let Some(value) = request.options.get(code) {
            options.push(code, value.into_owned());
        }
    }
}

/// RFC 2131, section 4.4.5: renew at half, rebind at seven eighths.
fn push_times(options: &mut Options, lease_time: Duration) {
    let seconds = u32::try_from(lease_time.as_secs()).unwrap_or(u32::MAX);
    options.push_u32(code::LEASE_TIME, seconds);
    options.push_u32(code::RENEWAL_TIME, seconds / 2);
    options.push_u32(code::REBINDING_TIME, seconds - seconds / 8);
}

/// In the fixed field, which all firmware reads, and as option 67 too for a client that asks for it or a name that
/// does not fit.
fn name_boot_file(packet: &mut Packet, request: &Packet, file: &str, subnet: &Subnet) {
    packet.siaddr = subnet.server;
    // One octet stays zero: the field is a C string.
    let fits = packet.file.get_mut(..file.len()).filter(|_| file.len() < 128);
    let fixed = fits.map(|field| field.copy_from_slice(file.as_bytes())).is_some();
    let asked = request.options.get(code::PARAMETERS).unwrap_or_default().contains(&code::BOOT_FILE);
    if asked || !fixed {
        packet.options.push(code::BOOT_FILE, file.as_bytes());
    }
}

fn nak(request: &Packet, subnet: &Subnet) -> Decision {
    let mut packet = Packet::reply_to(request);
    packet.options.push(code::MESSAGE_TYPE, [MessageType::Nak.octet()]);
    packet.options.push_address(code::SERVER_ID, subnet.server);
    packet.options.push(code::MESSAGE, *b"not the address leased to this machine");
    echo(request, &mut packet.options);
    Decision::Reply { packet: Box::new(packet), kind: MessageType::Nak, boot_file: None }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
