//! An asynchronous Redfish client for services as BMCs really are.
//!
//! Redfish (DMTF DSP0266) is JSON over HTTP, and every vendor's is a little different: sessions that run out, ETags that
//! only match in another spelling, links with and without a trailing slash, tasks without a location, HTML where JSON
//! was asked for, a service that is away for minutes while it restarts. [`Client`] takes all of that in its stride and
//! hands out plain [`Resource`]s; what it cannot mend is a [`RedfishError`] that names the call and the answer.
//!
//! ```no_run
//! # async fn example() -> Result<(), redfish_client::RedfishError> {
//! use redfish_client::{Client, Login, Options};
//! use serde_json::json;
//!
//! let client = Client::new("https://bmc-17.example.org", Some(Login::new("admin", "secret")), Options::default())?;
//! for system in client.members("/redfish/v1/Systems").await? {
//!     println!("{} is {}", system.uri(), system.text("PowerState").unwrap_or("unknown"));
//!     if let Some(reset) = system.action("ComputerSystem.Reset") {
//!         client.act(&reset, &json!({"ResetType": "On"})).await?;
//!     }
//! }
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! A service that speaks only TLS 1.0 or 1.1, or ciphers that rustls leaves out, is named as such
//! ([`RedfishError::Handshake`]). With the feature `legacy-tls` and [`Options::legacy_tls`] OpenSSL speaks with it; both
//! are off by default. TLS 1.2 and 1.3 stay with rustls even then.
//!
//! What takes its time is at hand as well: [`Client::follow`] stays with a task until its end, through restarts of the
//! service; [`Client::listen`] takes events from an open connection; [`Client::push_form`] sends a file piece by piece.
//!
//! One client keeps at most one session with one service and has at most two requests under way. It must not know
//! what a call is wanted for: no policy about hosts, no vendors' boot or power habits, no read-back. Those belong to
//! whoever uses it.

mod answer;
mod client;
mod compressed;
mod error;
mod etag;
mod fault;
mod follow;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod login;
mod options;
mod push;
mod reference;
mod resource;
mod retry;
mod session;
mod sse;
mod task;
mod tls;
mod wire;

pub use client::{Client, Reply};
pub use error::RedfishError;
pub use fault::{Fault, Message};
pub use follow::Follow;
pub use login::Login;
pub use options::Options;
pub use push::Upload;
pub use reference::Reference;
pub use resource::{Action, Resource};
pub use sse::{Listener, ServerEvent};
pub use task::{TaskEnd, TaskState};
pub use tls::Trust;
