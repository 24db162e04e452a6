//! Taking out of a text what differs between two runs of the same server: times, numbers, names made up.

use std::path::Path;

use anyhow::Result;
use regex::Regex;

/// Pattern and what stands for it, in order of use.
const RULES: [(&str, &str); 19] = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d{4}| ?Z|[+-]\d\d:\d\d)?( UTC)?", "TIME"),
    // kubectl's own log lines
    (r"(?m)^([IWE])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [a-z_]+\.go:\d+\]", "$1 LOG]"),
    // of `describe`
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
    (r#"(resourceVersion"?: ?"?)\d+"#, "${1}RV"),
    (r"(Resource Version: +)\d+", "${1}RV"),
    (r"https?://(127\.0\.0\.1|localhost):\d+", "https://SERVER"),
    (r"\b127\.0\.0\.1:\d+", "SERVER"),
    (r"(LIVE|MERGED)-\d+", "$1-N"),
    (r"X509SHA256=[0-9a-f]+", "X509SHA256=HASH"),
    // each server's own name for its administrator
    (r"\b(kubernetes|bessemer)-admin\b", "ADMIN"),
    (r"kubectl-edit-\d+", "kubectl-edit-N"),
    // an event's name
    (r"\.[0-9a-f]{14,16}\b", ".EVENT"),
    // a generated name
    (r"\b(generated-)[a-z0-9]{5}\b", "${1}RANDOM"),
    // how long ago: the last column, or one between others
    (r"(?m)(  +)(\d+[smhd]){1,2}( ago)?( \(x\d+ over (\d+[smhd])+\))?(  |$)", "${1}AGE$6"),
    (r"(?m)^(\d+[smhd]){1,2}(  |$)", "AGE$2"),
    (r"<invalid>( ago)?", "AGE"),
    (r"\b(\d+[smhd]){1,2} ago\b", "AGE ago"),
    // columns are as wide as what they hold
    (r"([^ \n])  +", "$1  "),
];

/// The rules of one session.
#[derive(Debug)]
pub(crate) struct Normaliser {
    home: String,
    rules: Vec<(Regex, &'static str)>,
}

impl Normaliser {
    pub(crate) fn new(home: &Path) -> Result<Self> {
        let rules: Result<_, regex::Error> =
            RULES.iter().map(|(pattern, replacement)| Ok((Regex::new(pattern)?, *replacement))).collect();
        Ok(Self { home: home.display().to_string(), rules: rules? })
    }

    pub(crate) fn normalise(&self, text: &str) -> String {
        let mut text = text.replace(&self.home, "HOME");
        for (rule, replacement) in &self.rules {
            text = rule.replace_all(&text, *replacement).into_owned();
        }
        sorted_causes(&text.split('\n').map(sorted_members).collect::<Vec<_>>().join("\n"))
    }
}

/// The members of a JSON object have no order.
fn sorted_members(line: &str) -> String {
    let object = line.starts_with('{').then(|| serde_json::from_str::<serde_json::Value>(line).ok()).flatten();
    object.map_or_else(|| line.to_owned(), |object| object.to_string())
}

/// A server finds what is wrong with an object in the order of its hash tables.
fn sorted_causes(text: &str) -> String {
    let mut lines: Vec<&str> = text.split('\n').collect();
    // of validation, and of merging
    for mark in ["* ", "  ."] {
        for causes in lines.chunk_by_mut(|one, other| one.starts_with(mark) && other.starts_with(mark)) {
            causes.sort_unstable();
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_from_run_to_run_goes() {
        let normaliser = Normaliser::new(Path::new("/tmp/x")).unwrap();
        let cases = [
            ("uid: 0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9", "uid: UID"),
            ("  creationTimestamp: \"2026-11-30T13:16:01Z\"", "  creationTimestamp: \"TIME\""),
            ("  resourceVersion: \"123\"", "  resourceVersion: \"RV\""),
            ("{\"resourceVersion\":\"123\"}", "{\"resourceVersion\":\"RV\"}"),
            ("Creation Timestamp:  2026-11-30T13:16:01Z", "Creation Timestamp:  TIME"),
            ("NAME   AGE\none    5s\n", "NAME  AGE\none  AGE\n"),
            ("one    2m3s    x", "one  AGE  x"),
            ("one    5s (x2 over 6s)   host/one", "one  AGE  host/one"),
            ("--- /tmp/LIVE-381/v1.cm\t2026-11-30 13:16:01.123456789 +0000", "--- /tmp/LIVE-N/v1.cm\tTIME"),
            ("wrote /tmp/x/file", "wrote HOME/file"),
            ("server: https://127.0.0.1:41234", "server: https://SERVER"),
            ("332d   Normal   x", "AGE  Normal  x"),
            ("    replicas: 3", "    replicas: 3"),
            ("{\"b\":1,\"a\":[2,1]}\n", "{\"a\":[2,1],\"b\":1}\n"),
            ("is invalid: \n* b\n* a\nend", "is invalid: \n* a\n* b\nend"),
        ];
        for (text, expected) in cases {
            assert_eq!(normaliser.normalise(text), expected);
        }
    }
}
