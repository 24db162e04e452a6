//! Builds an answer: which options, in which order, within the length that the client takes.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::options::{code, encoded_len};
use super::packet::{MessageType, Packet};
use super::relay::sub_options;
use crate::config::{Route, Subnet};
use crate::trace::Phase;

/// What every client takes, with IP and UDP headers (RFC 2131, section 2).
const SHORTEST_MAX: u16 = 576;
/// An Ethernet frame, whatever the client takes: firmware does not put fragments together.
const LONGEST_MAX: u16 = 1500;
const HEADERS: usize = 28;
/// Fixed fields, cookie and end mark.
const FIXED: usize = 241;

/// Option 43 for PXE (PXE 2.1, table 2-1). Sub-option 6, value 8: take the boot file named here, look for no other
/// boot server. Sub-option 10: no waiting at the menu's prompt. UEFI firmware of some servers asks port 4011 if the
/// second is missing.
const PXE_NO_DISCOVERY: [u8; 10] = [6, 1, 8, 10, 4, 0, b'P', b'X', b'E', code::END];
/// The boot item (sub-option 71) that a client of port 4011 asks for comes back to it.
const PXE_BOOT_ITEM: u8 = 71;
/// iPXE's `no-pxedhcp` = 1: do not wait for a proxyDHCP server's offer.
const IPXE_NO_PROXY: [u8; 3] = [0xb0, 1, 1];

/// An answer in the making.
pub(super) struct Reply<'a> {
    request: &'a Packet,
    packet: Packet,
    /// Octets left for options that may be left out.
    room: usize,
}

impl<'a> Reply<'a> {
    /// With message type and server id.
    pub(super) fn new(request: &'a Packet, kind: MessageType, server_id: Ipv4Addr) -> Self {
        let mut packet = Packet::reply_to(request);
        packet.options.push(code::MESSAGE_TYPE, [kind.octet()]);
        packet.options.push_address(code::SERVER_ID, server_id);
        let asked = request.options.get(code::MAX_SIZE);
        let asked = asked.and_then(|value| <[u8; 2]>::try_from(value.as_ref()).ok()).map(u16::from_be_bytes);
        let max = usize::from(asked.unwrap_or_default().clamp(SHORTEST_MAX, LONGEST_MAX));
        let echoed: usize = ECHOED.iter().chain(&[code::RELAY_AGENT]).map(|code| echo_len(request, *code)).sum();
        Self { request, packet, room: max.saturating_sub(HEADERS + FIXED + echoed) }
    }

    /// The client's address and how long it may keep it. RFC 2131, section 4.4.5: renew at half, rebind at seven eighths.
    pub(super) fn lease(&mut self, address: Ipv4Addr, lease_time: Duration) {
        self.packet.yiaddr = address;
        let seconds = u32::try_from(lease_time.as_secs()).unwrap_or(u32::MAX);
        let options = &mut self.packet.options;
        options.push_u32(code::LEASE_TIME, seconds);
        options.push_u32(code::RENEWAL_TIME, seconds / 2);
        options.push_u32(code::REBINDING_TIME, seconds - seconds / 8);
    }

    /// RFC 2131, table 3: an ACK carries the client's own address back.
    pub(super) fn client_address(&mut self, address: Ipv4Addr) {
        self.packet.ciaddr = address;
    }

    /// Mask and router, without which an address is of no use.
    pub(super) fn link(&mut self, subnet: &Subnet) {
        self.packet.options.push_address(code::SUBNET_MASK, subnet.prefix.netmask());
        if let Some(router) = subnet.router {
            self.packet.options.push_address(code::ROUTER, router);
        }
    }

    /// Name servers; time servers, domain and routes, if they are asked for. As far as they fit, so after all else.
    pub(super) fn settings(&mut self, subnet: &Subnet) {
        if !subnet.dns.is_empty() {
            self.may(code::DNS, &addresses(&subnet.dns));
        }
        let asks = |code| self.request.options.asks_for(code);
        let (domain, ntp, routes) = (asks(code::DOMAIN), asks(code::NTP), asks(code::CLASSLESS_ROUTES));
        if routes && !subnet.routes.is_empty() {
            let value = classless_routes(&subnet.routes, subnet.router);
            self.may(code::CLASSLESS_ROUTES, &value);
        }
        if let Some(name) = subnet.domain.as_ref().filter(|_| domain) {
            self.may(code::DOMAIN, name.as_bytes());
        }
        if ntp && !subnet.ntp.is_empty() {
            self.may(code::NTP, &addresses(&subnet.ntp));
        }
    }

