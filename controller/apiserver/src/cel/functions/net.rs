//! IP addresses and prefixes. Stricter than schema formats: no leading zeros, no zone, no IPv4 inside IPv6.

use std::net::IpAddr;

use super::super::eval::{Found, failed, no_overload};
use super::super::value::Value;
use super::Args;

pub(super) fn function<'v>(name: &str, text: &str) -> Found<'v> {
    match (name, address(text), prefix(text)) {
        ("isIP", found, _) => Ok(Value::Bool(found.is_some())),
        ("isCIDR", _, found) => Ok(Value::Bool(found.is_some())),
        ("ip", Some(ip), _) => Ok(Value::Ip(ip)),
        ("ip.isCanonical", Some(ip), _) => Ok(Value::Bool(ip.to_string() == text)),
        ("ip" | "ip.isCanonical", None, _) => failed(format!(
            "IP Address {text:?} parse error during conversion from string: ParseAddr({text:?}): unable to parse IP"
        )),
        ("cidr", _, Some((ip, bits))) => Ok(Value::Cidr(ip, bits)),
        ("cidr", _, None) => failed(format!(
            "network address parse error during conversion from string: netip.ParsePrefix({text:?}): no '/'"
        )),
        _ => no_overload(),
    }
}

fn address(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    let mapped = matches!(ip, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some());
    (!mapped).then_some(ip)
}

fn prefix(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    let ip = address(ip)?;
    let plain = bits == "0" || (!bits.starts_with('0') && bits.chars().all(|c| c.is_ascii_digit()));
    let bits: u8 = bits.parse().ok().filter(|_| plain)?;
    (bits <= if ip.is_ipv4() { 32 } else { 128 }).then_some((ip, bits))
}

fn masked(ip: IpAddr, bits: u8) -> IpAddr {
    match ip {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(bits.into())).unwrap_or_default();
            std::net::Ipv4Addr::from_bits(v4.to_bits() & mask).into()
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(bits.into())).unwrap_or_default();
            std::net::Ipv6Addr::from_bits(v6.to_bits() & mask).into()
        }
    }
}

fn holds(network: (IpAddr, u8), ip: IpAddr) -> bool {
    network.0.is_ipv4() == ip.is_ipv4() && masked(network.0, network.1) == masked(ip, network.1)
}

pub(super) fn method<'v>(name: &str, target: &Value<'v>, rest: Args<'_, 'v>) -> Found<'v> {
    match (target, name, rest) {
        (Value::Ip(ip), "family", []) => Ok(Value::Int(if ip.is_ipv4() { 4 } else { 6 })),
        (Value::Ip(ip), "isUnspecified", []) => Ok(Value::Bool(ip.is_unspecified())),
        (Value::Ip(ip), "isLoopback", []) => Ok(Value::Bool(ip.is_loopback())),
        (Value::Ip(ip), "isLinkLocalMulticast", []) => Ok(Value::Bool(match ip {
            IpAddr::V4(v4) => v4.octets().starts_with(&[224, 0, 0]),
            IpAddr::V6(v6) => v6.octets().first() == Some(&0xff) && v6.octets().get(1).is_some_and(|b| b & 0x0f == 2),
        })),
        (Value::Ip(ip), "isLinkLocalUnicast", []) => Ok(Value::Bool(is_link_local(*ip))),
        (Value::Ip(ip), "isGlobalUnicast", []) => {
            let broadcast = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
            let other = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(*ip);
            Ok(Value::Bool(!broadcast && !other))
        }
        (Value::Cidr(ip, _), "ip", []) => Ok(Value::Ip(*ip)),
        (Value::Cidr(_, bits), "prefixLength", []) => Ok(Value::Int((*bits).into())),
        (Value::Cidr(ip, bits), "masked", []) => Ok(Value::Cidr(masked(*ip, *bits), *bits)),
        (Value::Cidr(ip, bits), "containsIP", [Value::Ip(inner)]) => Ok(Value::Bool(holds((*ip, *bits), *inner))),
        (Value::Cidr(ip, bits), "containsIP", [Value::Text(text)]) => match address(text) {
            Some(inner) => Ok(Value::Bool(holds((*ip, *bits), inner))),
            None => no_overload(),
        },
        (Value::Cidr(ip, bits), "containsCIDR", [Value::Cidr(inner, inner_bits)]) => {
            Ok(Value::Bool(inner_bits >= bits && holds((*ip, *bits), *inner)))
        }
        (Value::Cidr(ip, bits), "containsCIDR", [Value::Text(text)]) => match prefix(text) {
            Some((inner, inner_bits)) => Ok(Value::Bool(inner_bits >= *bits && holds((*ip, *bits), inner))),
            None => no_overload(),
        },
        _ => no_overload(),
    }
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}
