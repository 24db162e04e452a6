//! Group `metal3.io`: the hosts themselves, and word of what else of Metal3's is not served yet.

pub(crate) mod baremetalhost;
pub(crate) mod unserved;
