//! BMC addresses as they stand in `BareMetalHost.spec.bmc.address`.
//!
//! The forms are Metal3's: `scheme[+http|+https]://host[:port][/system]`, and a bare `host[:port]` which means `ipmi`.
//! An IPMI address may ask for less privilege: `?privilegelevel=OPERATOR`. IPv6 literals stand in brackets, or bare when there is no port.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use ipmi_client::Privilege;

use crate::BmcError;
use crate::scheme::{Protocol, Scheme};

/// The port IPMI over LAN is at (IPMI 2.0 §13.1.2).
const IPMI_PORT: u16 = 623;

/// The query of an IPMI address.
const PRIVILEGE_LEVEL: &str = "privilegelevel";

/// The root of Redfish itself: an address that ends there names no system.
const REDFISH_ROOT: &str = "/redfish/v1";

/// Where a BMC is and what it speaks. Equality is by meaning: `10.0.0.1` equals `ipmi://10.0.0.1:623`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    scheme: Scheme,
    /// Redfish without TLS.
    plain: bool,
    host: String,
    port: u16,
    system: Option<String>,
    privilege: Privilege,
}

impl Address {
    /// What it speaks and how its host boots.
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

    /// The Redfish path of the one system that is meant, where the address names one.
    #[must_use]
    pub fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// The privilege that an IPMI session is to have: administrator, unless the address asks for less.
    pub(crate) fn privilege(&self) -> Privilege {
        self.privilege
    }

    /// The Redfish service as a URL; for IPMI it means nothing.
    #[must_use]
    pub fn service_url(&self) -> String {
        let scheme = if self.plain { "http" } else { "https" };
        format!("{scheme}://{}", self.authority())
    }

    fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = if self.plain { "+http" } else { "" };
        let system = self.system.as_deref().unwrap_or_default();
        write!(f, "{}{transport}://{}{system}", self.scheme, self.authority())?;
        match self.privilege {
            Privilege::Administrator => Ok(()),
            Privilege::Operator => write!(f, "?{PRIVILEGE_LEVEL}=OPERATOR"),
            Privilege::User => write!(f, "?{PRIVILEGE_LEVEL}=USER"),
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
        return Err("is empty: expected ipmi://host[:port] or redfish://host[:port][/system]".to_owned());
    }
    let (scheme, rest) = text.split_once("://").unwrap_or(("ipmi", text));
    let (scheme, plain) = parse_scheme(scheme)?;
    if let Some((before, _)) = rest.split_once('@')
        && !before.contains('/')
    {
        return Err("holds a user name: credentials belong in the secret named by credentialsName".to_owned());
    }
    let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(at);
    let (host, port) = split_port(authority)?;
    let port = match port {
        None => default_port(scheme, plain),
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port != 0 && digits.bytes().all(|b| b.is_ascii_digit()) => port,
            _ => return Err(format!("port {digits:?} is not a number from 1 to 65535")),
        },
    };
    let (system, privilege) = match scheme.protocol() {
        Protocol::Redfish => (parse_system(tail)?, Privilege::Administrator),
        Protocol::Ipmi => match tail.strip_prefix('/').unwrap_or(tail) {
            "" => (None, Privilege::Administrator),
            query if query.starts_with('?') => (None, parse_privilege(query)?),
            _ => {
                return Err(format!(
                    "{tail:?} after host {authority:?} means nothing to {scheme}: expected host[:port]"
                ));
            }
        },
    };
    Ok(Address { scheme, plain, host: host.to_ascii_lowercase(), port, system, privilege })
}

/// The one thing that Metal3 lets an IPMI address ask for.
fn parse_privilege(query: &str) -> Result<Privilege, String> {
    let expected = "expected ?privilegelevel=ADMINISTRATOR, OPERATOR or USER";
    let level = query.strip_prefix('?').and_then(|query| query.split_once('='));
    let Some((PRIVILEGE_LEVEL, level)) = level else {
        return Err(format!("query {query:?} is unknown: {expected}"));
    };
    match level.to_ascii_uppercase().as_str() {
        "ADMINISTRATOR" => Ok(Privilege::Administrator),
        "OPERATOR" => Ok(Privilege::Operator),
        "USER" => Ok(Privilege::User),
        _ => Err(format!("privilege level {level:?} is unknown: {expected}")),
    }
}

fn default_port(scheme: Scheme, plain: bool) -> u16 {
    match (scheme.protocol(), plain) {
        (Protocol::Ipmi, _) => IPMI_PORT,
        (Protocol::Redfish, false) => 443,
        (Protocol::Redfish, true) => 80,
    }
}

/// The scheme, and whether it asks for HTTP without TLS.
fn parse_scheme(text: &str) -> Result<(Scheme, bool), String> {
    let lower = text.to_ascii_lowercase();
    let (name, transport) = lower.split_once('+').map_or((lower.as_str(), None), |(name, rest)| (name, Some(rest)));
    let scheme = Scheme::parse(name)?;
    match (scheme.protocol(), transport) {
        (_, None) => Ok((scheme, false)),
        (Protocol::Redfish, Some("https")) => Ok((scheme, false)),
        (Protocol::Redfish, Some("http")) => Ok((scheme, true)),
        (Protocol::Redfish, Some(other)) => Err(format!("transport {other:?} is unknown: supported: +http, +https")),
        (Protocol::Ipmi, Some(other)) => Err(format!("transport {other:?} means nothing to {name}")),
    }
}

