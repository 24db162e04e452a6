//! The server's console: how to get at it, and its stream of bytes.

use std::fmt;

use serde::Serialize;
use tokio::io::{AsyncRead, AsyncWrite};

/// A serial console that is open. What the server prints is read, what is typed is written.
pub trait ConsoleStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ConsoleStream for T {}

/// How a console is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ConsoleKind {
    /// Serial over LAN of IPMI, as [`crate::Bmc::open_console`] speaks it.
    IpmiSol,
    /// SSH to the BMC.
    Ssh,
    /// Telnet to the BMC.
    Telnet,
    /// Keyboard, video and mouse by network; the protocol is the maker's own.
    Kvm,
    /// Something else, as the BMC writes it.
    Other(String),
}

impl fmt::Display for ConsoleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IpmiSol => "ipmi sol",
            Self::Ssh => "ssh",
            Self::Telnet => "telnet",
            Self::Kvm => "kvm",
            Self::Other(word) => word,
        })
    }
}

/// One way to the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleAccess {
    /// How.
    pub kind: ConsoleKind,
    /// Whether the BMC has it switched on; none when it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Port on the BMC, where it is not the usual one or is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How many may look at once, where told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// What to do to use it, for people, as `ssh -p 2200 USER@BMC`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}
