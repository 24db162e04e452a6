//! The options of a request and what is granted of them (RFC 2347, 2348, 2349, 7440). What was not asked for is never
//! acknowledged: EDK2 gives up on a server that does.

use std::time::Duration;

use super::limits::TftpLimits;

/// RFC 1350's, when none is negotiated.
const DEFAULT_BLOCK_SIZE: u16 = 512;
/// RFC 2348.
const SMALLEST_BLOCK_SIZE: u64 = 8;
/// Seconds a client may ask for: RFC 2349 allows 255, which would hold a transfer's place for half an hour.
const TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=10;

/// How one transfer is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Terms {
    /// Octets in each block but the last.
    pub(super) block_size: u16,
    /// Blocks sent for one acknowledgement.
    pub(super) window: u16,
    /// Wait for an acknowledgement.
    pub(super) timeout: Duration,
    /// What the option acknowledgement says: each name as the client spelt it, in its order.
    pub(super) granted: Vec<(String, String)>,
}

impl Terms {
    /// Settles what the client asks for a file of `len` octets. Unknown options and senseless values are left out, which
    /// refuses them.
    pub(super) fn settle(asked: &[(String, String)], len: usize, limits: &TftpLimits, largest_block: u16) -> Self {
        let mut terms =
            Self { block_size: DEFAULT_BLOCK_SIZE, window: 1, timeout: limits.timeout, granted: Vec::new() };
        for (name, value) in asked {
            if terms.granted.iter().any(|(granted, _)| granted.eq_ignore_ascii_case(name)) {
                continue;
            }
            let Some(number) = decimal(value) else { continue };
            let answer = match name.to_ascii_lowercase().as_str() {
                "blksize" if number >= SMALLEST_BLOCK_SIZE => {
                    terms.block_size = at_most(number, limits.block_size.min(largest_block));
                    terms.block_size.to_string()
                }
                "windowsize" if number >= 1 => {
                    terms.window = at_most(number, limits.window_size.max(1));
                    terms.window.to_string()
                }
                "tsize" => len.to_string(),
                "timeout" if TIMEOUTS.contains(&number) => {
                    terms.timeout = Duration::from_secs(number);
                    number.to_string()
                }
                _ => continue,
            };
            terms.granted.push((name.clone(), answer));
        }
        terms
    }
}

fn at_most(asked: u64, limit: u16) -> u16 {
    u16::try_from(asked).unwrap_or(u16::MAX).min(limit)
}

/// Digits only: Rust's own parser takes a sign, too.
fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// A client's options and what it is granted.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [(&'a str, &'a str)]);

    #[test]
    fn options_are_granted_clamped_or_left_out() {
        let cases: &[Case<'_>] = &[
            (&[], &[]),
            (&[("blksize", "1024")], &[("blksize", "1024")]),
            (&[("BlkSize", "1024")], &[("BlkSize", "1024")]),
            (&[("blksize", "8")], &[("blksize", "8")]),
            (&[("blksize", "7")], &[]),
            (&[("blksize", "-1")], &[]),
            (&[("blksize", "+512")], &[]),
            (&[("blksize", "")], &[]),
            (&[("blksize", " 512")], &[]),
            (&[("blksize", "99999999999999999999999999")], &[]),
            (&[("tsize", "0"), ("blksize", "1468")], &[("tsize", "3000"), ("blksize", "1468")]),
            (&[("tsize", "what")], &[]),
            (&[("timeout", "3")], &[("timeout", "3")]),
            (&[("timeout", "0")], &[]),
            (&[("timeout", "255")], &[]),
            (&[("windowsize", "4")], &[("windowsize", "4")]),
            (&[("windowsize", "65535")], &[("windowsize", "64")]),
            (&[("windowsize", "0")], &[]),
            (&[("multicast", ""), ("x", "1")], &[]),
            (&[("tsize", "0"), ("TSIZE", "0")], &[("tsize", "3000")]),
        ];
        for (asked, granted) in cases {
            let terms = Terms::settle(&options(asked), 3000, &TftpLimits::default(), 1468);
            assert_eq!(terms.granted, options(granted), "{asked:?}");
        }
    }

    #[test]
    fn c156_a_block_fits_the_mtu_and_the_setting() {
        for (limit, fits, granted) in
            [(1468, 1468, 1468), (8192, 1468, 1468), (1024, 1468, 1024), (8192, 8968, 8192), (512, 1228, 512)]
        {
            let limits = TftpLimits { block_size: limit, ..TftpLimits::default() };
            let terms = Terms::settle(&options(&[("blksize", "65464")]), 1, &limits, fits);
            assert_eq!(
                (terms.block_size, terms.granted),
                (granted, options(&[("blksize", &granted.to_string())])),
                "{limit} {fits}"
            );
        }
    }
}
