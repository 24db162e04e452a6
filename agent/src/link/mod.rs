//! The agent's end of the line to the controller: pinned TLS, enrolment, the stream, and the memory of work items.
//! It knows the protocol and nothing about disks or kubeadm.

mod controllers;
pub(crate) mod enrol;
pub(crate) mod items;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod stream;

pub(crate) use controllers::{Controllers, LinkError, client_config, innermost};
