//! `## template: jinja`, as cloud-init renders user data: blocks eat the line break after them, `ds.meta_data` and the standardised names are known,
//! every name with a hyphen or a dot also goes by underscores, and what is not defined leaves a mark that says its name.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Map, Value as Json, json};

/// What stands for something undefined, before its name. cloud-init's.
pub const MISSING: &str = "CI_MISSING_JINJA_VAR/";

/// Steps a template may take. Cluster API's take a few; a loop over loops takes all there are.
const FUEL: u64 = 2_000_000;

/// Longest text that a template may become, in bytes.
const MOST_BYTES: usize = 32 << 20;

/// Why a template has no text. Names what it says, and quotes no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JinjaError {
    /// It is no template, or it asks for something that cannot be done.
    #[error("jinja template: line {line}: {what}")]
    Bad {
        /// Where, from 1, counting from after the header.
        line: usize,
        /// What, in the engine's words for kinds of mistakes.
        what: String,
    },
    /// It became too long.
    #[error("jinja template: it makes more than {MOST_BYTES} bytes")]
    TooLong,
}

/// What a template sees.
#[derive(Debug, Clone, Default)]
pub struct Variables(Map<String, Json>);

impl Variables {
    /// Of an instance with OpenStack's or `NoCloud`'s `meta_data`.
    #[must_use]
    pub fn new(meta_data: &Map<String, Json>) -> Self {
        let text = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| meta_data.get(*key)?.as_str())
                .map_or(Json::Null, |text| Json::String(text.to_owned()))
        };
        let hostname = text(&["local-hostname", "local_hostname", "hostname", "name"]);
        let short = hostname.as_str().and_then(|name| name.split('.').next()).map(str::to_owned);
        let v1 = json!({
            "instance-id": text(&["instance-id", "uuid"]),
            "local-hostname": short,
            "cloud-name": "bessemer",
            "platform": "bessemer",
            "distro": Json::Null,
            "region": Json::Null,
            "availability-zone": text(&["availability_zone", "availability-zone"]),
        });
        let mut all = Map::new();
        if let Json::Object(standard) = aliased(&v1) {
            all.extend(standard.into_iter().filter(|(_, value)| !value.is_null()));
        }
        all.insert("v1".to_owned(), aliased(&v1));
        all.insert("ds".to_owned(), json!({ "meta_data": aliased(&Json::Object(meta_data.clone())) }));
        Self(all)
    }

    /// Just these.
    pub(crate) fn plain(values: &[(&str, &str)]) -> Self {
        Self(values.iter().map(|(name, value)| ((*name).to_owned(), Json::from(*value))).collect())
    }
}

/// Every key that is no name in a template under a second one that is.
fn aliased(value: &Json) -> Json {
    match value {
        Json::Object(entries) => {
            let mut all = Map::new();
            for (key, value) in entries {
                let value = aliased(value);
                let name = key.replace(['-', '.'], "_");
                if name != *key {
                    all.entry(name).or_insert_with(|| value.clone());
                }
                all.insert(key.clone(), value);
            }
            Json::Object(all)
        }
        Json::Array(items) => items.iter().map(aliased).collect(),
        other => other.clone(),
    }
}

/// The text without its header if it has one, and whether that makes it a template.
#[must_use]
pub fn header(text: &str) -> Option<&str> {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let kind = first.trim_start_matches('#').trim();
    let is =
        first.starts_with("##") && kind.to_ascii_lowercase().strip_prefix("template:").map(str::trim) == Some("jinja");
    is.then_some(rest)
}

/// The text that `template` makes, and the names that it asked for in vain.
pub fn render(template: &str, variables: &Variables) -> Result<(String, Vec<String>), JinjaError> {
    let mut environment = Environment::new();
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).keep_trailing_newline(true).build() {
        environment.set_syntax(syntax);
    }
    environment.set_undefined_behavior(UndefinedBehavior::Chainable);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(64);
    // The engine forgets the name of what is undefined, so it is written in before.
    let marked = mark_outputs(template);
    environment.add_filter(MARK, |value: Value, name: String| {
        if value.is_undefined() { Value::from(format!("{MISSING}{name}")) } else { python_text(value) }
    });
    let bad =
        |error: &minijinja::Error| JinjaError::Bad { line: error.line().unwrap_or(1), what: error.kind().to_string() };
    let mut out = Bounded(Vec::new());
    let compiled = environment.template_from_str(&marked).map_err(|error| bad(&error))?;
    match compiled.render_captured_to(value_of(&Json::Object(variables.0.clone())), &mut out) {
        Ok(_) => {}
        Err(_) if out.0.len() > MOST_BYTES => return Err(JinjaError::TooLong),
        Err(error) => return Err(bad(&error)),
    }
    let text = String::from_utf8_lossy(&out.0).into_owned();
    let missing = text.match_indices(MISSING).filter_map(|(at, mark)| {
        let name = text.get(at + mark.len()..)?.split(|c: char| !(c.is_alphanumeric() || "_.-".contains(c))).next()?;
        Some(name.to_owned())
    });
    let mut missing: Vec<String> = missing.collect();
    missing.sort();
    missing.dedup();
    Ok((text, missing))
}

fn value_of(json: &Json) -> Value {
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::from(number),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => items.iter().map(value_of).collect(),
        Json::Object(entries) => Value::from_pairs(entries.iter().map(|(key, value)| (key.as_str(), value_of(value)))),
    }
}

/// The filter that [`mark_outputs`] puts at the end of every expression.
const MARK: &str = "bessemer_said";

