//! One endpoint, the objects behind it, and agents to talk to it.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bessemer_agents::{Endpoint, Hub, SiteAuthority, SiteSecret};
use bessemer_protocol::{
    BootConfig, BootId, Bootstrap, CONTROLLER_NAME, DiscoverRequest, DiscoverResponse, Down, EnrolRequest,
    EnrolResponse, HardwareIdentity, HostId, PROTOCOL_VERSION, Role, Up, WorkId, decode_line, encode_line,
};
use bessemer_reconcilers::outside::{AgentHub, AgentIdentity, AgentView, HostAuthority, Refused, RoleIdentity};
use bytes::Bytes;
use futures::StreamExt;
use rcgen::{CertificateParams, KeyPair};
use reqwest::{Certificate, Client, Identity, Response};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

pub const CLAIM: &str = "metal/prod-cp-x7k2p";

/// The objects, as far as the endpoint asks about them.
#[derive(Default)]
pub struct Objects {
    pub boots: Mutex<HashMap<BootId, HostId>>,
    pub over: Mutex<HashSet<BootId>>,
    pub deploying: Mutex<Option<WorkId>>,
    pub bootstrap: Mutex<Option<Bootstrap>>,
    pub admitted: Mutex<Vec<(BootId, String)>>,
    pub node_key: Mutex<Option<String>>,
    pub released: Mutex<bool>,
    pub contested: Mutex<Vec<BootId>>,
    pub discovered: Mutex<Option<Vec<DiscoverRequest>>>,
}

#[async_trait::async_trait]
impl HostAuthority for Objects {
    async fn admit(&self, boot: BootId, identity: &HardwareIdentity, _version: &str) -> Result<HostId, Refused> {
        if self.over.lock().unwrap().contains(&boot) {
            return Err(Refused::for_good("that boot is over"));
        }
        let mac = identity.macs.first().cloned().unwrap_or_default();
        self.admitted.lock().unwrap().push((boot, mac));
        self.boots.lock().unwrap().get(&boot).copied().ok_or_else(|| Refused::for_good("no host has this boot"))
    }

    async fn authorise(&self, who: &AgentIdentity) -> Result<(), Refused> {
        match &who.role {
            RoleIdentity::Ramdisk { boot } if self.over.lock().unwrap().contains(boot) => {
                Err(Refused::for_good("that boot is over"))
            }
            RoleIdentity::Node { .. } if *self.released.lock().unwrap() => Err(Refused::for_good("released")),
            RoleIdentity::Node { claim } if claim != CLAIM => Err(Refused::for_good("claimed by another")),
            _ => Ok(()),
        }
    }

    async fn deploying(&self, _host: HostId, work: WorkId) -> Result<String, Refused> {
        if *self.deploying.lock().unwrap() == Some(work) {
            Ok(CLAIM.to_owned())
        } else {
            Err(Refused::for_good("that deploy is not open"))
        }
    }

    async fn certified(&self, _host: HostId, _claim: &str, key: &str) -> Result<(), Refused> {
        *self.node_key.lock().unwrap() = Some(key.to_owned());
        Ok(())
    }

    async fn holds_key(&self, _host: HostId, _claim: &str, key: &str) -> Result<(), Refused> {
        match self.node_key.lock().unwrap().as_deref() {
            Some(known) if known != key => Err(Refused::for_good("another key has been certified since")),
            _ => Ok(()),
        }
    }

    async fn contested(&self, _host: HostId, boot: BootId) {
        self.contested.lock().unwrap().push(boot);
    }

    async fn discovered(&self, _from: IpAddr, report: &DiscoverRequest) -> Result<DiscoverResponse, Refused> {
        match self.discovered.lock().unwrap().as_mut() {
            None => Err(Refused::for_good("discovery is off")),
            Some(reports) => {
                reports.push(report.clone());
                Ok(DiscoverResponse { again_after_seconds: Some(60) })
            }
        }
    }

    async fn bootstrap(&self, _host: HostId, _claim: &str) -> Result<Bootstrap, Refused> {
        self.bootstrap.lock().unwrap().clone().ok_or_else(|| Refused::for_now("the bootstrap data is not ready"))
    }
}

/// A site with one endpoint.
pub struct Site {
    pub secret: SiteSecret,
    pub authority: Arc<SiteAuthority>,
    pub objects: Arc<Objects>,
    pub hub: Arc<Hub>,
    pub port: u16,
    _shutdown: DropGuard,
}

impl Site {
    pub async fn start() -> Self {
        Self::restart(SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap(), Arc::default()).await
    }

