//! TLS as firmware speaks it, by real clients that are held to firmware's ciphers.

use std::process::Command;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::{PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

use super::*;
use crate::config::FirmwareTls;

/// EDK2's `TlsCipherMappingTable` (stable202211), in OpenSSL's names, without those that do not encrypt.
const OVMF: [&str; 8] = [
    "AES128-SHA",
    "DHE-RSA-AES128-SHA",
    "AES256-SHA",
    "DHE-RSA-AES256-SHA",
    "AES128-SHA256",
    "AES256-SHA256",
    "DHE-RSA-AES128-SHA256",
    "DHE-RSA-AES256-SHA256",
];

fn certificate(key: &PKey<Private>) -> String {
    let mut name = X509NameBuilder::new().unwrap();
    name.append_entry_by_text("CN", "boot").unwrap();
    let name = name.build();
    let mut certificate = X509::builder().unwrap();
    certificate.set_version(2).unwrap();
    certificate.set_serial_number(&BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap()).unwrap();
    certificate.set_subject_name(&name).unwrap();
    certificate.set_issuer_name(&name).unwrap();
    certificate.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    certificate.set_not_after(&Asn1Time::days_from_now(1).unwrap()).unwrap();
    certificate.set_pubkey(key).unwrap();
    let names = SubjectAlternativeName::new().ip("127.0.0.1").build(&certificate.x509v3_context(None, None)).unwrap();
    certificate.append_extension(names).unwrap();
    certificate.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap();
    certificate.sign(key, MessageDigest::sha256()).unwrap();
    String::from_utf8(certificate.build().to_pem().unwrap()).unwrap()
}

fn tls(key: &PKey<Private>) -> FirmwareTls {
    let pem = String::from_utf8(key.private_key_to_pem_pkcs8().unwrap()).unwrap();
    FirmwareTls { port: 0, certificate: certificate(key), key: pem, ipxe: false }
}

fn rsa(bits: u32) -> PKey<Private> {
    PKey::from_rsa(Rsa::generate(bits).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn firmwares_ciphers_fetch_boot_files_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("image"), "an image").unwrap();
    let config = tls(&rsa(3072));
    let authority = folder.path().join("ca.pem");
    std::fs::write(&authority, &config.certificate).unwrap();
    let speech = Speech::Tls(tls::Acceptor::new(&config).unwrap());
    let server = serve_by(speech, Settings { images_dir: Some(folder.path().into()), ..Settings::default() });
    let curl = |target: &str, more: &[&str]| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "20", "--cacert"]).arg(&authority).args(more);
        let output = curl.arg(format!("https://{}{target}", server.at)).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for cipher in OVMF {
        // Level 0: curl here is held to firmware's security, not to Debian's.
        let ciphers = format!("{cipher}:@SECLEVEL=0");
        let old = ["--tls-max", "1.2", "--ciphers", &ciphers];
        let (fetched, script) = curl(&boot(7, "boot.ipxe"), &old);
        assert!(fetched, "{cipher}");
        // What follows stays within TLS.
        assert!(script.contains(&format!("kernel https://{}/b/", server.at)), "{script}");
    }
    assert_eq!(curl("/ipxe.efi", &[]), (true, "an iPXE".into()), "TLS 1.3");
    assert_eq!(curl("/images/image", &[]), (true, "not found\n".into()));
    for refused in [
        &["--tls-max", "1.1", "--ciphers", "DEFAULT:@SECLEVEL=0"][..],
        &["--tls-max", "1.2", "--ciphers", "NULL-SHA256:@SECLEVEL=0"],
        &["--tls-max", "1.2", "--ciphers", "ADH-AES256-SHA256:@SECLEVEL=0"],
    ] {
        assert!(!curl("/ipxe.efi", refused).0, "{refused:?}");
    }
    let told = server.directory.told.lock().unwrap();
    let failed = told.iter().find(|exchange| exchange.answer == Answer::Dropped).unwrap();
    assert!(failed.why.as_ref().unwrap().starts_with("the TLS handshake failed: "), "{failed:?}");
}

#[test]
fn keys_that_firmware_could_not_use_are_refused_in_words() {
    let right = tls(&rsa(3072));
    let curve = openssl::ec::EcGroup::from_curve_name(openssl::nid::Nid::X9_62_PRIME256V1).unwrap();
    let curve = PKey::from_ec_key(openssl::ec::EcKey::generate(&curve).unwrap()).unwrap();
    for (config, expected) in [
        (tls(&rsa(2048)), "TLS for firmware: the RSA key has 2048 bits: make one with 3072"),
        (tls(&curve), "TLS for firmware: the key is no RSA key, and firmware knows no other"),
        (
            FirmwareTls { certificate: tls(&rsa(3072)).certificate, ..right.clone() },
            "TLS for firmware: the certificate belongs to another key",
        ),
        (FirmwareTls { certificate: String::new(), ..right.clone() }, "TLS for firmware: there is no certificate"),
        (FirmwareTls { key: "x".into(), ..right.clone() }, "TLS for firmware: the key is no PEM private key"),
    ] {
        let said = tls::Acceptor::new(&config).err().unwrap().to_string();
        assert!(said.starts_with(expected), "{said}");
        assert!(!format!("{config:?}").contains("PRIVATE"));
    }
    assert!(tls::Acceptor::new(&right).is_ok());
}
