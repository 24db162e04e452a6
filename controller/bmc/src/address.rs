//! BMC addresses as they stand in `BareMetalHost.spec.bmc.address`.
//!
//! The forms are Metal3's: `scheme://host[:port]`, and a bare `host[:port]` which means `ipmi`. IPv6 literals stand
//! in brackets, or bare when there is no port.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::BmcError;

/// The port IPMI over LAN is at (IPMI 2.0 §13.1.2).
const IPMI_PORT: u16 = 623;

/// Metal3's other schemes: known, so that the answer can be "not yet" and not "what is that?".
const KNOWN_SCHEMES: [&str; 9] = [
    "libvirt",
    "redfish",
    "ilo5-redfish",
    "idrac-redfish",
    "redfish-virtualmedia",
    "ilo5-virtualmedia",
    "idrac-virtualmedia",
    "redfish-uefihttp",
    "idrac",
];

/// The protocol an address asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// IPMI 2.0 over LAN (RMCP+).
    Ipmi,
}

/// Where a BMC is and what it speaks. Equality is by meaning: `10.0.0.1` equals `ipmi://10.0.0.1:623`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    scheme: Scheme,
    host: String,
    port: u16,
}

impl Address {
    /// The protocol.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Host name or IP literal, an IPv6 one without its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port, the scheme's own unless given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Ipmi => "ipmi",
        };
        if self.host.contains(':') {
            write!(f, "{scheme}://[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{scheme}://{}:{}", self.host, self.port)
        }
    }
}

impl FromStr for Address {
    type Err = BmcError;

    fn from_str(text: &str) -> Result<Self, BmcError> {
        parse(text.trim()).map_err(|problem| BmcError::BadAddress { address: without_userinfo(text), problem })
    }
}

fn parse(text: &str) -> Result<Address, String> {
    if text.is_empty() {
        return Err("is empty: expected ipmi://host[:port]".to_owned());
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("ipmi", text));
    let scheme = parse_scheme(scheme)?;
    if let Some((before, _)) = rest.split_once('@')
        && !before.contains('/')
    {
        return Err("holds a user name: credentials belong in the secret named by credentialsName".to_owned());
    }
    let authority = match rest.split_once(['/', '?', '#']) {
        None => rest,
        Some((authority, "")) => authority,
        Some((authority, tail)) => {
            return Err(format!(
                "{tail:?} after host {authority:?} means nothing to ipmi: expected ipmi://host[:port]"
            ));
        }
    };
    let (host, port) = split_port(authority)?;
    let port = match port {
        None => IPMI_PORT,
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port != 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(format!("port {digits:?} is not a number from 1 to 65535")),
        },
    };
    Ok(Address { scheme, host: host.to_ascii_lowercase(), port })
}

fn parse_scheme(scheme: &str) -> Result<Scheme, String> {
    let lower = scheme.to_ascii_lowercase();
    let base = lower.strip_suffix("+https").or_else(|| lower.strip_suffix("+http")).unwrap_or(&lower);
    if lower == "ipmi" {
        Ok(Scheme::Ipmi)
    } else if KNOWN_SCHEMES.contains(&base) {
        Err(format!("scheme {scheme:?} is not supported yet: supported: ipmi"))
    } else {
        Err(format!("scheme {scheme:?} is unknown: supported: ipmi"))
    }
}

