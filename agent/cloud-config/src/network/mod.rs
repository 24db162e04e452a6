//! Network data of an installed host: read from OpenStack's `network_data.json` or cloud-init's versions 1 and 2 into one [`Network`], and written as
//! the distribution wants it: systemd-networkd's files, netplan's YAML, NetworkManager's keyfiles. What cannot be said is a warning that names it.
//! Nothing here touches an interface.

mod address;
mod bond;
pub mod detect;
pub mod iproute;
pub mod keyfile;
pub mod netplan;
pub mod networkd;
mod openstack;
mod section;
mod v1;
mod v2;

use std::collections::BTreeMap;
use std::net::IpAddr;

pub use address::{Address, Prefix};

use crate::yaml::{self, Node, YamlError};

/// Most links of one host. Every port of every switch of a rack is fewer.
const MOST_LINKS: usize = 512;

/// Why network data cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// See [`YamlError`].
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// None of the three forms.
    #[error("it is neither OpenStack's network_data.json nor cloud-init's version 1 or 2")]
    Unknown,
    /// Something in it makes no sense.
    #[error("{place}: {what}")]
    Bad {
        /// Such as `links[1].vlan_id`.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// A NIC that it names is not in this host.
    #[error("{link}: no interface of this host has the address {mac}")]
    NoSuchNic {
        /// Its name in the data.
        link: String,
        /// Its address.
        mac: String,
    },
}

impl NetworkError {
    fn bad(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Bad { place: place.into(), what: what.into() }
    }
}

/// Which form it was given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// OpenStack's.
    OpenStack,
    /// cloud-init's list of things.
    V1,
    /// netplan's.
    V2,
}

/// The networks of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    /// How it was given.
    pub form: Form,
    /// In the order of the data.
    pub links: Vec<Link>,
    /// Name servers of all links.
    pub nameservers: Vec<IpAddr>,
    /// Domains of all links.
    pub search: Vec<String>,
    /// Routes that were given outside any link.
    pub routes: Vec<Route>,
    /// What is left out.
    pub warnings: Vec<String>,
    /// Version 2 as it was given, for netplan itself.
    original: Option<serde_json::Value>,
}

/// What a link is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A NIC.
    Physical,
    /// Several links as one, with netplan's names of parameters.
    Bond {
        /// Names of links.
        members: Vec<String>,
        /// Such as `mode`.
        parameters: BTreeMap<String, String>,
    },
    /// A VLAN.
    Vlan {
        /// 1 to 4094.
        id: u16,
        /// Name of the link it is on.
        on: String,
    },
    /// A bridge, with netplan's names of parameters.
    Bridge {
        /// Names of links.
        members: Vec<String>,
        /// Such as `stp`.
        parameters: BTreeMap<String, String>,
    },
}

/// Where IPv6 addresses come from, besides those that are given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dynamic6 {
    /// Nowhere.
    #[default]
    None,
    /// DHCPv6.
    Dhcp,
    /// Router advertisements, and DHCPv6 for the rest.
    Autoconf,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The interface's name, or what others call it as long as that is not known.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Of a NIC what it is known by, of others what they get. Lower case.
    pub mac: Option<String>,
    /// Of a NIC: a pattern for the kernel's name.
    pub matches_name: Option<String>,
    /// Largest packet in bytes.
    pub mtu: Option<u32>,
    /// Given addresses.
    pub addresses: Vec<Address>,
    /// DHCPv4.
    pub dhcp4: bool,
    /// What there is of IPv6 besides.
    pub dynamic6: Dynamic6,
    /// Whether router advertisements count; the system's choice when not given.
    pub accept_ra: Option<bool>,
    /// Routes through it, default routes included.
    pub routes: Vec<Route>,
    /// Its own name servers.
    pub nameservers: Vec<IpAddr>,
    /// Its own domains.
    pub search: Vec<String>,
}

impl Link {
    fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            mac: None,
            matches_name: None,
            mtu: None,
            addresses: Vec::new(),
            dhcp4: false,
            dynamic6: Dynamic6::None,
            accept_ra: None,
            routes: Vec::new(),
            nameservers: Vec::new(),
            search: Vec::new(),
        }
    }

    /// Once, however often it is given: one default route of each family is one.
    fn add_route(&mut self, route: Route) {
        if !self.routes.contains(&route) {
            self.routes.push(route);
        }
    }
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Where it leads.
    pub to: Prefix,
    /// Next hop; none when the destination is on the link.
    pub via: Option<IpAddr>,
    /// Lower is preferred.
    pub metric: Option<u32>,
    /// The next hop is on the link whatever the addresses say.
    pub on_link: bool,
}

/// A NIC of this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// The kernel's name.
    pub name: String,
    /// Lower case.
    pub mac: String,
}

