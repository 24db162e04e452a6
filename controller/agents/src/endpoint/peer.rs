//! Who is at the other end of a connection, by its TLS certificate.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use rustls_pki_types::CertificateDer;

use super::Shared;
use super::refusal::Refuse;
use crate::identity::{self, AgentIdentity, InvalidIdentity, KeyDigest, RoleIdentity};

/// One connection's far end.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    certificate: Option<Result<(AgentIdentity, KeyDigest), InvalidIdentity>>,
}

impl Peer {
    /// `chain` was verified by TLS; only its first certificate counts.
    pub(super) fn of(address: SocketAddr, chain: Option<&[CertificateDer<'_>]>) -> Self {
        let certificate = chain.and_then(<[_]>::first).map(|leaf| identity::of_certificate(leaf));
        Self { address, certificate }
    }
}

impl FromRequestParts<Shared> for Agent {
    type Rejection = Refuse;

    /// Only a certificate that the objects of this moment still stand behind gets through.
    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Refuse> {
        let peer = parts.extensions.get::<Arc<Peer>>().ok_or_else(|| Refuse::internal("the connection is unknown"))?;
        let (who, key) = match &peer.certificate {
            None => return Err(Refuse::unauthorised("this needs a client certificate; enrol first")),
            Some(Err(error)) => return Err(Refuse::unauthorised(error)),
            Some(Ok(certificate)) => certificate.clone(),
        };
        let (current, newer) = match who.role {
            RoleIdentity::Ramdisk { boot } => (shared.enrolments.is_current(boot, key), "enrolled for this boot"),
            RoleIdentity::Node { .. } => {
                (shared.enrolments.is_current_node(who.host, key), "been certified for this host's system")
            }
        };
        if !current {
            return Err(Refuse::forbidden(format_args!("another key has {newer} since")));
        }
        shared.hosts.authorise(&who).await.map_err(|refused| Refuse::by_authority(&who.host, refused))?;
        Ok(Self { who, key, address: peer.address })
    }
}

/// An authorised agent.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) who: AgentIdentity,
    pub(super) key: KeyDigest,
    pub(super) address: SocketAddr,
}
