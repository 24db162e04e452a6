//! `POST /v1/enrol`: from a booted machine with a token to an agent with a certificate.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use bessemer_protocol::{EnrolRequest, EnrolResponse, negotiate};
use bessemer_reconcilers::outside::AgentHub as _;
use time::OffsetDateTime;

use super::Shared;
use super::enrolments::Standing;
use super::inbound::clean_text;
use super::peer::Peer;
use super::refusal::Refuse;
use crate::identity::{AgentIdentity, RoleIdentity};
use crate::site::KeyRequest;

/// Why a boot that two keys came for is over.
pub(super) const QUARANTINED: &str =
    "two keys came for this boot, so neither is believed; boot again, and find out what else has this boot's token";

pub(super) async fn enrol(
    State(shared): State<Shared>,
    Extension(peer): Extension<Arc<Peer>>,
    body: Result<Json<EnrolRequest>, JsonRejection>,
) -> Result<Json<EnrolResponse>, Refuse> {
    let Json(request) = body.map_err(|error| Refuse::bad_request(error.body_text()))?;
    let boot = request.boot_id;
    if !shared.site.is_token(boot, &request.token) {
        tracing::warn!(peer = %peer.address, %boot, "an enrolment with a wrong token is refused");
        return Err(Refuse::unauthorised(format!("the token is not boot {boot}'s; boot again to get a new one")));
    }
    let protocol = negotiate("agent", request.protocol).map_err(Refuse::version)?;
    let csr = KeyRequest::parse(&request.csr).map_err(Refuse::bad_request)?;
    let standing = shared.enrolments.standing(boot, csr.key());
    if standing == Standing::Quarantined {
        return Err(Refuse::conflict(QUARANTINED));
    }
    if let Standing::Spent { host, same_key } = standing {
        if !same_key && shared.hub.streaming(host, boot).is_some() {
            tracing::error!(peer = %peer.address, %boot, %host, key = %csr.key(),
                "a second key asks for a boot whose agent is connected: something else has this boot's token");
            shared.enrolments.quarantine(boot, host);
            shared.hub.disconnect(&host, "two keys came for one boot").await;
            shared.hosts.contested(host, boot).await;
            return Err(Refuse::conflict(QUARANTINED));
        }
        return Err(Refuse::gone(format!("the token of boot {boot} is spent; boot again to get a new one")));
    }

    // Asked again each time: the boot may have ended since the first answer.
    let version = clean_text(&request.agent_version);
    let host = shared
        .hosts
        .admit(boot, &request.identity, &version)
        .await
        .map_err(|refused| Refuse::by_authority(&format_args!("boot {boot} at {}", peer.address), refused))?;
    if let Standing::Same(answer) = standing {
        tracing::info!(peer = %peer.address, %boot, %host, "an enrolment is repeated");
        return Ok(Json(answer));
    }
    let who = AgentIdentity { host, role: RoleIdentity::Ramdisk { boot } };
    let issued = shared.site.issue(&csr, &who, OffsetDateTime::now_utc()).map_err(Refuse::internal)?;
    let answer = EnrolResponse { certificate: issued.certificate, host_id: host, protocol };
    shared.enrolments.admit(boot, issued.key, answer.clone());
    tracing::info!(peer = %peer.address, %boot, %host, key = %issued.key, version, "a ramdisk has enrolled");
    Ok(Json(answer))
}
