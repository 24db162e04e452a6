//! Version v1alpha2: the in-cluster provider's pools.

mod pools;

pub use pools::*;
