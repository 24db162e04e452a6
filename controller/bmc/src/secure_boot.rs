//! Secure boot: whether firmware checks signatures of what it boots.

use serde::Serialize;

/// How secure boot stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SecureBoot {
    /// Whether it held at the last boot; none when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// Whether it is wished for from the next boot on; none when the BMC does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// What firmware does about keys, as the BMC writes it: `UserMode`, `SetupMode`, `AuditMode`, `DeployedMode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}
