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
        authorise(shared, &who, key).await?;
        Ok(Self { who, key, address: peer.address })
    }
}

/// Do the enrolments and objects of this moment stand behind this name and this key?
pub(super) async fn authorise(shared: &Shared, who: &AgentIdentity, key: KeyDigest) -> Result<(), Refuse> {
    if let RoleIdentity::Ramdisk { boot } = who.role
        && !shared.enrolments.is_current(boot, key)
    {
        return Err(Refuse::forbidden("another key has enrolled for this boot since"));
    }
    let refuse = |refused| Refuse::by_authority(&who.host, refused);
    shared.hosts.authorise(who).await.map_err(refuse)?;
    match &who.role {
        RoleIdentity::Ramdisk { .. } => Ok(()),
        RoleIdentity::Node { claim } => shared.hosts.holds_key(who.host, claim, &key.to_hex()).await.map_err(refuse),
    }
}

/// An authorised agent.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) who: AgentIdentity,
    pub(super) key: KeyDigest,
    pub(super) address: SocketAddr,
}
