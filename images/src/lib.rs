//! Builders of what hosts boot and are given. This room knows files, disks and archives; it does
//! not know the controller, the agent's protocol or who serves what it makes.

pub mod cache;
mod fat;
mod file;
pub mod iso;
pub mod os;
pub mod ramdisk;
mod tool;
pub mod uki;

pub use fat::FatError;
pub use file::FileError;
pub use tool::ToolError;
