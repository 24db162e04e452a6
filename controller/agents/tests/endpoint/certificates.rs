//! What a certificate opens, and which open nothing.

use bessemer_agents::SiteSecret;
use bessemer_protocol::{Bootstrap, HostId, NodeCertificateRequest, NodeCertificateResponse, Refusal, Role, WorkId};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, SanType};
use reqwest::{Client, StatusCode};
use time::{Duration, OffsetDateTime};

use crate::site::{CLAIM, Site, Stream, csr, hello};

/// A client with a certificate that says `uri`, signed by a site's CA, valid from `begin` for a day.
fn holder(site: &Site, signer: &SiteSecret, uri: &str, begin: OffsetDateTime) -> Client {
    let issuer =
        Issuer::from_ca_cert_pem(&signer.certificate_pem, KeyPair::from_pem(&signer.key_pem).unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = begin;
    params.not_after = begin + Duration::DAY;
    let certificate = params.signed_by(&key, &issuer).unwrap().pem();
    site.client(site.authority.certificate_pem(), Some((&certificate, &key)))
}

fn node_uri() -> String {
    format!("bessemer:host/{}/node/{CLAIM}", HostId::random())
}

fn bootstrap(claim: &str) -> Bootstrap {
    Bootstrap {
        claim: claim.into(),
        format: "cloud-config".into(),
        data: "#cloud-config\n".into(),
        provider_id: "metal3://metal/r7-u12/prod-cp-x7k2p".into(),
    }
}

async fn status(client: &Client, site: &Site) -> (StatusCode, Option<Refusal>) {
    let answer = client.get(site.url("/v1/bootstrap")).send().await.unwrap();
    let status = answer.status();
    (status, answer.json().await.ok())
}

#[tokio::test]
async fn from_ramdisk_to_node_to_bootstrap_data() {
    let (site, host, work) = (Site::start().await, HostId::random(), WorkId::random());
    let boot = site.boot(host);
    let ramdisk = site.ramdisk(&boot).await;
    let key = KeyPair::generate().unwrap();
    let request = NodeCertificateRequest { work_id: work, csr: csr(&key) };
    let ask = || ramdisk.post(site.url("/v1/node-certificate")).json(&request).send();

    assert_eq!(ask().await.unwrap().status(), StatusCode::FORBIDDEN, "no deploy is open");
    *site.objects.deploying.lock().unwrap() = Some(work);
    let answer: NodeCertificateResponse = ask().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    assert_eq!(status(&ramdisk, &site).await.0, StatusCode::FORBIDDEN, "a ramdisk gets no bootstrap data");

    let node = site.client(&boot.ca, Some((&answer.certificate, &key)));
    let waiting = node.get(site.url("/v1/bootstrap")).send().await.unwrap();
    assert_eq!(waiting.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(waiting.headers()["retry-after"], "2");
    assert!(waiting.json::<Refusal>().await.unwrap().retry);
    *site.objects.bootstrap.lock().unwrap() = Some(bootstrap(CLAIM));
    let delivered: Bootstrap = node.get(site.url("/v1/bootstrap")).send().await.unwrap().json().await.unwrap();
    assert_eq!(delivered, bootstrap(CLAIM));

    let stream = Stream::open(&site, &node).await;
    stream.say(&hello(Role::Node)).await;
    let view = site.view(host, |view| view.connected).await;
    assert_eq!((view.role, view.boot_id), (Some(Role::Node), None));
}

#[tokio::test]
async fn bootstrap_data_goes_to_the_claim_of_the_certificate_only() {
    let site = Site::start().await;
    let now = OffsetDateTime::now_utc();
    *site.objects.bootstrap.lock().unwrap() = Some(bootstrap("metal/another"));
    let uri = node_uri();
    let node = holder(&site, &site.secret, &uri, now);
    assert_eq!(status(&node, &site).await.0, StatusCode::FORBIDDEN, "the authority's answer is checked too");
    let other = holder(&site, &site.secret, &uri.replace(CLAIM, "metal/another"), now);
    let (code, refusal) = status(&other, &site).await;
    assert_eq!((code, refusal.unwrap().message.as_str()), (StatusCode::FORBIDDEN, "claimed by another"));
}

#[tokio::test]
async fn no_certificate_opens_nothing_but_enrolment() {
    let site = Site::start().await;
    let nobody = site.client(site.authority.certificate_pem(), None);
    let (code, refusal) = status(&nobody, &site).await;
    assert_eq!(code, StatusCode::UNAUTHORIZED);
    assert!(!refusal.unwrap().retry);
    for path in ["/v1/stream", "/v1/node-certificate"] {
        assert_eq!(nobody.post(site.url(path)).send().await.unwrap().status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

#[tokio::test]
async fn an_expired_or_foreign_certificate_does_not_get_past_tls() {
    let site = Site::start().await;
    *site.objects.bootstrap.lock().unwrap() = Some(bootstrap(CLAIM));
    let now = OffsetDateTime::now_utc();
    let good = holder(&site, &site.secret, &node_uri(), now - Duration::HOUR);
    assert_eq!(status(&good, &site).await.0, StatusCode::OK);
    let foreign = SiteSecret::generate(now).unwrap();
    for bad in [
        holder(&site, &site.secret, &node_uri(), now - Duration::days(2)),
        holder(&site, &site.secret, &node_uri(), now + Duration::HOUR),
        holder(&site, &foreign, &node_uri(), now - Duration::HOUR),
    ] {
        assert!(bad.get(site.url("/v1/bootstrap")).send().await.is_err());
    }
}

#[tokio::test]
async fn a_certificate_that_names_no_agent_opens_nothing() {
    let site = Site::start().await;
    let odd = holder(&site, &site.secret, "spiffe:example/a", OffsetDateTime::now_utc() - Duration::HOUR);
    assert_eq!(status(&odd, &site).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_boot_that_is_over_opens_nothing() {
    let site = Site::start().await;
    let boot = site.boot(HostId::random());
    let ramdisk = site.ramdisk(&boot).await;
    site.objects.over.lock().unwrap().insert(boot.boot_id);
    assert_eq!(ramdisk.post(site.url("/v1/stream")).send().await.unwrap().status(), StatusCode::FORBIDDEN);
}
