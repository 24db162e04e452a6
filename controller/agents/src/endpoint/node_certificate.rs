//! `POST /v1/node-certificate`: the identity of the system that is just being installed.

use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use bessemer_protocol::{NodeCertificateRequest, NodeCertificateResponse};
use time::OffsetDateTime;

use super::Shared;
use super::peer::Agent;
use super::refusal::Refuse;
use crate::identity::{AgentIdentity, RoleIdentity};
use crate::site::KeyRequest;

pub(super) async fn issue(
    agent: Agent,
    State(shared): State<Shared>,
    body: Result<Json<NodeCertificateRequest>, JsonRejection>,
) -> Result<Json<NodeCertificateResponse>, Refuse> {
    let host = agent.who.host;
    if !matches!(agent.who.role, RoleIdentity::Ramdisk { .. }) {
        return Err(Refuse::forbidden("only a ramdisk with an open deploy item may ask for a node certificate"));
    }
    let Json(request) = body.map_err(|error| Refuse::bad_request(error.body_text()))?;
    let csr = KeyRequest::parse(&request.csr).map_err(Refuse::bad_request)?;
    let claim =
        shared.hosts.deploying(host, request.work_id).await.map_err(|refused| Refuse::by_authority(&host, refused))?;
    let who = AgentIdentity { host, role: RoleIdentity::Node { claim: claim.clone() } };
    let issued = shared.site.issue(&csr, &who, OffsetDateTime::now_utc()).map_err(Refuse::internal)?;
    shared
        .hosts
        .certified(host, &claim, &issued.key.to_hex())
        .await
        .map_err(|refused| Refuse::by_authority(&host, refused))?;
    tracing::info!(peer = %agent.address, %host, claim, key = %issued.key, "a node certificate is issued");
    Ok(Json(NodeCertificateResponse { certificate: issued.certificate }))
}
