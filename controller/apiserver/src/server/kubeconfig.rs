//! The kubeconfig that `kubectl` and other clients use.

use std::net::Ipv6Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::identity::Identity;

/// A kubeconfig with the administrator's certificate inside.
pub(super) fn admin(host: &str, port: u16, authority: &str, admin: &Identity) -> String {
    let host = if host.parse::<Ipv6Addr>().is_ok() { format!("[{host}]") } else { host.to_owned() };
    let (authority, certificate, key) =
        (STANDARD.encode(authority), STANDARD.encode(&admin.certificate), STANDARD.encode(&admin.key));
    format!(
        "apiVersion: v1
kind: Config
clusters:
- name: bessemer
  cluster:
    server: https://{host}:{port}
    certificate-authority-data: {authority}
users:
- name: bessemer-admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: bessemer
  context:
    cluster: bessemer
    user: bessemer-admin
    namespace: default
current-context: bessemer
"
    )
}
