//! The HTTPS side.
/// placeholder
#[derive(Debug)]
pub struct Serving {}
/// placeholder
#[derive(Debug)]
pub struct ServeError {}
