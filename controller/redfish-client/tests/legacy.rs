//! Services that speak only TLS as it was: OpenSSL reaches them, and believes no more than it is told to.

#![cfg(feature = "legacy-tls")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that fails should panic")]

mod common;

use std::pin::Pin;

use common::{Seen, Service, answer, ok, root, status};
use openssl::asn1::Asn1Time;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::ssl::{Ssl, SslContext, SslMethod, SslVersion};
use openssl::x509::{X509, X509NameBuilder};
use redfish_client::{Client, Login, Options, RedfishError, Reference, Trust};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

/// A BMC of long ago: one version of TLS, key exchange by RSA, a short key, a certificate signed with SHA-1.
async fn start(version: SslVersion) -> (Service, String, X509) {
    let key = PKey::from_rsa(Rsa::generate(1024).unwrap()).unwrap();
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "bmc").unwrap();
    let name = name.build();
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_pubkey(&key).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(9).unwrap()).unwrap();
    certificate.sign(&key, MessageDigest::sha1()).unwrap();
    let certificate = certificate.build();
    let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
    context.set_min_proto_version(Some(SslVersion::TLS1)).unwrap();
    context.set_max_proto_version(Some(version)).unwrap();
    context.set_cipher_list("AES128-SHA:@SECLEVEL=0").unwrap();
    context.set_private_key(&key).unwrap();
    context.set_certificate(&certificate).unwrap();
    let context = context.build();

    let service = Service::start(|seen: &Seen, _| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/redfish/v1") => root(),
        ("POST", "/redfish/v1/Sessions") => {
            answer(201, &[("X-Auth-Token", "t"), ("Location", "/redfish/v1/Sessions/1")], "{}")
        }
        _ if seen.header("x-auth-token").is_none() => status(401),
        ("GET", "/redfish/v1/Large") => answer(200, &[], &"x".repeat(2 << 20)),
        ("GET", _) => ok(&json!({"Id": "1"})),
        _ => status(204),
    })
    .await;
    let plain = service.address;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let ssl = Ssl::new(&context).unwrap();
            tokio::spawn(async move {
                let mut secure = tokio_openssl::SslStream::new(ssl, stream).unwrap();
                if Pin::new(&mut secure).accept().await.is_ok() {
                    let mut inside = TcpStream::connect(plain).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut secure, &mut inside).await;
                }
            });
        }
    });
    (service, address, certificate)
}

fn client(address: &str, trust: Trust, legacy: bool) -> Client {
    let mut options = Options::default();
    options.trust = trust;
    options.legacy_tls = legacy;
    options.attempts = 1;
    options.body_limit = 1 << 20;
    Client::new(address, Some(Login::new("admin", "s3cr3t")), options).unwrap()
}

#[tokio::test]
async fn old_versions_are_spoken_where_that_is_wanted() {
    for version in [SslVersion::TLS1, SslVersion::TLS1_1, SslVersion::TLS1_2] {
        let (service, address, _) = start(version).await;
        let error = client(&address, Trust::Anyone, false).get("/redfish/v1/Systems/1").await.unwrap_err();
        assert!(matches!(&error, RedfishError::Handshake { .. }), "{error}");
        assert!(error.to_string().contains("legacy tls"), "{error}");
        let client = client(&address, Trust::Anyone, true);
        let system = client.get("/redfish/v1/Systems/1").await.unwrap();
        client.patch(&system, &json!({"AssetTag": "x"})).await.unwrap();
        client.post(&Reference::parse("/redfish/v1/reset").unwrap(), &json!({"ResetType": "On"})).await.unwrap();
        let error = client.get("/redfish/v1/Large").await.unwrap_err().to_string();
        assert!(error.ends_with("the answer is larger than 1048576 bytes"), "{error}");
        // What is long by nature goes another way, and says so.
        let error = client.listen(&Reference::parse("/redfish/v1/SSE").unwrap()).await.err().unwrap().to_string();
        assert!(error.contains("only old tls") && error.contains("read its log"), "{error}");
        client.close().await;
        let seen = service.seen();
        let reset = seen.iter().find(|seen| seen.path == "/redfish/v1/reset").unwrap();
        assert_eq!(reset.body, json!({"ResetType": "On"}));
        assert!(address.ends_with(reset.header("host").unwrap()));
        assert_eq!(seen.last().unwrap().line(), "DELETE /redfish/v1/Sessions/1");
    }
}

#[tokio::test]
async fn certificates_are_believed_as_with_any_other() {
    let (_, address, certificate) = start(SslVersion::TLS1).await;
    let read = async |trust| client(&address, trust, true).get("/redfish/v1/Systems/1").await.map(|_| ());
    let fingerprint = certificate.digest(MessageDigest::sha256()).unwrap();
    read(Trust::Pin(fingerprint[..].try_into().unwrap())).await.unwrap();
    let pem = |certificate: &X509| String::from_utf8(certificate.to_pem().unwrap()).unwrap();
    read(Trust::Authorities(pem(&certificate))).await.unwrap();
    let (_, _, stranger) = start(SslVersion::TLS1).await;
    for trust in [Trust::Pin([7; 32]), Trust::Authorities(pem(&stranger)), Trust::System] {
        let error = read(trust).await.unwrap_err();
        assert!(matches!(&error, RedfishError::Certificate { .. }), "{error}");
    }
}
