//! The primitives a suite is made of: HMAC over SHA-1 or SHA-256, and AES-128 in CBC mode with IPMI's own padding.

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt, BlockModeEncrypt, KeyIvInit};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::Malformed;

const BLOCK: usize = 16;

/// The hash of a suite's HMACs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
}

impl Hash {
    /// Length in bytes of a whole digest.
    pub(crate) const fn len(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// HMAC of the concatenated `parts` under `key`.
    pub(crate) fn hmac(self, key: &[u8], parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
        match self {
            Self::Sha1 => hmac_with::<Hmac<Sha1>>(key, parts),
            Self::Sha256 => hmac_with::<Hmac<Sha256>>(key, parts),
        }
    }
}

fn hmac_with<M: Mac + KeyInit>(key: &[u8], parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    #[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
    let mut mac = <M as KeyInit>::new_from_slice(key).expect("any key length");
    for part in parts {
        mac.update(part);
    }
    Zeroizing::new(mac.finalize().into_bytes().to_vec())
}

/// Whether `received` is the first `received.len() == len` bytes of `computed`, in constant time.
pub(crate) fn matches(computed: &[u8], received: &[u8], len: usize) -> bool {
    computed.get(..len).is_some_and(|kept| bool::from(kept.ct_eq(received)))
}

/// A session's AES-128 key, the first half of K2.
pub(crate) struct AesKey(Zeroizing<[u8; 16]>);

impl AesKey {
    /// From K2, which every hash makes longer than a key.
    pub(crate) fn from_k2(k2: &[u8]) -> Self {
        let mut key = Zeroizing::new([0; 16]);
        for (to, from) in key.iter_mut().zip(k2) {
            *to = *from;
        }
        Self(key)
    }

    /// IV, then ciphertext (§13.29): the payload is padded with 1, 2, 3, … and the pad's length.
    pub(crate) fn encrypt(&self, iv: [u8; BLOCK], payload: &[u8]) -> Vec<u8> {
        let pad = (BLOCK - (payload.len() + 1) % BLOCK) % BLOCK;
        let mut out = Vec::with_capacity(BLOCK + payload.len() + pad + 1);
        out.extend_from_slice(&iv);
        out.extend_from_slice(payload);
        out.extend((1u8..).take(pad));
        out.push(u8::try_from(pad).unwrap_or_default());
        let (_, body) = out.split_at_mut(BLOCK);
        let length = body.len();
        #[expect(clippy::expect_used, reason = "the padding above makes whole blocks")]
        cbc::Encryptor::<Aes128>::new((&*self.0).into(), (&iv).into())
            .encrypt_padded::<NoPadding>(body, length)
            .expect("whole blocks");
        out
    }

    /// The payload inside `sealed`. Some BMCs write other pad bytes than the specification's: only the length is
    /// believed, and the authentication code has vouched for it already.
    pub(crate) fn decrypt(&self, sealed: &[u8]) -> Result<Vec<u8>, Malformed> {
        const WHAT: &str = "encrypted payload";
        let (iv, body) = sealed.split_first_chunk::<BLOCK>().ok_or(Malformed { what: WHAT, why: "is too short" })?;
        let mut plain = body.to_vec();
        cbc::Decryptor::<Aes128>::new((&*self.0).into(), iv.into())
            .decrypt_padded::<NoPadding>(&mut plain)
            .map_err(|_| Malformed { what: WHAT, why: "is not whole cipher blocks" })?;
        let pad = plain.pop().ok_or(Malformed { what: WHAT, why: "is empty" })?;
        let pad = usize::from(pad);
        if pad >= BLOCK || pad > plain.len() {
            return Err(Malformed { what: WHAT, why: "has an impossible pad length" });
        }
        plain.truncate(plain.len() - pad);
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 2202 §3 and RFC 4231 §4.3, test case 2 of each.
    #[test]
    fn hmac_vectors() {
        let parts: [&[u8]; 2] = [b"what do ya want ", b"for nothing?"];
        assert_eq!(hex(&Hash::Sha1.hmac(b"Jefe", &parts)), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
        assert_eq!(
            hex(&Hash::Sha256.hmac(b"Jefe", &parts)),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn only_exact_lengths_match() {
        assert!(matches(&[1, 2, 3, 4], &[1, 2, 3], 3));
        assert!(!matches(&[1, 2, 3, 4], &[1, 2], 3));
        assert!(!matches(&[1, 2, 3, 4], &[1, 2, 3, 4], 3));
        assert!(!matches(&[1, 2], &[1, 2], 3));
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    proptest::proptest! {
        #[test]
        fn what_is_encrypted_decrypts(key: [u8; 20], iv: [u8; 16], payload: Vec<u8>) {
            let key = AesKey::from_k2(&key);
            let sealed = key.encrypt(iv, &payload);
            proptest::prop_assert_eq!(sealed.len() % 16, 0);
            proptest::prop_assert_eq!(key.decrypt(&sealed).unwrap(), payload);
        }

        #[test]
        fn decrypting_anything_never_panics(key: [u8; 20], sealed: Vec<u8>) {
            let _ = AesKey::from_k2(&key).decrypt(&sealed);
        }
    }
}
