//! Which version two sides speak: the newest that both know, or none and a reason.

use crate::{OLDEST_PROTOCOL, PROTOCOL_VERSION, Refusal};

/// What came of two versions.
pub type Negotiation = Result<u32, Refusal>;

/// The version to speak with a peer whose newest is `theirs`. `who` names the peer in the refusal, such as `agent`.
///
/// # Errors
/// A [`Refusal`] that names both versions and what to do, when the peer is older than everything spoken here. A newer
/// peer is never refused: whether it can still speak ours is for it to say.
pub fn negotiate(who: &str, theirs: u32) -> Negotiation {
    if theirs < OLDEST_PROTOCOL {
        let message = format!(
            "the {who} speaks version {theirs} of the protocol, the oldest spoken here is {OLDEST_PROTOCOL}; build agent and controller from one release"
        );
        return Err(Refusal { message, retry: false, speaks: Some(PROTOCOL_VERSION) });
    }
    Ok(theirs.min(PROTOCOL_VERSION))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_shared_version_is_spoken() {
        for (theirs, spoken) in [(1, Some(1)), (2, Some(2)), (3, Some(2)), (u32::MAX, Some(2)), (0, None)] {
            assert_eq!(negotiate("agent", theirs).ok(), spoken, "{theirs}");
        }
        let refusal = negotiate("agent", 0).unwrap_err();
        assert_eq!(refusal.speaks, Some(PROTOCOL_VERSION));
        assert!(refusal.message.contains("version 0") && !refusal.retry, "{refusal:?}");
    }
}
