//! The metrics endpoint: Prometheus text under `/metrics`, and `/healthz`. Plain HTTP, for scrapers on the same machine or a
//! network of their own; what is shown names kinds and counts, never objects.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use bessemer_apiserver::ApiServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::boot;

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What there is to count besides the controllers.
#[derive(Clone, Default)]
pub(crate) struct Sources {
    /// The embedded API.
    pub(crate) api: Option<ApiServer>,
    /// The boot server.
    pub(crate) boot: Option<Arc<bessemer_pxe::Metrics>>,
}

/// Serves metrics until `stop`: those of the controllers and of `sources`.
pub(crate) async fn serve(address: SocketAddr, sources: Sources, stop: CancellationToken) -> anyhow::Result<()> {
    let bound = TcpListener::bind(address).await;
    let listener =
        bound.with_context(|| format!("cannot listen on {address} for metrics; choose another with --metrics"))?;
    let router =
        Router::new().route("/metrics", get(show)).route("/healthz", get(|| async { "ok" })).with_state(sources);
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
    Ok(())
}

async fn show(State(sources): State<Sources>) -> impl IntoResponse {
    let mut text = sources.api.map(|api| api.metrics()).unwrap_or_default();
    let end = "# EOF\n";
    text.truncate(text.strip_suffix(end).unwrap_or(&text).len());
    text.push_str(&sources.boot.map(|boot| boot::metrics::text(&boot)).unwrap_or_default());
    text.push_str(&bessemer_reconcilers::metrics());
    ([(header::CONTENT_TYPE, TEXT)], text)
}
