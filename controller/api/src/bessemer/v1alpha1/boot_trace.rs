//! BootTrace: what one machine and the boot servers said to each other.

use bessemer_api_macros::api;

use crate::Time;

/// Characters kept of one text of an exchange.
const TEXT: usize = 256;

/// The conversation of one machine with the boot servers, named after its MAC address (or DUID) with dashes, in its host's
/// namespace; of an unknown machine in the namespace of the controller. Written every few seconds at most, by the boot
/// servers alone; nothing is decided on it, and it may be deleted at any time. `bessemer host trace` shows it in words.
#[api(optional_spec)]
#[kube(
    group = "bessemer.dev",
    version = "v1alpha1",
    kind = "BootTrace",
    plural = "boottraces",
    namespaced,
    status = "BootTraceStatus"
)]
#[column("Host", string, ".status.host", "BareMetalHost, if it is known")]
#[column("Last", date, ".status.lastSeen", "Time since the last exchange")]
#[column("Asked", string, ".status.asked", "What was last asked")]
#[column("Answer", string, ".status.answer", "What was last answered")]
#[column("Age", date, ".metadata.creationTimestamp", "Time since it was made")]
pub struct BootTraceSpec {}

/// The conversation.
#[api]
pub struct BootTraceStatus {
    /// The machine: its MAC address, or its DUID if that is all it tells.
    #[text(..=400)]
    pub machine: String,
    /// Name of the BareMetalHost; none for an unknown machine.
    pub host: Option<String>,
    /// When it was last heard.
    pub last_seen: Option<Time>,
    /// What it last asked.
    #[text(..=256)]
    pub asked: String,
    /// What it was last answered.
    #[text(..=256)]
    pub answer: String,
    /// Older exchanges that are no longer here.
    #[number(0..)]
    pub forgotten: i64,
    /// What was said, oldest first; at most [`BootTraceStatus::EXCHANGES`].
    #[list(atomic, ..=100)]
    pub exchanges: Vec<BootExchange>,
}

/// One question and its answer.
#[api(no_default)]
#[derive(Eq)]
pub struct BootExchange {
    /// When.
    pub at: Time,
    /// The boot server that heard it.
    #[text(..=256)]
    pub server: String,
    /// `dhcp4`, `proxydhcp`, `dhcp6`, `tftp` or `http`.
    #[text(1..=16)]
    pub protocol: String,
    /// What was asked, such as `DISCOVER` and by which firmware.
    #[text(..=256)]
    pub asked: String,
    /// What was answered; empty if nothing was.
    #[text(..=256)]
    pub answer: String,
    /// Why it was answered so.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[text(..=256)]
    pub why: String,
}

impl BootTraceStatus {
    /// Exchanges kept.
    pub const EXCHANGES: usize = 100;

    /// Adds exchanges, of whichever server, in the order of their times. The oldest go when there are too many, and the end of
    /// long texts.
    pub fn add(&mut self, exchanges: impl IntoIterator<Item = BootExchange>) {
        self.exchanges.extend(exchanges.into_iter().map(BootExchange::cut));
        self.exchanges.sort_by_key(|exchange| exchange.at.0);
        let surplus = self.exchanges.len().saturating_sub(Self::EXCHANGES);
        self.exchanges.drain(..surplus);
        self.forgotten = self.forgotten.saturating_add(i64::try_from(surplus).unwrap_or(i64::MAX));
        if let Some(last) = self.exchanges.last() {
            (self.asked, self.answer) = (last.asked.clone(), last.answer.clone());
            self.last_seen = Some(last.at.clone());
        }
    }
}

impl BootExchange {
    fn cut(mut self) -> Self {
        for text in [&mut self.server, &mut self.protocol, &mut self.asked, &mut self.answer, &mut self.why] {
            if let Some((end, _)) = text.char_indices().nth(TEXT) {
                text.truncate(end);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn at(second: i64, asked: &str) -> BootExchange {
        BootExchange {
            at: Time(Timestamp::from_second(second).unwrap()),
            server: "r1".to_owned(),
            protocol: "dhcp4".to_owned(),
            asked: asked.to_owned(),
            answer: String::new(),
            why: String::new(),
        }
    }

    #[test]
    fn two_servers_lines_are_one_conversation() {
        let mut status = BootTraceStatus::default();
        status.add([at(1, "a"), at(5, "d")]);
        status.add([at(3, "c"), at(2, "b")]);
        let asked: Vec<&str> = status.exchanges.iter().map(|exchange| exchange.asked.as_str()).collect();
        assert_eq!(asked, ["a", "b", "c", "d"]);
        assert_eq!((status.asked.as_str(), status.last_seen.unwrap().0.as_second()), ("d", 5));
    }

    #[test]
    fn the_newest_are_kept_and_the_others_counted() {
        let mut status = BootTraceStatus::default();
        status.add((0..130).map(|second| at(second, "é".repeat(300).as_str())));
        assert_eq!((status.exchanges.len(), status.forgotten), (BootTraceStatus::EXCHANGES, 30));
        assert_eq!(status.exchanges.first().map(|first| first.at.0.as_second()), Some(30));
        assert_eq!(status.asked.chars().count(), TEXT);
    }
}
