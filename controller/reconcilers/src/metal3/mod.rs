//! Group `metal3.io`: the hosts themselves.

pub(crate) mod baremetalhost;
