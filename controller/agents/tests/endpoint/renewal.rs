//! How an installed host keeps a certificate, and how the CA behind it is replaced.

use bessemer_agents::SiteSecret;
use bessemer_protocol::{HostId, Refusal, RenewRequest, RenewResponse};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair, SanType};
use reqwest::{Response, StatusCode};
use time::{Duration, OffsetDateTime};

use crate::site::{CLAIM, Site, csr};

/// A certificate of `signer` for `key`, valid from `begin` for a day.
fn certificate(signer: &SiteSecret, uri: &str, key: &KeyPair, begin: OffsetDateTime) -> String {
    let issuer =
        Issuer::from_ca_cert_pem(&signer.certificate_pem, KeyPair::from_pem(&signer.key_pem).unwrap()).unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.not_before = begin;
    params.not_after = begin + Duration::DAY;
    params.signed_by(key, &issuer).unwrap().pem()
}

fn node(host: HostId) -> String {
    format!("bessemer:host/{host}/node/{CLAIM}")
}

async fn ask(site: &Site, certificate: String, csr: String) -> Response {
    let client = site.client(site.authority.certificate_pem(), None);
    client.post(site.url("/v1/renew")).json(&RenewRequest { certificate, csr }).send().await.unwrap()
}

#[tokio::test]
async fn a_node_renews_before_and_after_its_certificate_expired() {
    let (site, now, key) = (Site::start().await, OffsetDateTime::now_utc(), KeyPair::generate().unwrap());
    for begin in [now - Duration::HOUR, now - Duration::days(400)] {
        let old = certificate(&site.secret, &node(HostId::random()), &key, begin);
        let answer: RenewResponse = ask(&site, old, csr(&key)).await.error_for_status().unwrap().json().await.unwrap();
        assert_eq!(answer.ca, site.authority.trusted_pem());
        let client = site.client(&answer.ca, Some((&answer.certificate, &key)));
        let waiting = client.get(site.url("/v1/bootstrap")).send().await.unwrap();
        assert_eq!(waiting.status(), StatusCode::SERVICE_UNAVAILABLE, "let in, and told to wait for the data");
    }
}

#[tokio::test]
async fn nobody_else_renews() {
    let (site, now, key) = (Site::start().await, OffsetDateTime::now_utc(), KeyPair::generate().unwrap());
    let hour = now - Duration::HOUR;
    let host = HostId::random();
    let good = certificate(&site.secret, &node(host), &key, hour);
    let refused = async |certificate: String, csr: String, part: &str| {
        let answer = ask(&site, certificate, csr).await;
        assert!(answer.status().is_client_error(), "{part}: {}", answer.status());
        let refusal: Refusal = answer.json().await.unwrap();
        assert!(refusal.message.contains(part) && !refusal.retry, "{part}: {refusal:?}");
    };
    let other = KeyPair::generate().unwrap();
    refused(good.clone(), csr(&other), "not of the certificate's key").await;
    let foreign = SiteSecret::generate(now).unwrap();
    refused(certificate(&foreign, &node(host), &key, hour), csr(&key), "not of this site").await;
    refused(certificate(&site.secret, &node(host), &key, now + Duration::HOUR), csr(&key), "not of this site").await;
    let ramdisk = format!("bessemer:host/{host}/ramdisk/{}", bessemer_protocol::BootId::random());
    refused(certificate(&site.secret, &ramdisk, &key, hour), csr(&key), "ramdisk").await;
    refused("no certificate".into(), csr(&key), "not of this site").await;
    *site.objects.node_key.lock().unwrap() = Some("another".into());
    refused(good.clone(), csr(&key), "another key").await;
    *site.objects.node_key.lock().unwrap() = None;
    *site.objects.released.lock().unwrap() = true;
    refused(good, csr(&key), "released").await;
}

#[tokio::test]
async fn a_site_with_a_new_ca_takes_the_old_ones_agents_and_tells_them_of_both() {
    let (before, now, key) = (Site::start().await, OffsetDateTime::now_utc(), KeyPair::generate().unwrap());
    let old = before.secret.clone();
    let new = SiteSecret::generate(now).unwrap();
    // First every agent learns of the new CA, then it is put to use.
    let announced = SiteSecret { also_trusted_pem: new.certificate_pem.clone(), ..old.clone() };
    let used = SiteSecret { also_trusted_pem: old.certificate_pem.clone(), token_key: old.token_key.clone(), ..new };
    let announcing = Site::restart(announced, before.objects.clone()).await;
    let mine = certificate(&old, &node(HostId::random()), &key, now - Duration::HOUR);
    let answer: RenewResponse =
        ask(&announcing, mine.clone(), csr(&key)).await.error_for_status().unwrap().json().await.unwrap();
    let using = Site::restart(used.clone(), before.objects.clone()).await;
    let client = using.client(&answer.ca, Some((&mine, &key)));
    let waiting = client.get(using.url("/v1/bootstrap")).send().await.unwrap();
    assert_eq!(waiting.status(), StatusCode::SERVICE_UNAVAILABLE, "the old certificate is still good");
    let only_old = using.client(&old.certificate_pem, Some((&mine, &key)));
    assert!(only_old.get(using.url("/v1/bootstrap")).send().await.is_err(), "who was not told does not talk");
    let renewed = client.post(using.url("/v1/renew")).json(&RenewRequest { certificate: mine, csr: csr(&key) });
    let renewed: RenewResponse = renewed.send().await.unwrap().error_for_status().unwrap().json().await.unwrap();
    let issued = rustls_pki_types::pem::PemObject::from_pem_slice(renewed.certificate.as_bytes());
    let issued: rustls_pki_types::CertificateDer<'_> = issued.unwrap();
    let (_, parsed) = x509_parser::parse_x509_certificate(&issued).unwrap();
    let signer: rustls_pki_types::CertificateDer<'_> =
        rustls_pki_types::pem::PemObject::from_pem_slice(used.certificate_pem.as_bytes()).unwrap();
    let (_, signer) = x509_parser::parse_x509_certificate(&signer).unwrap();
    assert!(parsed.verify_signature(Some(signer.public_key())).is_ok(), "signed by the new CA");
}
