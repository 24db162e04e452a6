//! The name inside an agent's certificate, and the short name of its key.
//!
//! `bessemer:host/<host id>/ramdisk/<boot id>` or `bessemer:host/<host id>/node/<namespace>/<metal3machine>`, as the
//! only subject alternative name. Object UIDs never appear: a move gives every object a new one.

use std::fmt;

use bessemer_protocol::{BootId, HostId};
pub(crate) use bessemer_reconcilers::outside::{AgentIdentity, RoleIdentity};
use x509_parser::extensions::GeneralName;

const SCHEME: &str = "bessemer:host/";

/// A name that no agent has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidIdentity {
    /// The claim is not two Kubernetes names.
    #[error("{0:?} is no claim: expected <namespace>/<metal3machine>")]
    Claim(String),
    /// Not of the forms above.
    #[error("{0:?} names no agent")]
    Uri(String),
    /// The certificate cannot be read or does not hold exactly one such name.
    #[error("the certificate names no agent: {0}")]
    Certificate(String),
}

/// The certificate's name for `who`.
pub(crate) fn to_uri(who: &AgentIdentity) -> Result<String, InvalidIdentity> {
    let host = who.host;
    match &who.role {
        RoleIdentity::Ramdisk { boot } => Ok(format!("{SCHEME}{host}/ramdisk/{boot}")),
        RoleIdentity::Node { claim } if is_claim(claim) => Ok(format!("{SCHEME}{host}/node/{claim}")),
        RoleIdentity::Node { claim } => Err(InvalidIdentity::Claim(claim.chars().take(256).collect())),
    }
}

/// Who a certificate's name is for.
pub(crate) fn from_uri(uri: &str) -> Result<AgentIdentity, InvalidIdentity> {
    let invalid = || InvalidIdentity::Uri(uri.chars().take(256).collect());
    let rest = uri.strip_prefix(SCHEME).ok_or_else(invalid)?;
    let (host, rest) = rest.split_once('/').ok_or_else(invalid)?;
    let host: HostId = host.parse().map_err(|_| invalid())?;
    let role = match rest.split_once('/').ok_or_else(invalid)? {
        ("ramdisk", boot) => RoleIdentity::Ramdisk { boot: boot.parse::<BootId>().map_err(|_| invalid())? },
        ("node", claim) if is_claim(claim) => RoleIdentity::Node { claim: claim.to_owned() },
        _ => return Err(invalid()),
    };
    Ok(AgentIdentity { host, role })
}

/// Who a verified certificate is for, and the digest of its key.
pub(crate) fn of_certificate(der: &[u8]) -> Result<(AgentIdentity, KeyDigest), InvalidIdentity> {
    let certificate = |why: &str| InvalidIdentity::Certificate(why.to_owned());
    let (_, parsed) =
        x509_parser::parse_x509_certificate(der).map_err(|error| InvalidIdentity::Certificate(error.to_string()))?;
    let names = parsed
        .subject_alternative_name()
        .map_err(|error| InvalidIdentity::Certificate(error.to_string()))?
        .ok_or_else(|| certificate("no subject alternative name"))?;
    let [GeneralName::URI(uri)] = names.value.general_names.as_slice() else {
        return Err(certificate("not exactly one URI as subject alternative name"));
    };
    Ok((from_uri(uri)?, KeyDigest::of(parsed.public_key().raw)))
}

/// Two Kubernetes names with a slash between them.
fn is_claim(claim: &str) -> bool {
    let name = |name: &str| {
        (1..=253).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte))
    };
    claim.split_once('/').is_some_and(|(namespace, machine)| name(namespace) && name(machine))
}

/// SHA-256 of a public key (its SubjectPublicKeyInfo): tells two agents of one identity apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    /// Of a DER SubjectPublicKeyInfo.
    pub(crate) fn of(spki: &[u8]) -> Self {
        let mut digest = [0; 32];
        // SHA-256 has 32 bytes; zip cannot fall short.
        for (to, from) in digest.iter_mut().zip(ring::digest::digest(&ring::digest::SHA256, spki).as_ref()) {
            *to = *from;
        }
        Self(digest)
    }

    /// All of it, lower case, as it is kept in objects.
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for KeyDigest {
    /// The first 8 bytes: enough to tell keys apart in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().take(8).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identity_survives_its_text_form() {
        let host = HostId::random();
        for role in [
            RoleIdentity::Ramdisk { boot: BootId::random() },
            RoleIdentity::Node { claim: "metal/prod-cp-x7k2p".into() },
        ] {
            let who = AgentIdentity { host, role };
            assert_eq!(from_uri(&to_uri(&who).unwrap()), Ok(who));
        }
    }

    #[test]
    fn what_is_no_identity_is_refused() {
        let host = HostId::random();
        for uri in [
            String::new(),
            "bessemer:host/".into(),
            format!("bessemer:host/{host}"),
            format!("bessemer:host/{host}/ramdisk/x"),
            format!("bessemer:host/{host}/root/a/b"),
            format!("bessemer:host/{host}/node/a"),
            format!("bessemer:host/{host}/node/a/b/c"),
            format!("bessemer:host/{host}/node/a/B"),
            format!("spiffe:host/{host}/node/a/b"),
        ] {
            assert!(from_uri(&uri).is_err(), "{uri}");
        }
        let claim = RoleIdentity::Node { claim: "a/../b".into() };
        assert!(matches!(to_uri(&AgentIdentity { host, role: claim }), Err(InvalidIdentity::Claim(_))));
    }
}
