//! `GET /v1/bootstrap`: the secret that makes a host a node, for the claim in its certificate and no other.

use axum::Json;
use axum::extract::State;
use bessemer_protocol::Bootstrap;

use super::Shared;
use super::peer::Agent;
use super::refusal::Refuse;
use crate::identity::RoleIdentity;

pub(super) async fn deliver(agent: Agent, State(shared): State<Shared>) -> Result<Json<Bootstrap>, Refuse> {
    let host = agent.who.host;
    let RoleIdentity::Node { claim } = &agent.who.role else {
        return Err(Refuse::forbidden("bootstrap data goes to an installed system only"));
    };
    let bootstrap =
        shared.hosts.bootstrap(host, claim).await.map_err(|refused| Refuse::by_authority(&host, refused))?;
    if bootstrap.claim != *claim {
        tracing::error!(%host, claim, found = bootstrap.claim, "bootstrap data of another claim is withheld");
        return Err(Refuse::forbidden("the bootstrap data is another claim's"));
    }
    tracing::info!(peer = %agent.address, %host, claim, key = %agent.key, format = bootstrap.format,
        bytes = bootstrap.data.len(), "bootstrap data is delivered");
    Ok(Json(bootstrap))
}
