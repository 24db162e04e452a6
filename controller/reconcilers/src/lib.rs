//! Reconcilers of the kinds we serve: observe → decide → act, one folder per API group, one per kind inside it.
//!
//! They see the outside (BMCs, agents, workload clusters) through the traits in [`outside`], and answer the agents'
//! endpoint and the boot server about hosts. They must not know how a packet, a stream or a certificate looks.

pub mod outside;
