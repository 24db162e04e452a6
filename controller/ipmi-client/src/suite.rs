//! Cipher suites (§22.15.2) as rows. Only those that authenticate and encrypt have one.

use std::fmt;

use crate::crypto::Hash;

/// The algorithms a session uses, as one row of the specification's table 22-20.
#[derive(PartialEq, Eq)]
pub struct CipherSuite {
    /// Its number in the specification.
    pub id: u8,
    /// RAKP authentication algorithm number (§13.28).
    pub(crate) authentication: u8,
    /// Integrity algorithm number (§13.28.4).
    pub(crate) integrity: u8,
    /// Confidentiality algorithm number (§13.28.5).
    pub(crate) confidentiality: u8,
    /// The hash beneath both HMACs.
    pub(crate) hash: Hash,
    /// Bytes kept of RAKP message 4's check value and of each packet's authentication code.
    pub(crate) integrity_len: usize,
}

/// RAKP-HMAC-SHA1, HMAC-SHA1-96, AES-CBC-128: what every IPMI 2.0 BMC speaks.
pub static SUITE_3: CipherSuite = CipherSuite {
    id: 3,
    authentication: 0x01,
    integrity: 0x01,
    confidentiality: 0x01,
    hash: Hash::Sha1,
    integrity_len: 12,
};

/// RAKP-HMAC-SHA256, HMAC-SHA256-128, AES-CBC-128.
pub static SUITE_17: CipherSuite = CipherSuite {
    id: 17,
    authentication: 0x03,
    integrity: 0x04,
    confidentiality: 0x01,
    hash: Hash::Sha256,
    integrity_len: 16,
};

impl fmt::Debug for CipherSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CipherSuite({})", self.id)
    }
}
