//! The HTTPS side: certificates of our own, who may come in, and the accept loop.

mod auth;
mod identity;
mod kubeconfig;
mod listen;
mod patient;
mod tls;

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::ApiServer;

/// Why the HTTPS listener cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}; free the port, or choose another address")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A file of the state directory cannot be read or written.
    #[error("cannot access {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate authority in the state directory cannot be used.
    #[error("cannot use the certificate authority in {}: {source}; move it away to make a new one", path.display())]
    Authority {
        /// The directory that holds it.
        path: PathBuf,
        /// What is wrong with it.
        source: rcgen::Error,
    },
    /// A certificate cannot be issued, for instance because a name is not one.
    #[error("cannot issue a certificate for {names:?}: {source}")]
    Certificate {
        /// The names it should have.
        names: Vec<String>,
        /// What is wrong.
        source: rcgen::Error,
    },
    /// The TLS configuration is refused.
    #[error("cannot set up TLS: {0}")]
    Tls(String),
}

/// A running HTTPS listener.
#[derive(Debug)]
pub struct Serving {
    /// Where it listens; the port is the chosen one when zero was asked for.
    pub local_addr: SocketAddr,
    /// The administrator's kubeconfig, readable by its owner only.
    pub kubeconfig_path: PathBuf,
    task: JoinHandle<()>,
}

impl Serving {
    /// Returns once the shutdown was asked for and the connections are closed.
    pub async fn finished(self) {
        // The task only ends early by a panic, after which nothing is left to wait for.
        let _ = self.task.await;
    }
}

impl ApiServer {
    /// Serves the API over HTTPS until `shutdown`, and writes the administrator's kubeconfig.
    ///
    /// The certificate authority and the administrator's token are kept in the data directory; the server's and the
    /// administrator's certificates are issued anew at each start. `names` are the host names and IP addresses that
    /// clients use besides localhost; the first one goes into the kubeconfig.
    ///
    /// # Errors
    /// When the address is taken, a file cannot be accessed, or a name is none.
    pub async fn serve_https(
        &self,
        listen: SocketAddr,
        names: &[String],
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Serving, ServeError> {
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|source| ServeError::Listen { address: listen, source })?;
        let local_addr = listener.local_addr().map_err(|source| ServeError::Listen { address: listen, source })?;

        let names = server_names(local_addr.ip(), names);
        let authority = identity::Authority::load_or_create(&self.dir.join("pki"))?;
        let shown = Arc::new(tls::Shown::new(&authority.issue_server(&names)?)?);
        let token = identity::load_or_create_token(&self.dir.join("admin.token"))?;
        let config = tls::server_config(&authority, Arc::clone(&shown))?;

        let kubeconfig_path = self.dir.join("admin.kubeconfig");
        let issued = Issued { authority, names, port: local_addr.port(), kubeconfig: kubeconfig_path.clone(), shown };
        issued.write_kubeconfig()?;

        self.core.publish_root_ca(issued.authority.pem());
        let renewal = tokio::spawn(issued.renew());
        let router = self.router();
        let task = tokio::spawn(async move {
            listen::run(listener, config, router, auth::Token::new(token), shutdown).await;
            renewal.abort();
        });
        tracing::info!(%local_addr, kubeconfig = %kubeconfig_path.display(), "the Kubernetes API is served");
        Ok(Serving { local_addr, kubeconfig_path, task })
    }
}

/// What was issued for a listener, and is issued anew before it ends.
struct Issued {
    authority: identity::Authority,
    names: Vec<String>,
    port: u16,
    kubeconfig: PathBuf,
    shown: Arc<tls::Shown>,
}

impl Issued {
    fn write_kubeconfig(&self) -> Result<(), ServeError> {
        let admin = self.authority.issue_admin()?;
        let host = self.names.first().map_or("localhost", String::as_str);
        let text = kubeconfig::admin(host, self.port, self.authority.pem(), &admin);
        identity::write_private(&self.kubeconfig, &text)
    }

    fn reissue(&self) -> Result<(), ServeError> {
        self.shown.replace(&self.authority.issue_server(&self.names)?)?;
        self.write_kubeconfig()
    }

    /// Issues certificates anew when two thirds of their life are over, for as long as it runs.
    async fn renew(self) {
        loop {
            tokio::time::sleep(identity::RENEW_AFTER).await;
            match self.reissue() {
                Ok(()) => tracing::info!("certificates are issued anew"),
                Err(error) => tracing::error!(%error, "certificates cannot be issued anew; restart before they end"),
            }
        }
    }
}

/// The names in the server's certificate, the one for the kubeconfig first.
fn server_names(listen: IpAddr, extra: &[String]) -> Vec<String> {
    let mut names = extra.to_vec();
    if !listen.is_unspecified() {
        names.push(listen.to_string());
    }
    names.extend(["127.0.0.1", "localhost", "::1"].map(str::to_owned));
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> ServeError {
    let path = path.to_owned();
    move |source| ServeError::File { path, source }
}
