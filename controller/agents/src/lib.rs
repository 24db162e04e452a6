//! The controller's end of the agent protocol: who may be an agent ([`SiteAuthority`]), the HTTPS endpoint that agents
//! talk to ([`Endpoint`]), and what they say, by host ([`Hub`]).
//!
//! It decides nothing about hosts: whether a boot may enrol, a certificate is still good, or bootstrap data may be had is
//! asked of `HostAuthority` on each request. It must not know what a Kubernetes object is.
//!
//! One host, in order: the boot server hands out [`BootAuthority::overlay`]; the ramdisk's agent enrols with the token in
//! it and gets a client certificate; its stream appears in the hub; reconcilers send it work; during `Deploy` it has a
//! certificate signed for the installed system, which later opens its own stream and fetches its bootstrap data.

mod endpoint;
mod hub;
mod identity;
mod site;

pub use endpoint::{Endpoint, EndpointError};
pub use hub::Hub;
pub use identity::{InvalidIdentity, KeyDigest};
pub use site::{BootAuthority, Issued, NODE_LIFETIME, RAMDISK_LIFETIME, SiteAuthority, SiteError, SiteSecret};
