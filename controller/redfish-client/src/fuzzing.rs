//! The decoders of what services send, for the fuzz targets. Not part of the crate's interface: behind the `fuzzing`
//! feature only. The ordinary tests call the same functions with random input.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use crate::answer::Answer;
use crate::etag::ladder;
use crate::{Fault, Reference, Resource};

fn answer(data: &[u8]) -> Answer {
    let (head, body) = data.split_at(data.len().min(1));
    let status = match head.first().map_or(0, |first| first % 6) {
        0 => StatusCode::OK,
        1 => StatusCode::ACCEPTED,
        2 => StatusCode::BAD_REQUEST,
        3 => StatusCode::UNAUTHORIZED,
        4 => StatusCode::FORBIDDEN,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    Answer { status, headers: HeaderMap::new(), body: Bytes::copy_from_slice(body) }
}

/// An error body, in any of its spellings: what is told of it is one short line.
///
/// # Panics
/// When it is not.
pub fn fault(data: &[u8]) {
    let text = Fault::read(data).to_string();
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(text.chars().count() < 20_000, "{}", text.len());
    if let Some(refusal) = answer(data).refusal(&Method::GET, "https://b/x", "admin") {
        let _ = (refusal.to_string(), refusal.is_transient(), refusal.is_not_found());
    }
}

/// The body of a resource, and everything that is looked for in one.
pub fn resource(data: &[u8]) {
    let Ok(Some(body)) = answer(data).json(&Method::GET, "https://b/x") else { return };
    let resource = Resource::new(Reference::root(), None, body);
    for path in ["Members", "Boot/BootOrder", "@Redfish.Settings/SettingsObject", "Members@odata.nextLink", "", "//"] {
        let _ = (resource.text(path), resource.link(path), resource.links(path), resource.texts(path));
    }
    for name in ["ComputerSystem.Reset", "VirtualMedia.InsertMedia", ""] {
        if let Some(action) = resource.action(name) {
            let _ = action.values("ResetType");
        }
    }
    let _ = (resource.settings(), resource.etag_property());
}

/// A task or its monitor, in any status.
pub fn task(data: &[u8]) {
    let answer = answer(data);
    let Ok(body) = answer.json(&Method::GET, "https://b/x") else { return };
    let _ = crate::task::state(answer.status, body.as_ref());
    let _ = crate::task::started(answer.status, None, body.as_ref());
}

/// Headers: every rung of an ETag's ladder can be sent, and a place stays what it is.
///
/// # Panics
/// When one cannot, or does not.
pub fn headers(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (one, other) = text.split_once('\n').unwrap_or((&text, ""));
    for rung in ladder(Some(one), Some(other)).into_iter().flatten() {
        assert!(HeaderValue::from_str(&rung).is_ok(), "{rung:?}");
        assert!(rung == "*" || rung.matches('"').count() == 2, "{rung:?}");
    }
    if let Some(place) = Reference::parse(one) {
        assert_eq!(Reference::parse(place.as_str()).as_ref(), Some(&place));
        assert!(place.as_str().starts_with('/') && !place.as_str().starts_with("//"), "{place}");
    }
    let mut answer = answer(&[]);
    if let Ok(value) = HeaderValue::from_bytes(data) {
        answer.headers.insert(header::LOCATION, value.clone());
        answer.headers.insert(header::RETRY_AFTER, value);
    }
    let _ = (answer.location(), answer.retry_after());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_comes_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            super::fault(&bytes);
            super::resource(&bytes);
            super::task(&bytes);
            super::headers(&bytes);
        }

        #[test]
        fn whatever_text_comes_is_decoded(text in "[ -~\"{}\\[\\]:,/WE@.#\n]{0,120}") {
            super::fault(text.as_bytes());
            super::resource(text.as_bytes());
            super::task(text.as_bytes());
            super::headers(text.as_bytes());
        }
    }
}
