//! How patient a client is, and whom it trusts.

use std::time::Duration;

use crate::Trust;

/// How patient a client is, and whom it trusts. The defaults suit BMCs: slow to answer, soon overwhelmed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Which certificates are accepted for `https`.
    pub trust: Trust,
    /// How long a connection may take to come up, TLS included.
    pub connect_timeout: Duration,
    /// How long a service may stay silent within one request. BMCs have been seen to need more than a minute after
    /// they restarted.
    pub read_timeout: Duration,
    /// How long one call may take with all its retries, waits and redirects.
    pub deadline: Duration,
    /// How often one request is made at most, where making it again is safe.
    pub attempts: u32,
    /// The longest pause between two attempts, also where the service asks for a longer one.
    pub longest_pause: Duration,
    /// Requests under way at once.
    pub concurrency: usize,
    /// The largest body that is read, in bytes.
    pub body_limit: usize,
    /// Whether connections are kept for the next request. Some services close them without a word.
    pub keep_alive: bool,
    /// Whether to log in for a session. Without, each request carries the password (HTTP Basic).
    pub sessions: bool,
    /// How long a refused password is not tried again: services lock an account after a few wrong ones.
    pub login_pause: Duration,
    /// Whether a service that speaks only TLS 1.0 or 1.1, or only ciphers that rustls leaves out, is spoken to by
    /// OpenSSL. What such a connection hides can be found out; for BMCs without newer firmware, on a closed network.
    /// Needs the feature `legacy-tls`; without it a client with this option cannot be made.
    pub legacy_tls: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            trust: Trust::System,
            connect_timeout: Duration::from_secs(15),
            read_timeout: Duration::from_secs(120),
            deadline: Duration::from_secs(180),
            attempts: 5,
            longest_pause: Duration::from_secs(30),
            concurrency: 2,
            body_limit: 8 << 20,
            keep_alive: true,
            sessions: true,
            login_pause: Duration::from_secs(10),
            legacy_tls: false,
        }
    }
}
