//! Having the BMC tell by itself what happens.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where events are to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Address that the BMC posts events to; `https` where the BMC is to keep them from others.
    pub destination: String,
    /// A word that comes back with every event, by which a subscription is known to be one's own.
    pub context: String,
}

/// A subscription as the BMC calls it. Plain text, so that it can be kept and ended later.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubscriptionId(pub String);

impl fmt::Display for SubscriptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
