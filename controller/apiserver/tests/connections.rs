//! Connections on which nothing happens are given up, so that nobody can hold them all without a credential.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use bessemer_apiserver::ApiServer;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

async fn closed_within(mut stream: impl tokio::io::AsyncRead + Unpin, limit: Duration, told: &str) -> Duration {
    let begun = Instant::now();
    let mut all = Vec::new();
    let ended = tokio::time::timeout(limit, stream.read_to_end(&mut all)).await;
    // An error is an end, too: not every client is told goodbye.
    assert!(ended.is_ok(), "{told}: still open after {limit:?}");
    begun.elapsed()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_connections_are_closed() {
    let dir = TempDir::new().unwrap();
    let api = ApiServer::open(dir.path()).await.unwrap();
    let serving = api.serve_https(([127, 0, 0, 1], 0).into(), &[], std::future::pending()).await.unwrap();
    let address = serving.local_addr;
    let authority = std::fs::read(dir.path().join("pki/ca.crt")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&authority).unwrap()).unwrap();
    let tls = |protocol: &'static [u8]| {
        let roots = roots.clone();
        async move {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
            let mut config = config.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![protocol.to_vec()];
            let stream = TcpStream::connect(address).await.unwrap();
            let name = ServerName::from(address.ip());
            TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
        }
    };
    let limit = Duration::from_secs(40);
    let before_tls = TcpStream::connect(address).await.unwrap();
    let (http1, http2) = (tls(b"http/1.1").await, tls(b"h2").await);
    // A head that never ends, and a stranger who keeps asking for what anyone may read.
    let mut half = tls(b"http/1.1").await;
    half.write_all(b"GET /api HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    let mut stranger = tls(b"http/1.1").await;
    let asking = async {
        let mut answer = vec![0; 4096];
        let mut answers = 0;
        loop {
            if stranger.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.is_err() {
                return answers;
            }
            match stranger.read(&mut answer).await {
                Ok(0) | Err(_) => return answers,
                Ok(_) => answers += 1,
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let (.., answers) = tokio::join!(
        closed_within(before_tls, limit, "before TLS"),
        closed_within(http1, limit, "silent over HTTP/1.1"),
        closed_within(http2, limit, "silent over HTTP/2"),
        closed_within(half, limit, "half a head"),
        async { tokio::time::timeout(limit, asking).await.expect("a stranger may stay") },
    );
    assert!(answers > 3, "a stranger was not answered: {answers}");
}
