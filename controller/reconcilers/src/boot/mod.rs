//! What the boot servers leave in the Kubernetes API: the conversations of machines. Knows objects and machines' names
//! only; how a packet looks, and what it is answered, is the boot server's business.

mod journal;
mod strangers;

pub use journal::Journal;
