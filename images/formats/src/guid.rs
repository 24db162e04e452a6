//! GUIDs as UEFI stores them: the first three fields little-endian (UEFI 2.10, appendix A).

use std::fmt;

/// A GUID in its sixteen bytes on a disk or in a variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    /// From its digits as they are written, `0xC12A7328_F81F_…`.
    #[must_use]
    pub const fn new(text: u128) -> Self {
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = text.to_be_bytes();
        Self([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p])
    }

    /// Whether all of it is zero, which stands for none.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.0 == [0; 16]
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [d, c, b, a, g, e, i, h, rest @ ..] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}{d:02x}-{e:02x}{g:02x}-{h:02x}{i:02x}-")?;
        for (index, byte) in rest.iter().enumerate() {
            write!(f, "{}{byte:02x}", if index == 2 { "-" } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_written_as_people_know_it() {
        let esp = Guid::new(0xC12A_7328_F81F_11D2_BA4B_00A0_C93E_C93B);
        assert_eq!(esp.to_string(), "c12a7328-f81f-11d2-ba4b-00a0c93ec93b");
        assert_eq!(esp.0[..4], [0x28, 0x73, 0x2a, 0xc1]);
        assert!(Guid::default().is_nil() && !esp.is_nil());
    }
}
