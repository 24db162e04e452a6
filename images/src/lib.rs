//! Builders of what hosts boot and are given. This room knows files, disks and archives; it does
//! not know the controller, the agent's protocol or who serves what it makes.

pub mod cache;
pub mod os;
pub mod ramdisk;