/// jinja2 writes Python's words for these.
fn python_text(value: Value) -> Value {
    if value.is_none() {
        return Value::from("None");
    }
    match bool::try_from(value.clone()) {
        Ok(true) if value.kind() == minijinja::value::ValueKind::Bool => Value::from("True"),
        Ok(false) if value.kind() == minijinja::value::ValueKind::Bool => Value::from("False"),
        _ => value,
    }
}

/// Text that stops growing.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.extend_from_slice(bytes);
        if self.0.len() > MOST_BYTES { Err(std::io::Error::other("too long")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `{{ x }}` becomes `{{ (x)|mark('x') }}`. Strings inside expressions, comments and raw blocks are left as they are.
fn mark_outputs(template: &str) -> String {
    let mut marked = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        marked.push_str(before);
        let end = match from.get(1..2) {
            Some("{") => output_end(from),
            Some("#") => from.find("#}").map(|end| end + 2),
            Some("%") if is_raw(from) => ["{% endraw %}", "{%- endraw %}", "{% endraw -%}", "{%- endraw -%}"]
                .iter()
                .filter_map(|end| from.find(end))
                .min()
                .or(Some(from.len())),
            _ => None,
        };
        let Some((part, after)) = end.and_then(|end| from.split_at_checked(end)) else {
            marked.push('{');
            rest = from.get(1..).unwrap_or_default();
            continue;
        };
        match part.strip_prefix("{{").and_then(|inner| inner.strip_suffix("}}")) {
            Some(inner) => marked.push_str(&mark_one(inner)),
            None => marked.push_str(part),
        }
        rest = after;
    }
    marked + rest
}

fn is_raw(block: &str) -> bool {
    block.trim_start_matches("{%").trim_start_matches('-').trim_start().starts_with("raw")
}

/// The length of the expression at the start of `text`, quotes respected.
fn output_end(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '}' && text.get(at..at + 2) == Some("}}") => return Some(at + 2),
            None => {}
        }
    }
    None
}

fn mark_one(inner: &str) -> String {
    let (left, inner) = inner.strip_prefix('-').map_or(("", inner), |inner| ("-", inner));
    let (inner, right) = inner.strip_suffix('-').map_or((inner, ""), |inner| (inner, "-"));
    let name: String = inner
        .trim()
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    format!("{{{{{left} ({inner})|{MARK}('{name}') {right}}}}}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn variables() -> Variables {
        let meta_data = json!({
            "local-hostname": "r1-u1.example", "uuid": "i-1", "rack": "r1", "a-b": {"c.d": "x"}, "list": ["p", "q"], "yes": true, "none": null,
        });
        Variables::new(meta_data.as_object().unwrap())
    }

    #[test]
    fn what_clusters_write_is_rendered() {
        let table = [
            ("name: '{{ ds.meta_data.local_hostname }}'\n", "name: 'r1-u1.example'\n"),
            ("{{ ds.meta_data['local-hostname'] }}{{ ds.meta_data[\"rack\"] }}", "r1-u1.exampler1"),
            ("{{ local_hostname }} {{ v1.instance_id }} {{ instance_id }}", "r1-u1 i-1 i-1"),
            ("{{ ds.meta_data.a_b.c_d }}", "x"),
            ("{% if ds.meta_data.rack == 'r1' %}\nyes\n{% endif %}\nend\n", "yes\nend\n"),
            ("{% for x in ds.meta_data.list %}\n- {{ x }}\n{% endfor %}\n", "- p\n- q\n"),
            ("{# {{ not.this }} #}x{% raw %}{{ y }}{% endraw %}", "x{{ y }}"),
            ("{{ '}}' }}{{ ds.meta_data.rack | upper }}", "}}R1"),
            ("{{ ds.meta_data.yes }} {{ ds.meta_data.none }}", "True None"),
            ("{{ ds.meta_data.nope | default('d') }}", "d"),
            ("a {{- ' b ' -}} c { {", "a b c { {"),
        ];
        for (template, expected) in table {
            assert_eq!(render(template, &variables()).unwrap(), (expected.to_owned(), vec![]), "{template}");
        }
    }

    #[test]
    fn what_is_missing_is_marked_with_its_name() {
        let (text, missing) = render("a: {{ ds.meta_data.nope }}\nb: {{ zilch }}\n", &variables()).unwrap();
        assert_eq!(text, format!("a: {MISSING}nope\nb: {MISSING}zilch\n"));
        assert_eq!(missing, ["nope", "zilch"]);
    }

    #[test]
    fn only_the_first_line_makes_a_template() {
        assert_eq!(header("## template: jinja\nx"), Some("x"));
        assert_eq!(header("##template:jinja\nx"), Some("x"));
        assert_eq!(header("## template: basic\nx"), None);
        assert_eq!(header("#cloud-config\n## template: jinja\n"), None);
    }

    #[test]
    fn endless_templates_end() {
        let long = "{% for a in range(10000) %}{% for b in range(10000) %}{% for c in range(10000) %}x{% endfor %}{% endfor %}{% endfor %}";
        assert!(render(long, &variables()).is_err());
        let wide = format!("{{{{ '{}' * 10000000 }}}}", "x".repeat(1000));
        assert!(render(&wide, &variables()).is_err());
        assert!(render("{{ ", &variables()).is_err());
        assert!(render("{{ 1 / 0 }}", &variables()).is_err());
    }

    proptest! {
        #[test]
        fn hostile_templates_are_errors_and_no_panic(text in "[-{}%#|'\" a-c().\\[\\]0-9\n]{0,120}") {
            let _ = render(&text, &variables());
        }
    }
}
