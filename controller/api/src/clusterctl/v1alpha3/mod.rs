//! Version v1alpha3, one concept per file.

mod provider;

pub use provider::*;
