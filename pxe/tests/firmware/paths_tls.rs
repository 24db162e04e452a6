//! OVMF over HTTPS: the first program comes over a verified connection.

use std::path::Path;
use std::process::Command;

use bessemer_pxe::{BootServer, FirmwareTls};
use tokio_util::sync::CancellationToken;

use crate::contract::uki;
use crate::host::{OneHost, config, ramdisk};
use crate::machine::Machine;
use crate::network::inside;
use crate::{BOOT, MARKER};

/// `EFI_CERT_X509_GUID`, as it lies in memory.
const X509: [u8; 16] = [0xa1, 0x59, 0xc0, 0xa5, 0xe4, 0x94, 0xa7, 0x4a, 0x87, 0xb5, 0xab, 0x15, 0x5c, 0x2b, 0xf0, 0x72];

#[test]
#[ignore = "half a minute of emulation"]
fn uefi_https_to_a_uki() {
    inside("paths_tls::uefi_https_to_a_uki", async |artefacts| {
        let folder = tempfile::tempdir().unwrap();
        let tls = certificate(folder.path());
        let host = OneHost::new(ramdisk());
        let mut config = config(artefacts);
        config.media.uki = Some(uki(artefacts, folder.path()));
        config.http.tls = Some(tls);
        let _server = BootServer::start(config, host.clone(), CancellationToken::new()).await.unwrap();
        Machine::power_on_trusting(&folder.path().join("authorities")).expect(&format!("INIT marker={MARKER}"));
        assert_eq!(host.files(), [&format!("https://10.77.0.1:8443/b/{BOOT}/boot.efi"), "boot.efi"]);
    });
}

/// Of an authority that is its own server, and the list that firmware is given.
fn certificate(folder: &Path) -> FirmwareTls {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-newkey", "rsa:3072", "-nodes", "-days", "2", "-subj", "/CN=boot"]);
    openssl.args(["-addext", "subjectAltName=IP:10.77.0.1", "-keyout", &path("key"), "-out", &path("certificate")]);
    assert!(openssl.output().unwrap().status.success());
    let mut openssl = Command::new("openssl");
    let der = openssl.args(["x509", "-outform", "DER", "-in", &path("certificate")]).output().unwrap().stdout;
    let size = u32::try_from(der.len()).unwrap() + 16;
    let list = [&X509[..], &(size + 28).to_le_bytes(), &[0; 4], &size.to_le_bytes(), &[0; 16], &der].concat();
    std::fs::write(path("authorities"), list).unwrap();
    let read = |name: &str| std::fs::read_to_string(path(name)).unwrap();
    FirmwareTls { port: 8443, certificate: read("certificate"), key: read("key"), ipxe: false }
}
