//! What the bytes of operating system images mean: compression, disk formats, partition tables, and what boots from them.
//!
//! Everything here works on bytes that somebody else fetched or read, trusts none of them, and allocates no more than a stated limit.
//! This room must not know networks, devices, the agent or how images are built.

pub mod boot;
pub mod compression;
pub mod detect;
pub mod filesystem;
pub mod gpt;
pub mod guid;
pub mod mbr;
pub mod qcow2;
pub mod signatures;

mod field;
