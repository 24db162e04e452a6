//! Reading the body of a write: JSON or YAML into one value, with what a strict reader would refuse in it, all in the
//! words of upstream's readers. Of kinds it knows only how their types are laid out.

mod json;
mod order;
mod place;
mod target;
mod yaml;

use serde_json::Value;

use crate::builtin::Message;

pub(crate) use order::in_order;
use target::Target;

/// A body, and what a strict reader would refuse in it: keys that are there more than once.
pub(crate) type Body = (Value, Vec<String>);

/// What begins a list of repeated keys in YAML.
const YAML_PROBLEMS: &str = "yaml: unmarshal errors:\n";

/// Reads JSON; the last of several keys counts. The problem is told in the words of upstream's reader.
pub(crate) fn json(bytes: &[u8]) -> Result<Body, String> {
    json::read(bytes, Target::Whole)
}

/// As [`json()`], for a body that becomes an object of a kind which is a type to upstream.
/// Objects are laid over one another where Go's reader does that as it fills in the type.
pub(crate) fn typed_json(bytes: &[u8], message: Option<&'static Message>) -> Result<Body, String> {
    json::read(bytes, Target::of(message))
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
        let told = yaml_problems(&yaml::repeated(&text));
        // JSON that upstream's reader of YAML takes may stop ours short: better other words than none.
        return Ok((value, if told.is_empty() { problems } else { told }));
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
        // A tab, at which the scanner gives up.
        let (value, problems) = yaml(b"{\n\t\"a\": 1,\n\t\"a\": 2}").unwrap();
        assert_eq!(value, json!({"a": 2}));
        assert_eq!(problems.len(), 1, "{problems:?}");
        let (_, problems) = yaml_object(b"a: 1\na: 2\nb: 1\nb: 2\n").unwrap();
        assert_eq!(
            warnings(&problems[0]),
            ["line 2: key \"a\" already set in map", "line 4: key \"b\" already set in map"]
        );
        assert_eq!(warnings("duplicate field \"a\""), ["duplicate field \"a\""]);
    }
}
