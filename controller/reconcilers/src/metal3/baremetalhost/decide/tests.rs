//! Tables of what is seen and what is decided.
