//! DHCPv4 (RFC 2131, 2132, 3396, 4578, 6842): codec, who is asking, what to answer, and the socket.
//!
//! `packet` and `options` know bytes, `client` knows firmware, `decide` is the pure rule from a request and the
//! directory's answers to a reply or a reason for silence, `server` moves packets.

pub(crate) mod client;
pub(crate) mod decide;
mod options;
mod packet;
pub(crate) mod server;

pub use options::Options;
pub use packet::{DecodeError, MessageType, Packet};
