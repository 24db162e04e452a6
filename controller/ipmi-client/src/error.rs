//! What can go wrong between a console and a BMC.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::{CompletionCode, Privilege};

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub enum IpmiError {
    /// The user name does not fit the protocol (16 bytes).
    #[error("user name is {length} bytes long: ipmi allows 16")]
    UserNameTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The password does not fit the protocol (20 bytes).
    #[error("password is {length} bytes long: ipmi allows 20")]
    PasswordTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// The host name has no address.
    #[error("cannot resolve host {host:?}")]
    Unresolvable {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// This machine would not give us a socket to the BMC.
    #[error("cannot open a udp socket")]
    Socket(#[source] io::Error),
    /// No usable answer came in time.
    #[error("no answer to {doing} within {after:?}{}", last_error.as_ref().map(|e| format!(" ({e})")).unwrap_or_default())]
    Timeout {
        /// What was waiting for an answer.
        doing: &'static str,
        /// How long.
        after: Duration,
        /// The last thing the network reported, as "connection refused" when nothing listens at the port.
        last_error: Option<io::Error>,
    },
    /// The BMC does not know this user, or one of us does not know the password.
    #[error("user name or password refused: {why}")]
    AuthenticationRejected {
        /// Which check failed.
        why: &'static str,
    },
    /// The user is who they say, and may not have this privilege.
    #[error("the user may not have {wanted} privilege: {why}")]
    PrivilegeRefused {
        /// What was asked for.
        wanted: Privilege,
        /// How it was refused.
        why: String,
    },
    /// The BMC offers none of the cipher suites that are allowed here.
    #[error("the bmc accepts none of the cipher suites {allowed}")]
    NoCommonCipherSuite {
        /// The suites offered, as `17, 3`.
        allowed: String,
    },
    /// The BMC refused to set up a session for another reason.
    #[error("session refused at {stage}: {status}")]
    SessionRefused {
        /// Which message was refused.
        stage: &'static str,
        /// Why.
        status: SetupStatus,
    },
    /// The BMC gives its serial console at another port, which is not looked at.
    #[error(
        "the bmc gives its serial console at udp port {port} only: set it to the port of ipmi in the bmc's settings"
    )]
    ConsoleElsewhere {
        /// The port.
        port: u16,
    },
    /// The BMC answered a command with an error.
    #[error("{command}: {code}")]
    Completion {
        /// The command's name.
        command: &'static str,
        /// The BMC's verdict.
        code: CompletionCode,
    },
    /// An authentic answer does not have the form the specification gives it.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Bytes that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {why}")]
pub struct Malformed {
    /// What was being read.
    pub what: &'static str,
    /// What is wrong with it.
    pub why: &'static str,
}

/// RMCP+ and RAKP message status codes (§13.24, table 13-15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetupStatus(pub u8);

impl SetupStatus {
    pub(crate) const OK: Self = Self(0x00);
    /// All session slots are taken.
    pub const INSUFFICIENT_RESOURCES: Self = Self(0x01);
    pub(crate) const UNAUTHORIZED_ROLE: Self = Self(0x09);
    pub(crate) const INSUFFICIENT_RESOURCES_AT_ROLE: Self = Self(0x0a);
    pub(crate) const UNAUTHORIZED_NAME: Self = Self(0x0d);
    pub(crate) const INVALID_INTEGRITY_CHECK: Self = Self(0x0f);

    /// Whether waiting may heal it: sessions of others end.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(self, Self::INSUFFICIENT_RESOURCES | Self::INSUFFICIENT_RESOURCES_AT_ROLE)
    }

    /// Whether it speaks of the proposed algorithms. BMCs that do not know a suite refuse the first part of it that they
    /// do not know, or call the whole an illegal parameter.
    pub(crate) const fn refuses_suite(self) -> bool {
        matches!(self.0, 0x03..=0x07 | 0x10..=0x12)
    }
}

impl fmt::Display for SetupStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meaning = match self.0 {
            0x00 => "no error",
            0x01 => "insufficient resources to create a session",
            0x02 => "invalid session id",
            0x03 => "invalid payload type",
            0x04 => "invalid authentication algorithm",
            0x05 => "invalid integrity algorithm",
            0x06 => "no matching authentication payload",
            0x07 => "no matching integrity payload",
            0x08 => "inactive session id",
            0x09 => "unauthorized role or privilege level requested",
            0x0a => "insufficient resources to create a session at the requested role",
            0x0b => "invalid name length",
            0x0c => "invalid role",
            0x0d => "unauthorized name",
            0x0e => "unauthorized guid",
            0x0f => "invalid integrity check value",
            0x10 => "invalid confidentiality algorithm",
            0x11 => "no cipher suite match with proposed security algorithms",
            0x12 => "illegal or unrecognized parameter",
            _ => "unknown status",
        };
        write!(f, "{meaning} ({:#04x})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_that_speak_of_the_suite() {
        let speaking: Vec<u8> = (0..=u8::MAX).filter(|status| SetupStatus(*status).refuses_suite()).collect();
        // Payload type, authentication, integrity, no match of either; confidentiality, no suite, illegal parameter.
        assert_eq!(speaking, [0x03, 0x04, 0x05, 0x06, 0x07, 0x10, 0x11, 0x12]);
        assert!(speaking.iter().all(|status| !SetupStatus(*status).is_transient()));
    }
}
