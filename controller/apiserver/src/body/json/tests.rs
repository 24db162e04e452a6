//! What the reader forgives, what it tells, and that neither costs more than the text is worth.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn last(bytes: &[u8]) -> Result<Body, String> {
    read(bytes, Target::Whole)
}

#[test]
fn repeated_keys_are_named_and_the_last_one_counts() {
    let body = br#"{"a": 1, "b": [{"x": 1, "x": 2}], "a": {"y": 1, "y": 1}}"#;
    let (value, problems) = last(body).unwrap();
    assert_eq!(value, json!({"a": {"y": 1}, "b": [{"x": 2}]}));
    assert_eq!(problems, ["duplicate field \"b[0].x\"", "duplicate field \"a\"", "duplicate field \"a.y\""]);
}

/// Each would take minutes, or more memory than there is, if every element's path were written.
#[test]
fn long_paths_cost_nothing_until_they_are_told() {
    let key = "k".repeat(1_000_000);
    let begun = std::time::Instant::now();
    let (value, problems) = last(format!("{{\"{key}\": [{}0]}}", "0,".repeat(900_000)).as_bytes()).unwrap();
    assert_eq!((value[&key].as_array().unwrap().len(), problems.len()), (900_001, 0));
    let (_, problems) = last(format!("{{\"{key}\": {{{}\"a\": 1}}}}", "\"a\": 1,".repeat(200_000)).as_bytes()).unwrap();
    assert_eq!(problems, [format!("duplicate field \"{key}.a\"")]);
    let (_, problems) = last(format!("[{}0]", "{\"a\": 1, \"a\": 1},".repeat(100_000)).as_bytes()).unwrap();
    assert_eq!((problems.len(), problems[99].as_str()), (MOST_PROBLEMS, "duplicate field \"[99].a\""));
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

/// The fields of a struct are laid over one another; an entry of a map, and a value without a type, begins anew.
#[test]
fn repeated_keys_are_laid_over_as_the_type_says() {
    let cases = [
        (
            "core.v1.ConfigMap",
            r#"{"metadata": {"name": "a", "labels": {"x": "1", "y": "1"}, "finalizers": ["f"]}, "data": {"k": "1"},
                "metadata": {"labels": {"y": "2"}, "finalizers": ["g"]}, "data": {"l": "2"}}"#,
            json!({"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}, "finalizers": ["g"]},
                "data": {"k": "1", "l": "2"}}),
        ),
        (
            "apiextensions.v1.JSONSchemaProps",
            r#"{"properties": {"a": {"type": "string", "title": "A"}, "a": {"type": "object"}}}"#,
            json!({"properties": {"a": {"type": "object"}}}),
        ),
        (
            "apiextensions.v1.JSONSchemaProps",
            r#"{"properties": {"a": {"title": "A"}, "b": {}}, "properties": {"a": {"type": "object"}}}"#,
            json!({"properties": {"a": {"type": "object"}, "b": {}}}),
        ),
        (
            "apiextensions.v1.JSONSchemaProps",
            r#"{"default": {"a": 1}, "not": {"title": "N"}, "items": {"title": "I"},
                "default": {"b": 1}, "not": {"type": "object"}, "items": {"type": "object"}}"#,
            json!({"default": {"b": 1}, "not": {"title": "N", "type": "object"}, "items": {"type": "object"}}),
        ),
        (
            "meta.v1.ObjectMeta",
            r#"{"generation": 18446744073709551615, "none": 18446744073709551615}"#,
            json!({"generation": u64::MAX, "none": 18_446_744_073_709_551_615.0}),
        ),
        (
            "meta.v1.ManagedFieldsEntry",
            r#"{"fieldsV1": {"f:a": {}}, "fieldsV1": {"f:b": {}}}"#,
            json!({"fieldsV1": {"f:b": {}}}),
        ),
    ];
    for (message, body, wanted) in cases {
        let message = crate::builtin::Message::named(message).unwrap_or_else(|| panic!("{message}"));
        assert_eq!(read(body.as_bytes(), Target::of(Some(message))).unwrap().0, wanted, "{body}");
    }
}

