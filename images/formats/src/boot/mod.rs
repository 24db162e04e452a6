//! What is on an installed disk for firmware and boot loaders to read: their menus, the programs they start, and the variables in which
//! firmware remembers them. All of it was written by somebody else's image.

pub mod bls;
pub mod csv;
pub mod environment;
pub mod grub;
pub mod load_option;
pub mod pe;

/// A kernel that can be started, with paths as its menu names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BootChoice {
    /// For people.
    pub title: String,
    /// Path of the kernel.
    pub kernel: String,
    /// Paths of initial ramdisks, in the order in which they follow each other.
    pub initrds: Vec<String>,
    /// The kernel's command line.
    pub command_line: String,
}
