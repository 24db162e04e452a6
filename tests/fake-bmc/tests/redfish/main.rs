//! The Redfish side as a client that knows nothing of it sees it: plain requests, plain JSON.

#![cfg(test)]

mod boot;
mod client;
mod events;
mod faults;
mod lies;
mod media;
mod power;
mod program;
mod seeds;
mod sessions;
mod settings;
mod sushy;
mod tasks;
mod validator;
