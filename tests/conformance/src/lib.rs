//! Proof that the embedded Kubernetes API answers as a real one: a corpus of raw requests, kept as data, is sent to
//! both, and whatever differs after the unrepeatable has been replaced (identifiers, times, versions) is shown.
//!
//! This room knows HTTP and what of an answer may vary from run to run. It knows nothing of how either server works.

pub mod accepted;
pub mod compare;
pub mod corpus;
pub mod embedded;
pub mod kubeconfig;
pub mod normal;
pub mod outcome;
mod protobuf;
pub mod rounds;
pub mod run;
pub mod seed;
mod step;
mod variables;
mod watch;
mod wire;
mod yaml;