    /// A controller that finds these secrets and objects.
    pub async fn restart(secret: SiteSecret, objects: Arc<Objects>) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Arc::new(SiteAuthority::open(&secret).unwrap());
        let hub = Hub::new();
        let address = "127.0.0.1:0".parse().unwrap();
        let controllers = ["https://192.0.2.1:8444".to_owned()];
        let endpoint =
            Endpoint::bind(address, authority.clone(), objects.clone(), hub.clone(), &controllers).await.unwrap();
        let port = endpoint.address().unwrap().port();
        let shutdown = CancellationToken::new();
        tokio::spawn(endpoint.run(shutdown.clone()));
        Self { secret, authority, objects, hub, port, _shutdown: shutdown.drop_guard() }
    }

    /// A boot of some host, and what its overlay says.
    pub fn boot(&self, host: HostId) -> BootConfig {
        let boot = BootId::random();
        self.objects.boots.lock().unwrap().insert(boot, host);
        let overlay = self.authority.boot().overlay(boot, &[self.url("")], 1_700_000_000, None).unwrap();
        serde_json::from_slice(&overlay).unwrap()
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://{CONTROLLER_NAME}:{}{path}", self.port)
    }

    /// An HTTPS client that pins `ca`, one or several, and may show a certificate.
    pub fn client(&self, ca: &str, identity: Option<(&str, &KeyPair)>) -> Client {
        let mut builder = Client::builder()
            .tls_certs_only(Certificate::from_pem_bundle(ca.as_bytes()).unwrap())
            .resolve(CONTROLLER_NAME, ([127, 0, 0, 1], self.port).into())
            .connect_timeout(Duration::from_secs(5));
        if let Some((certificate, key)) = identity {
            builder = builder
                .identity(Identity::from_pem(format!("{certificate}{}", key.serialize_pem()).as_bytes()).unwrap());
        }
        builder.build().unwrap()
    }

    pub async fn enrol(&self, boot: &BootConfig, key: &KeyPair) -> Response {
        self.client(&boot.ca, None).post(self.url("/v1/enrol")).json(&request(boot, key)).send().await.unwrap()
    }

    /// An enrolled ramdisk's client.
    pub async fn ramdisk(&self, boot: &BootConfig) -> Client {
        let key = KeyPair::generate().unwrap();
        let answer: EnrolResponse = self.enrol(boot, &key).await.error_for_status().unwrap().json().await.unwrap();
        self.client(&boot.ca, Some((&answer.certificate, &key)))
    }

    /// The view of a host once it satisfies `wanted`.
    pub async fn view(&self, host: HostId, wanted: impl Fn(&AgentView) -> bool) -> AgentView {
        let mut changes = self.hub.changes();
        let until = async {
            loop {
                let view = self.hub.view(&host);
                if wanted(&view) {
                    return view;
                }
                changes.next().await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(10), until).await {
            Ok(view) => view,
            Err(_) => panic!("not seen in time; the view is {:?}", self.hub.view(&host)),
        }
    }
}

pub fn csr(key: &KeyPair) -> String {
    CertificateParams::default().serialize_request(key).unwrap().pem().unwrap()
}

pub fn request(boot: &BootConfig, key: &KeyPair) -> EnrolRequest {
    EnrolRequest {
        protocol: PROTOCOL_VERSION,
        token: boot.token.clone(),
        boot_id: boot.boot_id,
        csr: csr(key),
        identity: HardwareIdentity { smbios_uuid: None, serial: None, macs: vec!["52:54:00:00:00:01".into()] },
        agent_version: "0.1.0".into(),
    }
}

pub fn hello(role: Role) -> Up {
    hello_of(role, PROTOCOL_VERSION)
}

/// From an agent that speaks `protocol` at most.
pub fn hello_of(role: Role, protocol: u32) -> Up {
    let (agent_version, identity) = ("0.1.0".into(), HardwareIdentity::default());
    Up::Hello { role, agent_version, identity, items: vec![], protocol }
}

/// An open stream, as an agent has it.
pub struct Stream {
    up: mpsc::Sender<Result<Bytes, std::io::Error>>,
    down: futures::stream::BoxStream<'static, reqwest::Result<Bytes>>,
    buffer: Vec<u8>,
}

impl Stream {
    /// Waits for the head of the answer before anything is said.
    pub async fn open(site: &Site, client: &Client) -> Self {
        let (up, body) = mpsc::channel(8);
        let body = reqwest::Body::wrap_stream(tokio_stream::wrappers::ReceiverStream::new(body));
        let answer = client.post(site.url("/v1/stream")).body(body).send().await.unwrap().error_for_status().unwrap();
        Self { up, down: answer.bytes_stream().boxed(), buffer: Vec::new() }
    }

    /// The very first message.
    pub async fn first(&mut self) -> Down {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return decode_line(&line).unwrap();
            }
            let piece = tokio::time::timeout(Duration::from_secs(10), self.down.next()).await.unwrap();
            self.buffer.extend_from_slice(&piece.unwrap().unwrap());
        }
    }

    pub async fn say(&self, message: &Up) {
        self.say_bytes(encode_line(message).unwrap()).await;
    }

    pub async fn say_bytes(&self, bytes: Vec<u8>) {
        let _ = self.up.send(Ok(bytes.into())).await;
    }

    /// The next message that is no heartbeat; none when the controller ended the stream.
    pub async fn hear(&mut self) -> Option<Down> {
        let heard = tokio::time::timeout(Duration::from_secs(10), async {
            loop {
                while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                    let line: Vec<u8> = self.buffer.drain(..=end).collect();
                    match decode_line(&line).unwrap() {
                        Down::Heartbeat | Down::Welcome { .. } => {}
                        message => return Some(message),
                    }
                }
                match self.down.next().await {
                    Some(Ok(piece)) => self.buffer.extend_from_slice(&piece),
                    Some(Err(_)) | None => return None,
                }
            }
        });
        heard.await.expect("the controller said nothing and did not end the stream")
    }
}