/// The path of one system, in one form; none when it stops at the root, and the BMC's only system is meant.
fn parse_system(tail: &str) -> Result<Option<String>, String> {
    if tail.contains(['?', '#']) {
        return Err(format!("{tail:?}: a Redfish address has neither query nor fragment"));
    }
    let parts: Vec<&str> = tail.split('/').filter(|part| !part.is_empty()).collect();
    let plain = |part: &&str| part.bytes().all(|b| b.is_ascii_graphic()) && !matches!(*part, "." | "..");
    if !parts.iter().all(plain) {
        return Err(format!("path {tail:?} is not a plain path, such as /redfish/v1/Systems/1"));
    }
    let path = format!("/{}", parts.join("/"));
    Ok(Some(path).filter(|path| path != "/" && path != "/redfish" && path != REDFISH_ROOT))
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
            ("ipmi://192.168.122.1/", "ipmi://192.168.122.1:623"),
            ("ipmi://b?privilegelevel=operator", "ipmi://b:623?privilegelevel=OPERATOR"),
            ("ipmi://b:6230/?privilegelevel=USER", "ipmi://b:6230?privilegelevel=USER"),
            ("ipmi://b?privilegelevel=ADMINISTRATOR", "ipmi://b:623"),
            ("IPMI://bmc-1.Example.org", "ipmi://bmc-1.example.org:623"),
            ("192.168.122.1", "ipmi://192.168.122.1:623"),
            ("192.168.122.1:6233", "ipmi://192.168.122.1:6233"),
            ("bmc-1.example.org:1", "ipmi://bmc-1.example.org:1"),
            ("ipmi://[fd00::1]:6233", "ipmi://[fd00::1]:6233"),
            ("[fd00::1]:6233", "ipmi://[fd00::1]:6233"),
            ("[fd00::1]", "ipmi://[fd00::1]:623"),
            ("fd00::1", "ipmi://[fd00::1]:623"),
            ("ipmi://[fe80::1%eth0]", "ipmi://[fe80::1%eth0]:623"),
            ("libvirt://10.0.0.1:6233", "libvirt://10.0.0.1:6233"),
            ("redfish://10.0.0.1", "redfish://10.0.0.1:443"),
            ("redfish://10.0.0.1/redfish/v1/", "redfish://10.0.0.1:443"),
            ("redfish+https://10.0.0.1", "redfish://10.0.0.1:443"),
            ("redfish+http://10.0.0.1/redfish/v1/Systems/1/", "redfish+http://10.0.0.1:80/redfish/v1/Systems/1"),
            ("redfish://[fd00::1]:8443/redfish/v1/Systems/1", "redfish://[fd00::1]:8443/redfish/v1/Systems/1"),
            (
                "idrac-redfish://b/redfish/v1/Systems/System.Embedded.1",
                "idrac-redfish://b:443/redfish/v1/Systems/System.Embedded.1",
            ),
            ("idrac://b", "idrac-redfish://b:443"),
            ("ilo5://b", "ilo5-redfish://b:443"),
            ("ilo5-virtualmedia+http://b:8000", "ilo5-virtualmedia+http://b:8000"),
            ("idrac-virtualmedia://b", "idrac-virtualmedia://b:443"),
            ("redfish-uefihttp://b", "redfish-uefihttp://b:443"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown, "{text}");
            assert_eq!(shown.parse::<Address>().unwrap(), address, "{text}");
        }
        assert_eq!("redfish+http://[fd00::1]/x".parse::<Address>().unwrap().service_url(), "http://[fd00::1]:80");
    }

    #[test]
    fn refused_forms_name_the_wrong_part() {
        for (text, part) in [
            ("", "empty"),
            ("imap://10.0.0.1", "scheme \"imap\" is unknown"),
            ("ilo4://10.0.0.1", "\"ilo4\" is no longer supported; use ipmi"),
            ("ibmc://10.0.0.1", "use redfish"),
            ("redfish+ftp://10.0.0.1", "transport \"ftp\" is unknown"),
            ("ipmi+http://10.0.0.1", "transport \"http\" means nothing to ipmi"),
            ("redfish://10.0.0.1/redfish/v1?x=1", "neither query nor fragment"),
            ("redfish://10.0.0.1/redfish/../x", "not a plain path"),
            ("ipmi://", "no host"),
            ("ipmi://:623", "no host"),
            ("ipmi://10.0.0.1:", "port \"\""),
            ("ipmi://10.0.0.1:0", "port \"0\""),
            ("ipmi://10.0.0.1:+7", "port \"+7\""),
            ("ipmi://10.0.0.1:66000", "port \"66000\""),
            ("ipmi://10.0.0.1?cipher=3", "query \"?cipher=3\" is unknown"),
            ("ipmi://10.0.0.1?privilegelevel=CALLBACK", "expected ?privilegelevel=ADMINISTRATOR, OPERATOR or USER"),
            ("ipmi://10.0.0.1/redfish", "\"/redfish\" after host"),
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
        fn any_text_parses_or_fails_and_what_parses_is_stable(text in "(redfish(\\+http)?://)?\\PC{0,60}") {
            if let Ok(address) = text.parse::<Address>() {
                proptest::prop_assert_eq!(address.to_string().parse::<Address>().unwrap(), address);
            }
        }
    }
}
