//! Reading the body of a write: JSON or YAML into one value, with what a strict reader would refuse in it, all in the
//! words of upstream's readers. Knows nothing of kinds.

mod json;
mod order;
mod place;
mod yaml;

use serde_json::Value;

pub(crate) use order::in_order;

/// A body, and what a strict reader would refuse in it: keys that are there more than once.
pub(crate) type Body = (Value, Vec<String>);

/// What becomes of a key that an object has more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// The last one counts.
    Last,
    /// Objects are laid over one another, as Go's reader does it when it fills in a type.
    Merged,
}

/// What begins a list of repeated keys in YAML.
const YAML_PROBLEMS: &str = "yaml: unmarshal errors:\n";

/// Reads JSON; the last of several keys counts. The problem is told in the words of upstream's reader.
pub(crate) fn json(bytes: &[u8]) -> Result<Body, String> {
    json::read(bytes, Repeated::Last)
}

/// As [`json()`], for a body that becomes an object of a kind which is a type to upstream.
pub(crate) fn typed_json(bytes: &[u8]) -> Result<Body, String> {
    json::read(bytes, Repeated::Merged)
}

/// Reads YAML, of which JSON is a part: JSON readers are fast, so they are asked first.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Body, String> {
    if bytes.first() == Some(&b'{')
        && let Ok((value, problems)) = json(bytes)
    {
        if problems.is_empty() {
            return Ok((value, problems));
        }
        let text = String::from_utf8_lossy(bytes);
        return Ok((value, yaml_problems(&yaml::repeated(&text))));
    }
    yaml::read(bytes).map(|(value, repeated)| (value, yaml_problems(&repeated)))
}

/// All repeated keys are one problem to upstream's reader of YAML.
fn yaml_problems(repeated: &[String]) -> Vec<String> {
    if repeated.is_empty() { Vec::new() } else { vec![format!("{YAML_PROBLEMS}  {}", repeated.join("\n  "))] }
}

/// A problem as warnings: one for each line that is about something.
pub(crate) fn warnings(problem: &str) -> Vec<String> {
    let lines = problem.strip_prefix("error converting YAML to JSON: ").unwrap_or(problem);
    match lines.strip_prefix(YAML_PROBLEMS) {
        Some(lines) => lines.split('\n').map(|line| line.trim().to_owned()).collect(),
        None => vec![problem.to_owned()],
    }
}

/// As [`yaml()`], for a body that must be one object.
pub(crate) fn yaml_object(bytes: &[u8]) -> Result<Body, String> {
    let (value, problems) = yaml(bytes).map_err(|why| format!("error converting YAML to JSON: {why}"))?;
    let found = match &value {
        Value::Object(_) | Value::Null => {
            let told = problems.iter().map(|problem| format!("error converting YAML to JSON: {problem}"));
            return Ok((value, told.collect()));
        }
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    let why = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
    Err(format!("error unmarshaling JSON: while decoding JSON: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_in_yaml_is_told_of_as_yaml() {
        let (value, problems) = yaml(b"{\"a\": 1,\n\"a\": 2}").unwrap();
        assert_eq!(value, json!({"a": 2}));
        assert_eq!(problems, ["yaml: unmarshal errors:\n  line 2: key \"a\" already set in map"]);
        let (_, problems) = yaml_object(b"a: 1\na: 2\nb: 1\nb: 2\n").unwrap();
        assert_eq!(
            warnings(&problems[0]),
            ["line 2: key \"a\" already set in map", "line 4: key \"b\" already set in map"]
        );
        assert_eq!(warnings("duplicate field \"a\""), ["duplicate field \"a\""]);
    }
}
