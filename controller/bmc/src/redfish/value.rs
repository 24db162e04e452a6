//! Looking into resources for what several questions ask: numbers, health, whether a part is there at all.

use redfish_client::Resource;
use serde_json::Value;

use crate::Health;

/// Words that firmware writes where it has nothing to say.
const NOTHING: [&str; 8] =
    ["to be filled", "default string", "not specified", "not available", "unknown", "n/a", "none", "null"];

/// The text at `path`, without the words that stand for none and with single spaces.
pub(super) fn text(resource: &Resource, path: &str) -> Option<String> {
    let text = resource.text(path)?;
    let lower = text.to_ascii_lowercase();
    let nothing =
        NOTHING.iter().any(|nothing| lower.starts_with(nothing)) || text.chars().all(|c| c == '.' || c == '0');
    (!nothing).then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The first text that there is at one of `paths`.
pub(super) fn first(resource: &Resource, paths: &[&str]) -> Option<String> {
    paths.iter().find_map(|path| text(resource, path))
}

/// The number at `path`, also where it is written as text.
pub(super) fn number(resource: &Resource, path: &str) -> Option<f64> {
    let number = match resource.value(path)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// The number at `path` as a count of something there is: zero says nothing.
pub(super) fn count(resource: &Resource, path: &str) -> Option<u64> {
    let number = match resource.value(path)? {
        Value::Number(number) if number.is_u64() => number.as_u64(),
        _ => number(resource, path).and_then(whole),
    };
    number.filter(|&number| number > 0)
}

/// A number without its fraction, if it is one that JSON can carry exactly.
fn whole(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are checked")]
    (0.0..=EXACT).contains(&number).then_some(number as u64)
}

/// How well the part is. A part that is not fitted has no health.
pub(super) fn health(resource: &Resource) -> Option<Health> {
    match resource.text("Status/Health").or_else(|| resource.text("Status/HealthRollup"))? {
        "OK" => Some(Health::Ok),
        "Warning" => Some(Health::Warning),
        "Critical" => Some(Health::Critical),
        _ => None,
    }
}

/// Whether the place is there and the part is not.
pub(super) fn is_absent(resource: &Resource) -> bool {
    resource.text("Status/State") == Some("Absent")
}

/// The parts of the list at `path`, for services that keep them within another resource.
pub(super) fn parts(resource: &Resource, path: &str) -> Vec<Resource> {
    let list = resource.value(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter()
        .filter(|part| part.is_object())
        .map(|part| Resource::new(resource.uri().clone(), None, part.clone()))
        .collect()
}

/// Names made different from one another: those that several have get what the service calls each of them.
pub(super) fn tell_apart<T>(things: &mut [T], ids: &[String], name: impl Fn(&mut T) -> &mut String) {
    let names: Vec<String> = things.iter_mut().map(|thing| name(thing).clone()).collect();
    for (thing, id) in things.iter_mut().zip(ids) {
        let name = name(thing);
        if names.iter().filter(|other| *other == name).count() > 1 && name != id {
            *name = format!("{name} {id}");
        }
    }
}

/// By what people count: the ninth bay before the tenth. Services list parts in another order each time (iDRAC).
pub(super) fn natural(name: &str) -> Vec<(String, u64)> {
    let mut key = vec![(String::new(), 0_u64)];
    let mut counting = false;
    for c in name.chars() {
        match c.to_digit(10) {
            None if counting => key.push((c.to_lowercase().to_string(), 0)),
            None => {
                if let Some((words, _)) = key.last_mut() {
                    words.extend(c.to_lowercase());
                }
            }
            Some(digit) => {
                if let Some((_, number)) = key.last_mut() {
                    *number = number.saturating_mul(10).saturating_add(u64::from(digit));
                }
            }
        }
        counting = c.is_ascii_digit();
    }
    key
}

#[cfg(test)]
mod tests {
    use redfish_client::Reference;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_nothing_is_nothing() {
        let body = json!({
            "Filled": "To be filled by O.E.M.", "Dots": "....", "Padded": "PWR  SPLY,750W     ", "Zero": 0, "Float": 96.0,
            "Text": "2133 ", "Words": "fast", "Negative": -1, "Huge": 1e300, "Bytes": 18_446_744_073_709_551_615_u64,
        });
        let resource = Resource::new(Reference::root(), None, body);
        assert_eq!(text(&resource, "Filled"), None);
        assert_eq!(text(&resource, "Dots"), None);
        assert_eq!(text(&resource, "Padded").unwrap(), "PWR SPLY,750W");
        let counts = ["Zero", "Float", "Text", "Words", "Negative", "Huge", "Bytes", "Missing"];
        let counts = counts.map(|name| count(&resource, name));
        assert_eq!(counts, [None, Some(96), Some(2133), None, None, None, Some(u64::MAX), None]);
    }

    #[test]
    fn names_in_the_order_of_people() {
        let mut names = ["eth10", "eth9", "DIMM B1", "DIMM A12", "dimm A2", "", "99999999999999999999999"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["", "99999999999999999999999", "dimm A2", "DIMM A12", "DIMM B1", "eth9", "eth10"]);
    }

    #[test]
    fn names_that_several_have_are_told_apart() {
        let mut names = ["PSU".to_owned(), "PSU".to_owned(), "Fan".to_owned()];
        tell_apart(&mut names, &["0".to_owned(), "1".to_owned(), "2".to_owned()], |name| name);
        assert_eq!(names, ["PSU 0", "PSU 1", "Fan"]);
    }
}
