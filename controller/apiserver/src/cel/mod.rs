//! The Common Expression Language, as the rules of CustomResourceDefinitions use it (`x-kubernetes-validations`):
//! parsed and type-checked against the schema once, when a definition is stored, then evaluated on the JSON of objects
//! without copying it. A rule that uses what is not here does not compile, so that none passes unseen.
//!
//! Here are the language with its macros (also those of two variables, and optional values), and the libraries that
//! Kubernetes v1.36 gives to rules: strings, lists, sets, regular expressions, URLs, addresses, quantities, semantic
//! versions and named formats. Every evaluation has a budget of steps.
//!
//! It knows schemas and values, and nothing of definitions or requests.

mod ast;
mod calls;
mod check;
mod cost;
mod eval;
mod functions;
mod lex;
mod literal;
mod parse;
mod place;
mod program;
mod quantity;
mod signatures;
mod types;
pub(crate) mod value;

pub(crate) use eval::Fault;
pub(crate) use program::{Budget, Program, Wanted};
pub(crate) use types::Root;
use types::escape;
