//! The Redfish side of a host: an immutable tree of answers shared by all hosts of a model, a small overlay of what was
//! written to each, live views of the shared state on top, and a server. It knows [`crate::host`] and nothing of IPMI.

mod actions;
mod allow;
pub mod answer;
mod auth;
pub mod behaviour;
mod dispatch;
mod etag;
mod events;
mod expand;
mod facts;
pub mod faults;
mod json;
mod metadata;
mod overlay;
pub mod record;
mod server;
mod service;
mod staged;
mod tasks;
pub mod tls;
mod tree;
mod views;
mod writes;

pub use auth::sessions::Counts as SessionCounts;
pub use behaviour::Behaviour;
pub use dispatch::Request;
pub use faults::{Fault, Faults, Rule};
pub use server::{Listener, serve};
pub use service::Service;
pub use tree::Tree;

/// The service root.
pub const ROOT: &str = "/redfish/v1";