/// Below the limit on what is told, so that each repeat would be written to see whether it is known.
#[test]
fn repeats_under_a_long_key_are_not_all_written() {
    let key = "k".repeat(60_000);
    let begun = std::time::Instant::now();
    let (_, problems) = last(format!("{{\"{key}\": {{{}\"a\": 1}}}}", "\"a\":1,".repeat(400_000)).as_bytes()).unwrap();
    assert_eq!(problems, [format!("duplicate field \"{key}.a\"")]);
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn broken_bodies_are_told_as_upstream_tells_them() {
    let cases = [
        ("", "unexpected end of JSON input"),
        ("{\"a\":", "unexpected end of JSON input"),
        ("\"a", "unexpected end of JSON input"),
        ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
        ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
        ("nonsense", "invalid character 'o' in literal null (expecting 'u')"),
        ("truE", "invalid character 'E' in literal true (expecting 'e')"),
        ("xyz", "invalid character 'x' looking for beginning of value"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("\0", "invalid character '\\x00' looking for beginning of value"),
        ("'", "invalid character '\\'' looking for beginning of value"),
        ("{\"a\" 1}", "invalid character '1' after object key"),
        ("{\"a\" \"", "invalid character '\"' after object key"),
        ("{\"a\": 1 2}", "invalid character '2' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[01]", "invalid character '1' after array element"),
        ("{} x", "invalid character 'x' after top-level value"),
        ("\"a\nb\"", "invalid character '\\n' in string literal"),
        ("\"\\x\"", "invalid character 'x' in string escape code"),
        ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
        ("-x", "invalid character 'x' in numeric literal"),
        ("1.x", "invalid character 'x' after decimal point in numeric literal"),
        ("1e+x", "invalid character 'x' in exponent of numeric literal"),
        ("1e999", "json: cannot unmarshal number 1e999 into Go value of type float64"),
    ];
    for (body, wanted) in cases {
        assert_eq!(last(body.as_bytes()).unwrap_err(), wanted, "{body}");
    }
    assert_eq!(last(b"\xff").unwrap_err(), "invalid character 'ÿ' looking for beginning of value");
    assert_eq!(last("[".repeat(200).as_bytes()).unwrap_err(), "exceeded max depth");
}

#[test]
fn halves_of_characters_are_forgiven() {
    let cases = [
        (r#""\ud800""#, "\u{fffd}"),
        (r#""\udc00x""#, "\u{fffd}x"),
        (r#""\ud83d\ude00""#, "\u{1f600}"),
        (r#""\ud83d\u0041""#, "\u{fffd}A"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
    ];
    for (body, wanted) in cases {
        assert_eq!(last(body.as_bytes()).unwrap().0, json!(wanted), "{body}");
    }
    assert_eq!(last(b"\"a\xffb\"").unwrap().0, json!("a\u{fffd}b"));
    assert_eq!(last(b"[-0, 18446744073709551615]").unwrap().0, json!([0, 18_446_744_073_709_551_615.0]));
}

#[test]
fn keys_are_told_with_their_place() {
    let told = Cell::new(0);
    keys(br#"{"x": {"y": 1, "y": 2}}"#, &|place, key, known| {
        told.set(told.get() + usize::from(known && place.is("x.y") && key == "y"));
    });
    assert_eq!(told.get(), 1);
}

proptest! {
    #[test]
    fn reads_what_another_reader_reads(text in "[\\[\\]{}:,\"\\\\a1.e+ -]{0,24}") {
        // Go's reader takes the same texts, but for numbers too large and halves of characters.
        if let Ok(wanted) = serde_json::from_str::<Value>(&text) {
            prop_assert_eq!(last(text.as_bytes()).unwrap().0.to_string(), wanted.to_string().replace("-0.0", "0"));
        }
    }

    #[test]
    fn never_panics(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = last(&bytes);
    }
}
