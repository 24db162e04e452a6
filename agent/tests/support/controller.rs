//! The controller's end of the protocol in a few lines: it believes everybody and does what the test says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use bessemer_protocol::{
    Bootstrap, CONTROLLER_NAME, Down, EnrolRequest, EnrolResponse, HEARTBEAT_SECONDS, HostId, NodeCertificateRequest,
    NodeCertificateResponse, Refusal, Up, decode_line, encode_line,
};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls::RootCertStore;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;

/// What the agent did, in the order in which it did it.
#[derive(Debug)]
pub enum Event {
    Enrolled(EnrolRequest),
    Up(Up),
    StreamEnded,
}

type DownLine = Result<Bytes, std::convert::Infallible>;

struct Shared {
    issuer: Issuer<'static, KeyPair>,
    host: HostId,
    events: mpsc::UnboundedSender<Event>,
    down: Mutex<Option<mpsc::UnboundedSender<DownLine>>>,
    bootstrap: Mutex<Option<Bootstrap>>,
}

pub struct Controller {
    pub port: u16,
    pub ca: String,
    pub host: HostId,
    events: mpsc::UnboundedReceiver<Event>,
    shared: Arc<Shared>,
}

impl Controller {
    pub async fn start() -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_key = KeyPair::generate().unwrap();
        let ca = params.self_signed(&ca_key).unwrap();
        let issuer = Issuer::new(params, ca_key);
        let server_key = KeyPair::generate().unwrap();
        let server =
            CertificateParams::new(vec![CONTROLLER_NAME.to_owned()]).unwrap().signed_by(&server_key, &issuer).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(ca.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let mut tls = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![server.der().clone()], PrivateKeyDer::try_from(server_key.serialize_der()).unwrap())
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let (events, receiver) = mpsc::unbounded_channel();
        let host = HostId::random();
        let shared = Arc::new(Shared { issuer, host, events, down: Mutex::default(), bootstrap: Mutex::default() });
        let router = Router::new()
            .route("/v1/enrol", post(enrol))
            .route("/v1/stream", post(stream))
            .route("/v1/node-certificate", post(node_certificate))
            .route("/v1/bootstrap", get(bootstrap))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
        tokio::spawn(async move {
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let (acceptor, service) = (acceptor.clone(), TowerToHyperService::new(router.clone()));
                tokio::spawn(async move {
                    let Ok(tls) = acceptor.accept(tcp).await else { return };
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(tls), service)
                        .await;
                });
            }
        });
        Self { port, ca: ca.pem(), host, events: receiver, shared }
    }

    /// Certificate and key as a node's seed has them.
    pub fn node_certificate(&self) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let csr = CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
        (sign(&self.shared, &csr), key.serialize_pem())
    }

    pub fn set_bootstrap(&self, bootstrap: Bootstrap) {
        *self.shared.bootstrap.lock().unwrap() = Some(bootstrap);
    }

    pub fn send(&self, message: &Down) {
        let line = encode_line(message).unwrap();
        self.shared.down.lock().unwrap().as_ref().expect("no stream").send(Ok(line.into())).unwrap();
    }

    /// Ends the stream as a restarted controller would.
    pub fn hang_up(&self) {
        self.shared.down.lock().unwrap().take();
    }

    /// The first event that `pick` wants; others pass by. Panics after `seconds`.
    pub async fn wait<T>(&mut self, what: &str, seconds: u64, mut pick: impl FnMut(Event) -> Option<T>) -> T {
        let search = async {
            loop {
                let event = self.events.recv().await.expect("the controller is gone");
                if let Some(found) = pick(event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(seconds), search)
            .await
            .unwrap_or_else(|_| panic!("no {what} within {seconds} s"))
    }
}

fn sign(shared: &Shared, csr: &str) -> String {
    let mut request = CertificateSigningRequestParams::from_pem(csr).unwrap();
    request.params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    request.signed_by(&shared.issuer).unwrap().pem()
}

async fn enrol(State(shared): State<Arc<Shared>>, Json(request): Json<EnrolRequest>) -> Json<EnrolResponse> {
    let answer =
        EnrolResponse { certificate: sign(&shared, &request.csr), host_id: shared.host, protocol: request.protocol };
    let _ = shared.events.send(Event::Enrolled(request));
    Json(answer)
}

async fn node_certificate(
    State(shared): State<Arc<Shared>>,
    Json(request): Json<NodeCertificateRequest>,
) -> Json<NodeCertificateResponse> {
    Json(NodeCertificateResponse { certificate: sign(&shared, &request.csr) })
}

async fn bootstrap(State(shared): State<Arc<Shared>>) -> Response {
    match shared.bootstrap.lock().unwrap().clone() {
        Some(bootstrap) => Json(bootstrap).into_response(),
        None => {
            let refusal = Refusal::new("bootstrap data is not ready", true);
            (StatusCode::CONFLICT, Json(refusal)).into_response()
        }
    }
}

async fn stream(State(shared): State<Arc<Shared>>, body: Body) -> Response {
    let (down, lines) = mpsc::unbounded_channel::<DownLine>();
    let alive = down.downgrade();
    *shared.down.lock().unwrap() = Some(down);
    tokio::spawn(async move {
        let mut tick = tokio::time::interval(Duration::from_secs(HEARTBEAT_SECONDS));
        loop {
            tick.tick().await;
            let Some(down) = alive.upgrade() else { return };
            let _ = down.send(Ok(encode_line(&Down::Heartbeat).unwrap().into()));
        }
    });
    tokio::spawn(async move {
        let mut body = body;
        let mut rest = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            rest.extend_from_slice(frame.data_ref().unwrap());
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                let _ = shared.events.send(Event::Up(decode_line(&line).unwrap()));
            }
        }
        let _ = shared.events.send(Event::StreamEnded);
    });
    Response::new(Body::from_stream(UnboundedReceiverStream::new(lines)))
}
