//! Asking whether a server is ready, without a Kubernetes client.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// There is no event to wait for in another program.
const EVERY: Duration = Duration::from_millis(25);
const ANSWER: Duration = Duration::from_secs(5);

pub(crate) struct Probe {
    config: Arc<ClientConfig>,
    port: u16,
    token: String,
}

impl Probe {
    pub(crate) fn new(port: u16, ca: &str, token: &str) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config), port, token: token.to_owned() })
    }

    /// Waits until `path` answers 200. Errors at `deadline` or when `alive` does.
    pub(crate) fn wait(&self, path: &str, deadline: Instant, alive: impl Fn() -> Result<()>) -> Result<()> {
        loop {
            let answer = self.get(path);
            match &answer {
                Ok(status) if status.split(' ').nth(1) == Some("200") => return Ok(()),
                _ => alive()?,
            }
            if Instant::now() >= deadline {
                let last = answer.unwrap_or_else(|error| error.to_string());
                bail!("{path} does not answer 200 in time, but {last:?}");
            }
            std::thread::sleep(EVERY);
        }
    }

    /// The status line.
    fn get(&self, path: &str) -> Result<String> {
        let socket = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        socket.set_read_timeout(Some(ANSWER))?;
        let session = ClientConnection::new(Arc::clone(&self.config), ServerName::try_from("localhost")?)?;
        let mut stream = StreamOwned::new(session, socket);
        let token = &self.token;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = [0; 64];
        let read = stream.read(&mut answer)?;
        let text = String::from_utf8_lossy(answer.get(..read).unwrap_or_default()).into_owned();
        Ok(text.lines().next().unwrap_or_default().to_owned())
    }
}