    /// What the program needs to take this for an answer to a boot client. Beside another server (`proxy`) iPXE takes it
    /// only under PXE's class.
    pub(super) fn class(&mut self, phase: Phase, proxy: bool) {
        let options = &mut self.packet.options;
        match phase {
            Phase::PxeFirmware => {
                options.push(code::VENDOR_CLASS, b"PXEClient");
                options.push(code::VENDOR_SPECIFIC, PXE_NO_DISCOVERY);
            }
            Phase::HttpFirmware => options.push(code::VENDOR_CLASS, b"HTTPClient"),
            Phase::Ipxe if proxy => {
                options.push(code::VENDOR_CLASS, b"PXEClient");
                options.push(code::VENDOR_SPECIFIC, PXE_NO_DISCOVERY);
            }
            Phase::Ipxe => options.push(code::IPXE, IPXE_NO_PROXY),
            Phase::System | Phase::Unknown => {}
        }
    }

    /// As [`Reply::class`], for a client that asks port 4011 for a boot item.
    pub(super) fn class_of_item(&mut self, phase: Phase) {
        let asked = self.request.options.get(code::VENDOR_SPECIFIC).unwrap_or_default();
        let item = sub_options(&asked).find(|(code, value)| *code == PXE_BOOT_ITEM && value.len() == 4);
        match (phase, item) {
            (Phase::PxeFirmware | Phase::Ipxe, Some((_, item))) => {
                let options = &mut self.packet.options;
                options.push(code::VENDOR_CLASS, b"PXEClient");
                options.push(code::VENDOR_SPECIFIC, [&[PXE_BOOT_ITEM, 4], item, &[code::END]].concat());
            }
            _ => self.class(phase, true),
        }
    }

    /// In the fixed field, which all firmware reads, and as option 67 too for a client that asks for it or a name that
    /// does not fit; with the server to fetch it from.
    pub(super) fn boot_file(&mut self, file: &str, server: Ipv4Addr) {
        self.packet.siaddr = server;
        // One octet stays zero: the field is a C string.
        let fits = self.packet.file.get_mut(..file.len()).filter(|_| file.len() < 128);
        let fixed = fits.map(|field| field.copy_from_slice(file.as_bytes())).is_some();
        if self.request.options.asks_for(code::TFTP_SERVER) {
            self.may(code::TFTP_SERVER, server.to_string().as_bytes());
        }
        if !fixed {
            self.packet.options.push(code::BOOT_FILE, file);
        } else if self.request.options.asks_for(code::BOOT_FILE) {
            self.may(code::BOOT_FILE, file.as_bytes());
        }
    }

    /// Why a request is refused.
    pub(super) fn message(&mut self, text: &str) {
        self.may(code::MESSAGE, text.as_bytes());
    }

    /// The message, with what comes back as it came; the relay agent's information last (RFC 3046, section 2.2).
    pub(super) fn finish(mut self) -> Packet {
        for code in ECHOED.into_iter().chain([code::RELAY_AGENT]) {
            if let Some(value) = self.request.options.get(code) {
                self.packet.options.push(code, value);
            }
        }
        self.packet
    }

    /// An option that is left out where it does not fit.
    fn may(&mut self, code: u8, value: &[u8]) {
        // Of the options so far, those that must be there count too.
        if self.packet.options.encoded_len() + encoded_len(value.len()) <= self.room {
            self.packet.options.push(code, value);
        }
    }
}

/// The client id (RFC 6842) and the machine's UUID (RFC 4578).
const ECHOED: [u8; 2] = [code::CLIENT_ID, code::CLIENT_UUID];

fn echo_len(request: &Packet, code: u8) -> usize {
    request.options.get(code).map_or(0, |value| encoded_len(value.len()))
}

fn addresses(list: &[Ipv4Addr]) -> Vec<u8> {
    list.iter().flat_map(Ipv4Addr::octets).collect()
}

/// RFC 3442: prefix length, the prefix's octets that matter, router. A client that takes them ignores option 3.
fn classless_routes(routes: &[Route], router: Option<Ipv4Addr>) -> Vec<u8> {
    let mut value = Vec::new();
    for route in routes {
        let octets = route.to.network().octets();
        value.push(route.to.len());
        value.extend(octets.iter().take(usize::from(route.to.len()).div_ceil(8)));
        value.extend_from_slice(&route.via.octets());
    }
    let has_default = routes.iter().any(|route| route.to.len() == 0);
    if let Some(router) = router.filter(|_| !has_default) {
        value.push(0);
        value.extend_from_slice(&router.octets());
    }
    value
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
