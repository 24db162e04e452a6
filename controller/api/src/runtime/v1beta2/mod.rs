//! Version v1beta2, one concept per file.

mod extension_config;

pub use extension_config::*;
