//! The algorithms of suites 3 and 17 (§13.28), by RustCrypto.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suite {
    /// SHA-1 and AES.
    Three,
    /// SHA-256 and AES.
    Seventeen,
}

impl Suite {
    pub(super) const ALL: [Self; 2] = [Self::Seventeen, Self::Three];

    /// Its number.
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Three => 3,
            Self::Seventeen => 17,
        }
    }

    /// Numbers of its algorithms: authentication, integrity, confidentiality.
    pub(super) fn algorithms(self) -> [u8; 3] {
        match self {
            Self::Three => [1, 1, 1],
            Self::Seventeen => [3, 4, 1],
        }
    }

    /// Length of a packet's authentication code, and of RAKP message 4's check value.
    pub(super) fn code_length(self) -> usize {
        match self {
            Self::Three => 12,
            Self::Seventeen => 16,
        }
    }

    /// A whole HMAC.
    pub(super) fn hmac(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        fn with<M: Mac + KeyInit>(key: &[u8], text: &[u8]) -> Vec<u8> {
            let Ok(mut mac) = <M as KeyInit>::new_from_slice(key) else { return Vec::new() };
            mac.update(text);
            mac.finalize().into_bytes().to_vec()
        }
        match self {
            Self::Three => with::<Hmac<Sha1>>(key, text),
            Self::Seventeen => with::<Hmac<Sha256>>(key, text),
        }
    }
}

/// AES-128-CBC with the padding of §13.29: 1, 2, 3, …, then how many.
pub(super) fn encrypt(key: &[u8; 16], iv: [u8; 16], payload: &[u8]) -> Vec<u8> {
    let mut body = payload.to_vec();
    let mut pad = 0;
    while !(body.len() + 1).is_multiple_of(16) {
        pad += 1;
        body.push(pad);
    }
    body.push(pad);
    let length = body.len();
    let encrypted = cbc::Encryptor::<aes::Aes128>::new(key.into(), (&iv).into())
        .encrypt_padded::<NoPadding>(&mut body, length)
        .map(<[u8]>::to_vec)
        .unwrap_or_default();
    [&iv[..], &encrypted].concat()
}

/// The payload; `None` when that is not what was encrypted. The padding must be exact: real BMCs check it too.
pub(super) fn decrypt(key: &[u8; 16], sealed: &[u8]) -> Option<Vec<u8>> {
    let (iv, body) = sealed.split_first_chunk::<16>()?;
    let mut plain = body.to_vec();
    cbc::Decryptor::<aes::Aes128>::new(key.into(), iv.into()).decrypt_padded::<NoPadding>(&mut plain).ok()?;
    let pad = usize::from(plain.pop()?);
    let start = plain.len().checked_sub(pad)?;
    let padding = plain.split_off(start);
    padding.iter().zip(1u8..).all(|(byte, expected)| *byte == expected).then_some(plain)
}
