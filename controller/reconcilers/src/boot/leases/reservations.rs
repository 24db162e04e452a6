//! Addresses that people gave to cards of a host: the annotation `bessemer.dev/reserved-addresses` of its BareMetalHost,
//! `MAC=IP` with commas between, as many as there are cards and subnets.

use std::net::IpAddr;

use bessemer_api::metal3::BareMetalHost;
use bessemer_api::well_known::RESERVED_ADDRESSES_ANNOTATION;
use kube::ResourceExt;

use super::Holder;
use crate::boot::is_mac;
use crate::hosts::Hosts;
use crate::outside::{AddressPool, NoAddress};

/// One address of one card.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    /// Lower case with colons.
    pub(super) mac: String,
    pub(super) address: IpAddr,
}

pub(super) fn has_any(host: &BareMetalHost) -> bool {
    host.annotations().contains_key(RESERVED_ADDRESSES_ANNOTATION)
}

/// The host's reservations, in the order in which they are written.
pub(super) fn of(host: &BareMetalHost) -> Result<Vec<Reservation>, NoAddress> {
    let text = host.annotations().get(RESERVED_ADDRESSES_ANNOTATION).map(String::as_str).unwrap_or_default();
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| parse(entry).ok_or_else(|| malformed(host, entry))).collect()
}

fn parse(entry: &str) -> Option<Reservation> {
    let (mac, address) = entry.split_once('=')?;
    let mac = mac.trim().to_ascii_lowercase().replace('-', ":");
    Some(Reservation { address: address.trim().parse().ok()?, mac }).filter(|reservation| is_mac(&reservation.mac))
}

fn malformed(host: &BareMetalHost, entry: &str) -> NoAddress {
    let entry: String = entry.chars().filter(|c| !c.is_control()).take(64).collect();
    NoAddress(format!(
        "annotation {RESERVED_ADDRESSES_ANNOTATION} of host {}: `{entry}` is no `MAC=IP`, such as 52:54:00:00:00:01=10.77.0.50",
        host.name_any()
    ))
}

impl Hosts {
    /// The holder's reserved address in the pool's subnet.
    pub(super) fn reserved(&self, holder: &Holder, pool: &dyn AddressPool) -> Result<Option<IpAddr>, NoAddress> {
        let Some(host) = holder.host.as_ref().and_then(|key| self.cached(key)) else { return Ok(None) };
        choose(of(&host)?, &holder.mac, pool)
    }

    pub(super) fn is_reserved(&self, holder: &Holder, address: IpAddr) -> bool {
        let host = holder.host.as_ref().and_then(|key| self.cached(key));
        let mut all = host.iter().filter_map(|host| of(host).ok()).flatten();
        all.any(|reservation| reservation.address == address)
    }
}

/// The one reservation of this card that is for this subnet. A card that has one for another subnet alone is on the wrong
/// link, which nothing but a person can put right.
fn choose(all: Vec<Reservation>, mac: &str, pool: &dyn AddressPool) -> Result<Option<IpAddr>, NoAddress> {
    let is_v6 = pool.subnet().contains(':');
    let of_card = all.into_iter().filter(|one| one.mac == mac && one.address.is_ipv6() == is_v6);
    let (mut chosen, mut why) = (None, None);
    for Reservation { address, .. } in of_card {
        match pool.reserve(address) {
            Err(error) => why = why.or(Some(error)),
            Ok(()) if chosen.is_some_and(|other| other != address) => {
                return Err(NoAddress(format!("{mac} has two reserved addresses in {}: leave one", pool.subnet())));
            }
            Ok(()) => chosen = Some(address),
        }
    }
    match (chosen, why) {
        (None, Some(why)) => Err(why),
        (chosen, _) => Ok(chosen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Subnet(&'static str);

    impl AddressPool for Subnet {
        fn subnet(&self) -> String {
            format!("{}0/24", self.0)
        }

        fn contains(&self, _: IpAddr) -> bool {
            false
        }

        fn size(&self) -> u128 {
            0
        }

        fn reserve(&self, address: IpAddr) -> Result<(), NoAddress> {
            match address.to_string().starts_with(self.0) {
                true => Ok(()),
                false => Err(NoAddress(format!("{address} is outside"))),
            }
        }

        fn pick(&self, _: &str, _: &dyn Fn(IpAddr) -> bool) -> Result<IpAddr, NoAddress> {
            Err(NoAddress("none".to_owned()))
        }
    }

    fn host(text: &str) -> BareMetalHost {
        let mut host = BareMetalHost::new("r7", Default::default());
        host.annotations_mut().insert(RESERVED_ADDRESSES_ANNOTATION.to_owned(), text.to_owned());
        host
    }

    #[test]
    fn a_reservation_is_of_one_card_in_one_subnet() {
        let text = "52-54-00-00-00-0A=10.7.0.5, 52:54:00:00:00:0a=fd7::5,52:54:00:00:00:0b=10.8.0.6,
            52:54:00:00:00:0c=10.7.0.7,52:54:00:00:00:0c=10.7.0.8,52:54:00:00:00:0d=10.8.0.9,52:54:00:00:00:0d=10.7.0.9";
        for (mac, subnet, wanted) in [
            ("52:54:00:00:00:0a", "10.7.0.", Ok(Some("10.7.0.5"))),
            ("52:54:00:00:00:0a", "fd7::", Ok(Some("fd7::5"))),
            ("52:54:00:00:00:0b", "10.7.0.", Err("10.8.0.6 is outside")),
            ("52:54:00:00:00:0b", "fd7::", Ok(None)),
            (
                "52:54:00:00:00:0c",
                "10.7.0.",
                Err("52:54:00:00:00:0c has two reserved addresses in 10.7.0.0/24: leave one"),
            ),
            ("52:54:00:00:00:0d", "10.7.0.", Ok(Some("10.7.0.9"))),
            ("52:54:00:00:00:0e", "10.7.0.", Ok(None)),
        ] {
            let chosen = choose(of(&host(text)).unwrap(), mac, &Subnet(subnet));
            let wanted = wanted.map(|address| address.map(|text| text.parse::<IpAddr>().unwrap()));
            assert_eq!(chosen.map_err(|error| error.0), wanted.map_err(str::to_owned), "{mac} {subnet}");
        }
    }

    #[test]
    fn what_is_no_reservation_is_named() {
        for bad in ["10.7.0.5", "52:54:00:00:00:0a", "52:54:00:00:00:0a=10.7.0", "52:54:00:00:00=10.7.0.5"] {
            let error = of(&host(&format!("52:54:00:00:00:01=10.7.0.1,{bad}"))).unwrap_err().0;
            assert!(error.contains(&format!("host r7: `{bad}` is no `MAC=IP`")), "{error}");
        }
        assert_eq!(of(&host(" , ")).unwrap(), []);
    }
}
