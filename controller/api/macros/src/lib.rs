//! The vocabulary in which `bessemer-api` writes down Kubernetes types: `#[api]` and the field attributes below it.
//!
//! About 1,500 properties carry bounds, list kinds and rules. In the words of serde and schemars each costs three
//! lines, of which two say what the field's type says already. This room turns one short attribute into those words;
//! it must not know any kind.
//!
//! On a struct `#[api]` derives what every API type needs, names fields in camelCase, and leaves out what is absent:
//! an `Option` that is `None`, and a `Vec` or `BTreeMap` that is empty (unless `#[required]`: then it is always
//! written and must be there). With a `#[kube(…)]` attribute the struct becomes the spec of a kind. On an enum of
//! words it also gives `as_str`, `from_word` and
//! `Display`.
//!
//! | on | attribute | meaning |
//! |---|---|---|
//! | struct | `#[api(some)]` | at least one property (`minProperties: 1`) |
//! | struct | `#[api(atomic)]` | owned as one by server-side apply (`x-kubernetes-map-type: atomic`) |
//! | struct | `#[api(no_default)]` | it has no sensible default |
//! | kind | `#[api(optional_spec)]` | an object without a spec is read as one with an empty spec |
//! | struct, field | `#[rule("cel", "message")]` | a CEL rule |
//! | kind | `#[column("Name", string, ".json.path", "description", priority)]` | a print column; the last two may go |
//! | field | `#[text(1..=253, PATTERN)]` | length of a text, and a pattern (a constant) it matches |
//! | field | `#[number(0..=100)]` | bounds of a number |
//! | field | `#[list(map(key), 1..=32, each(1..=256))]` | kind of list (`plain`, `atomic`, `set`, `map(keys)`), length, length of its texts |
//! | field | `#[words("a", "b")]` | the only values of a text |

mod attributes;
mod fields;
mod types;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct or an enum a part of the API: see the crate's documentation.
#[proc_macro_attribute]
pub fn api(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(arguments as attributes::Options);
    let input = parse_macro_input!(item as DeriveInput);
    types::expand(&options, input).unwrap_or_else(syn::Error::into_compile_error).into()
}
