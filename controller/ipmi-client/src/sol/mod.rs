//! Serial over LAN (§15): the server's serial console as a stream of bytes.
//!
//! [`Link`] is the protocol without sockets or clocks: one packet in flight each way, acknowledged by count of characters.
//! [`Console`] is the tokio driver around it.

mod console;
mod link;
mod packet;

pub use console::Console;
pub use link::{Incoming, Link};
pub use packet::SolPacket;