/// Splits `host[:port]`, taking the brackets off an IPv6 literal.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    if authority.is_empty() {
        return Err("has no host".to_owned());
    }
    if let Some(inner) = authority.strip_prefix('[') {
        let (host, after) = inner.split_once(']').ok_or_else(|| format!("host {authority:?} lacks its closing ]"))?;
        check_ipv6(host)?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(format!("{after:?} after the IPv6 host is not :port")),
        };
    }
    if authority.matches(':').count() > 1 {
        check_ipv6(authority)?;
        return Ok((authority, None));
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if host.is_empty() {
        return Err("has no host".to_owned());
    }
    let label_ok = |label: &str| {
        (1..=63).contains(&label.len()) && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if host.len() > 253 || !host.trim_end_matches('.').split('.').all(label_ok) {
        return Err(format!("host {host:?} is neither a host name nor an IP address"));
    }
    Ok((host, port))
}

fn check_ipv6(host: &str) -> Result<(), String> {
    // A zone names an interface of this machine and is not part of the address proper.
    let literal = host.split_once('%').map_or(host, |(literal, _)| literal);
    literal.parse::<Ipv6Addr>().map(drop).map_err(|_| format!("host {host:?} is not an IPv6 address"))
}

/// The address with whatever stands before an `@` blotted out: people do put passwords there.
fn without_userinfo(text: &str) -> String {
    match text.rsplit_once('@') {
        None => text.to_owned(),
        Some((before, after)) => match before.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://…@{after}"),
            None => format!("…@{after}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_forms() {
        for (text, shown) in [
            ("ipmi://192.168.122.1:6233", "ipmi://192.168.122.1:6233"),
            ("ipmi://192.168.122.1", "ipmi://192.168.122.1:623"),
            ("ipmi://192.168.122.1/", "ipmi://192.168.122.1:623"),
            ("IPMI://bmc-1.Example.org", "ipmi://bmc-1.example.org:623"),
            ("192.168.122.1", "ipmi://192.168.122.1:623"),
            ("192.168.122.1:6233", "ipmi://192.168.122.1:6233"),
            ("bmc-1.example.org:1", "ipmi://bmc-1.example.org:1"),
            ("ipmi://[fd00::1]:6233", "ipmi://[fd00::1]:6233"),
            ("[fd00::1]:6233", "ipmi://[fd00::1]:6233"),
            ("[fd00::1]", "ipmi://[fd00::1]:623"),
            ("fd00::1", "ipmi://[fd00::1]:623"),
            ("ipmi://[fe80::1%eth0]", "ipmi://[fe80::1%eth0]:623"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
        }
    }

    #[test]
    fn refused_forms_name_the_wrong_part() {
        for (text, part) in [
            ("", "empty"),
            ("redfish://10.0.0.1/redfish/v1/Systems/1", "scheme \"redfish\" is not supported yet: supported: ipmi"),
            ("redfish-virtualmedia+http://10.0.0.1/", "\"redfish-virtualmedia+http\" is not supported yet"),
            ("idrac-redfish://10.0.0.1", "\"idrac-redfish\" is not supported yet"),
            ("ilo5-virtualmedia://10.0.0.1", "\"ilo5-virtualmedia\" is not supported yet"),
            ("libvirt://10.0.0.1:6233", "\"libvirt\" is not supported yet"),
            ("imap://10.0.0.1", "scheme \"imap\" is unknown"),
            ("ipmi://", "no host"),
            ("ipmi://:623", "no host"),
            ("ipmi://10.0.0.1:", "port \"\""),
            ("ipmi://10.0.0.1:0", "port \"0\""),
            ("ipmi://10.0.0.1:+7", "port \"+7\""),
            ("ipmi://10.0.0.1:66000", "port \"66000\""),
            ("ipmi://10.0.0.1/redfish", "\"redfish\" after host"),
            ("ipmi://[fd00::1", "closing ]"),
            ("ipmi://[10.0.0.1]", "not an IPv6 address"),
            ("ipmi://[fd00::1]623", "\"623\""),
            ("ipmi://ho st", "host \"ho st\""),
            ("ipmi://a..b", "host \"a..b\""),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.to_string().contains(part), "{text}: {error}");
            assert!(!error.is_transient());
        }
    }

    #[test]
    fn passwords_in_addresses_are_refused_unseen() {
        let error = "ipmi://root:calvin@10.0.0.1".parse::<Address>().unwrap_err().to_string();
        assert!(error.contains("credentialsName"), "{error}");
        assert!(!error.contains("calvin"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_parses_or_fails_and_what_parses_is_stable(text in "\\PC{0,60}") {
            if let Ok(address) = text.parse::<Address>() {
                proptest::prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
            }
        }
    }
}
