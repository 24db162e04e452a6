//! YAML as Kubernetes reads it: `y` and `n` are words.

use serde::de::DeserializeOwned;
use serde_saphyr::Options;

pub(crate) fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options: Options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_str_with_options(text, options)
}
