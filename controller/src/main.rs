//! (first light: being built)
fn main() {}
