//! The embedded server over its HTTPS listener, in this process.

use anyhow::Context as _;
use bessemer_apiserver::{ApiServer, Serving};
use tempfile::TempDir;
use tokio::sync::oneshot;

use crate::kubeconfig::Access;

/// A running embedded server, stopped when dropped.
pub struct Embedded {
    /// How to reach it.
    pub access: Access,
    _serving: Serving,
    _stop: oneshot::Sender<()>,
    // goes last
    _dir: TempDir,
}

impl Embedded {
    /// Starts an empty one on a free port.
    ///
    /// # Errors
    /// When it cannot start.
    pub async fn start() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir().context("no temporary directory")?;
        let api = ApiServer::open(&dir.path().join("state")).await?;
        let (stop, stopped) = oneshot::channel::<()>();
        let until = async move {
            // An error means that the sender is gone, which also ends the server.
            let _ = stopped.await;
        };
        let serving = api.serve_https(([127, 0, 0, 1], 0).into(), &[], until).await?;
        let access = Access::load(&serving.kubeconfig_path)?;
        Ok(Self { access, _serving: serving, _stop: stop, _dir: dir })
    }
}
