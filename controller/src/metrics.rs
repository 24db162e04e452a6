//! The metrics endpoint: Prometheus text under `/metrics`, and `/healthz`. Plain HTTP, for scrapers on the same machine or a
//! network of their own; what is shown names kinds and counts, never objects.

use std::net::SocketAddr;

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use bessemer_apiserver::ApiServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const TEXT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves metrics until `stop`: those of the controllers, and of the embedded API when there is one.
pub(crate) async fn serve(address: SocketAddr, api: Option<ApiServer>, stop: CancellationToken) -> anyhow::Result<()> {
    let bound = TcpListener::bind(address).await;
    let listener =
        bound.with_context(|| format!("cannot listen on {address} for metrics; choose another with --metrics"))?;
    let router = Router::new().route("/metrics", get(show)).route("/healthz", get(|| async { "ok" })).with_state(api);
    tokio::spawn(async move {
        let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
        if let Err(error) = served {
            tracing::error!(%error, "the metrics endpoint ended");
        }
    });
    Ok(())
}

async fn show(State(api): State<Option<ApiServer>>) -> impl IntoResponse {
    let mut text = api.map(|api| api.metrics()).unwrap_or_default();
    let end = "# EOF\n";
    text.truncate(text.strip_suffix(end).unwrap_or(&text).len());
    text.push_str(&bessemer_reconcilers::metrics());
    ([(header::CONTENT_TYPE, TEXT)], text)
}
