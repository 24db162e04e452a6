//! `POST /v1/renew`: an installed host's next certificate. The last one may have expired, as of a host that was off for a
//! season, so it comes in the body and not through TLS; the request's own signature proves the key.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::{Extension, Json};
use bessemer_protocol::{RenewRequest, RenewResponse};
use time::OffsetDateTime;

use super::Shared;
use super::peer::{self, Peer};
use super::refusal::Refuse;
use crate::identity::RoleIdentity;
use crate::site::KeyRequest;

pub(super) async fn renew(
    State(shared): State<Shared>,
    Extension(peer): Extension<Arc<Peer>>,
    body: Result<Json<RenewRequest>, JsonRejection>,
) -> Result<Json<RenewResponse>, Refuse> {
    let Json(request) = body.map_err(|error| Refuse::bad_request(error.body_text()))?;
    let csr = KeyRequest::parse(&request.csr).map_err(Refuse::bad_request)?;
    let now = OffsetDateTime::now_utc();
    let (who, key) = shared.site.once_certified(&request.certificate, now).map_err(Refuse::unauthorised)?;
    if key != csr.key() {
        return Err(Refuse::unauthorised(
            "the request is not of the certificate's key: a certificate is renewed for its own key only",
        ));
    }
    if !matches!(who.role, RoleIdentity::Node { .. }) {
        return Err(Refuse::forbidden("a ramdisk's certificate is not renewed; boot again"));
    }
    peer::authorise(&shared, &who, key).await?;
    let issued = shared.site.issue(&csr, &who, now).map_err(Refuse::internal)?;
    tracing::info!(peer = %peer.address, host = %who.host, key = %issued.key, "a node certificate is renewed");
    Ok(Json(RenewResponse { certificate: issued.certificate, ca: shared.site.trusted_pem() }))
}
