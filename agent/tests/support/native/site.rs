//! The controller's real endpoint for agents, with a fake of the objects behind it, and identities for hosts that were never deployed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bessemer_agents::{Endpoint, Hub, SiteAuthority, SiteSecret};
use bessemer_protocol::{
    BootConfig, BootId, Bootstrap, BootstrapDelivery, CONTROLLER_NAME, EnrolRequest, EnrolResponse, HardwareIdentity,
    HostId, NodeCertificateRequest, NodeCertificateResponse, NodeIdentity, NodeReport, PROTOCOL_VERSION, WorkId,
};
use bessemer_reconcilers::outside::{AgentHub, AgentIdentity, HostAuthority, Refused};
use futures::StreamExt;
use rcgen::{CertificateParams, KeyPair};
use reqwest::{Certificate, Client, Identity};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::native::GATEWAY;

/// The objects, as far as the endpoint asks about them.
#[derive(Default)]
struct Objects {
    boots: Mutex<HashMap<BootId, HostId>>,
    deploying: Mutex<HashMap<WorkId, String>>,
    keys: Mutex<HashMap<String, String>>,
    bootstrap: Mutex<HashMap<String, Bootstrap>>,
}

#[async_trait]
impl HostAuthority for Objects {
    async fn admit(&self, boot: BootId, _: &HardwareIdentity, _: &str) -> Result<HostId, Refused> {
        self.boots.lock().unwrap().get(&boot).copied().ok_or_else(|| Refused::for_good("no host has this boot"))
    }

    async fn authorise(&self, _: &AgentIdentity) -> Result<(), Refused> {
        Ok(())
    }

    async fn deploying(&self, _: HostId, work: WorkId) -> Result<String, Refused> {
        self.deploying.lock().unwrap().get(&work).cloned().ok_or_else(|| Refused::for_good("not open"))
    }

    async fn certified(&self, _: HostId, claim: &str, key: &str) -> Result<(), Refused> {
        self.keys.lock().unwrap().insert(claim.to_owned(), key.to_owned());
        Ok(())
    }

    async fn holds_key(&self, _: HostId, claim: &str, key: &str) -> Result<(), Refused> {
        match self.keys.lock().unwrap().get(claim) {
            Some(known) if known == key => Ok(()),
            _ => Err(Refused::for_good("another key")),
        }
    }

    async fn bootstrap(&self, _: HostId, claim: &str) -> Result<Bootstrap, Refused> {
        self.bootstrap.lock().unwrap().get(claim).cloned().ok_or_else(|| Refused::for_now("not ready"))
    }

    async fn contested(&self, _: HostId, _: BootId) {}
}

/// A site with one endpoint.
pub struct Site {
    authority: Arc<SiteAuthority>,
    objects: Arc<Objects>,
    hub: Arc<Hub>,
    port: u16,
    _shutdown: DropGuard,
}

impl Site {
    pub async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let secret = SiteSecret::generate(time::OffsetDateTime::now_utc()).unwrap();
        let authority = Arc::new(SiteAuthority::open(&secret).unwrap());
        let (objects, hub) = (Arc::<Objects>::default(), Hub::new());
        let address = format!("{GATEWAY}:0").parse().unwrap();
        let endpoint = Endpoint::bind(address, authority.clone(), objects.clone(), hub.clone(), &[]).await.unwrap();
        let port = endpoint.address().unwrap().port();
        let shutdown = CancellationToken::new();
        tokio::spawn(endpoint.run(shutdown.clone()));
        Self { authority, objects, hub, port, _shutdown: shutdown.drop_guard() }
    }

    /// What the ramdisk would have left for a host of this name, by the requests that the ramdisk makes.
    pub async fn deployed(&self, hostname: &str) -> NodeIdentity {
        let (host, boot, work) = (HostId::random(), BootId::random(), WorkId::random());
        let claim = format!("metal/{hostname}");
        self.objects.boots.lock().unwrap().insert(boot, host);
        self.objects.deploying.lock().unwrap().insert(work, claim.clone());
        let overlay =
            self.authority.boot().overlay(boot, &[format!("https://{GATEWAY}:{}", self.port)], 0, None).unwrap();
        let overlay: BootConfig = serde_json::from_slice(&overlay).unwrap();
        let ramdisk = KeyPair::generate().unwrap();
        let request = EnrolRequest {
            protocol: PROTOCOL_VERSION,
            token: overlay.token.clone(),
            boot_id: boot,
            csr: csr(&ramdisk),
            identity: HardwareIdentity::default(),
            agent_version: "0.1.0".into(),
        };
        let enrolled: EnrolResponse = self.post(&overlay.ca, None, "/v1/enrol", &request).await;
        let node = KeyPair::generate().unwrap();
        let request = NodeCertificateRequest { work_id: work, csr: csr(&node) };
        let shown = Some((enrolled.certificate.as_str(), &ramdisk));
        let issued: NodeCertificateResponse = self.post(&overlay.ca, shown, "/v1/node-certificate", &request).await;
        NodeIdentity {
            controllers: overlay.controllers,
            ca: overlay.ca,
            certificate: issued.certificate,
            key: node.serialize_pem(),
            host_id: host,
            claim,
            hostname: hostname.to_owned(),
            delivery: BootstrapDelivery::Agent,
        }
    }

    async fn post<A: serde::de::DeserializeOwned>(
        &self,
        ca: &str,
        identity: Option<(&str, &KeyPair)>,
        path: &str,
        body: &impl serde::Serialize,
    ) -> A {
        let mut client = Client::builder()
            .tls_certs_only([Certificate::from_pem(ca.as_bytes()).unwrap()])
            .resolve(CONTROLLER_NAME, format!("{GATEWAY}:{}", self.port).parse().unwrap());
        if let Some((certificate, key)) = identity {
            let pem = format!("{certificate}{}", key.serialize_pem());
            client = client.identity(Identity::from_pem(pem.as_bytes()).unwrap());
        }
        let url = format!("https://{CONTROLLER_NAME}:{}{path}", self.port);
        let answer = client.build().unwrap().post(url).json(body).send().await.unwrap();
        answer.error_for_status().unwrap().json().await.unwrap()
    }

    /// From now on the host's agent gets this cloud-config.
    pub fn serve(&self, who: &NodeIdentity, data: String) {
        let bootstrap = Bootstrap {
            claim: who.claim.clone(),
            format: "cloud-config".into(),
            data,
            provider_id: provider_id(&who.hostname),
        };
        self.objects.bootstrap.lock().unwrap().insert(who.claim.clone(), bootstrap);
    }

    /// The report of a host's agent once it is as wanted; what it says meanwhile is printed.
    pub async fn report(&self, who: &NodeIdentity, seconds: u64, wanted: impl Fn(&NodeReport) -> bool) -> NodeReport {
        let mut changes = self.hub.changes();
        let until = async {
            loop {
                if let Some(report) = self.hub.view(&who.host_id).node.filter(|report| wanted(report)) {
                    return report;
                }
                changes.next().await;
            }
        };
        match tokio::time::timeout(Duration::from_secs(seconds), until).await {
            Ok(report) => report,
            Err(_) => {
                panic!("{}: not within {seconds} s; the last report is {:?}", who.hostname, self.hub.view(&who.host_id))
            }
        }
    }
}

/// What the host's Node is to be called.
pub fn provider_id(hostname: &str) -> String {
    format!("metal3://metal/{hostname}/{hostname}")
}

fn csr(key: &KeyPair) -> String {
    CertificateParams::default().serialize_request(key).unwrap().pem().unwrap()
}
