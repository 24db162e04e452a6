//! (first light: being built)