/// Reads network data in whichever form it is.
pub fn parse(text: &str) -> Result<Network, NetworkError> {
    let root = yaml::parse(text)?;
    let data = root.get("network").unwrap_or(&root);
    let version = data.get("version").and_then(Node::number);
    let network = match version {
        Some(1) => v1::read(data)?,
        Some(2) => v2::read(data)?,
        _ if data.get("links").is_some() || data.get("networks").is_some() => openstack::read(data)?,
        _ if ["ethernets", "bonds", "vlans", "bridges"].iter().any(|key| data.get(key).is_some()) => v2::read(data)?,
        _ => return Err(NetworkError::Unknown),
    };
    if network.links.len() > MOST_LINKS {
        return Err(NetworkError::bad("links", format!("there are more than {MOST_LINKS}")));
    }
    network.check()?;
    Ok(network)
}

impl Network {
    fn new(form: Form) -> Self {
        Self {
            form,
            links: Vec::new(),
            nameservers: Vec::new(),
            search: Vec::new(),
            routes: Vec::new(),
            warnings: Vec::new(),
            original: None,
        }
    }

    /// Whether it was OpenStack's.
    #[must_use]
    pub fn is_openstack(&self) -> bool {
        self.form == Form::OpenStack
    }

    /// Names are names of files, too, and every link that is named must be there.
    fn check(&self) -> Result<(), NetworkError> {
        for link in &self.links {
            let fine = |c: char| c.is_ascii_alphanumeric() || "_.-:@".contains(c);
            if link.name.is_empty()
                || link.name.len() > 64
                || link.name.starts_with('.')
                || !link.name.chars().all(fine)
            {
                return Err(NetworkError::bad(
                    "links",
                    format!("{:?} is no name of an interface", address::shown(&link.name)),
                ));
            }
            if self.links.iter().filter(|other| other.name == link.name).count() > 1 {
                return Err(NetworkError::bad("links", format!("two links are named {}", link.name)));
            }
            let parts: Vec<&String> = match &link.kind {
                Kind::Physical => Vec::new(),
                Kind::Vlan { on, .. } => vec![on],
                Kind::Bond { members, .. } | Kind::Bridge { members, .. } => members.iter().collect(),
            };
            for part in parts {
                if part == &link.name || !self.links.iter().any(|other| other.name == *part) {
                    return Err(NetworkError::bad(&link.name, format!("there is no link {:?}", address::shown(part))));
                }
            }
        }
        Ok(())
    }

    /// The same with the names that the kernel gave to this host's NICs: those with an address go by it.
    pub fn on_host(mut self, nics: &[Nic]) -> Result<Self, NetworkError> {
        let mut names: BTreeMap<String, String> = BTreeMap::new();
        for link in self.links.iter_mut().filter(|link| link.kind == Kind::Physical) {
            let Some(mac) = &link.mac else { continue };
            let nic = nics.iter().find(|nic| nic.mac.eq_ignore_ascii_case(mac));
            let nic = nic.ok_or_else(|| NetworkError::NoSuchNic { link: link.name.clone(), mac: mac.clone() })?;
            names.insert(link.name.clone(), nic.name.clone());
        }
        let known = |name: &String| names.get(name).cloned();
        // what was named after the link it is on, in OpenStack's way
        let vlan = |link: &Link| match &link.kind {
            Kind::Vlan { id, on } if link.name == format!("{on}.{id}") => known(on).map(|on| format!("{on}.{id}")),
            _ => None,
        };
        let renamed: Vec<(String, String)> = self
            .links
            .iter()
            .filter_map(|link| known(&link.name).or_else(|| vlan(link)).map(|name| (link.name.clone(), name)))
            .collect();
        let rename = |name: &mut String| {
            if let Some((_, new)) = renamed.iter().find(|(old, _)| old == name) {
                name.clone_from(new);
            }
        };
        for link in &mut self.links {
            rename(&mut link.name);
            match &mut link.kind {
                Kind::Physical => {}
                Kind::Vlan { on, .. } => rename(on),
                Kind::Bond { members, .. } | Kind::Bridge { members, .. } => members.iter_mut().for_each(rename),
            }
        }
        self.check()?;
        Ok(self)
    }

    /// Routes of no link in particular that go by `link`: those whose next hop is in one of its networks.
    fn routes_by<'a>(&'a self, link: &'a Link) -> impl Iterator<Item = &'a Route> {
        self.routes
            .iter()
            .filter(|route| route.via.is_some_and(|via| link.addresses.iter().any(|address| address.holds(via))))
    }

    /// The bond or bridge that `name` is a member of, and whether it is a bond.
    fn master_of(&self, name: &str) -> Option<(&Link, bool)> {
        self.links.iter().find_map(|link| match &link.kind {
            Kind::Bond { members, .. } if members.iter().any(|member| member == name) => Some((link, true)),
            Kind::Bridge { members, .. } if members.iter().any(|member| member == name) => Some((link, false)),
            _ => None,
        })
    }
}

/// A file to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Absolute.
    pub path: String,
    /// Its text.
    pub content: String,
    /// Permissions.
    pub mode: u32,
}

#[cfg(test)]
mod tests;
