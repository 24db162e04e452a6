//! The corpus as data: files of named cases, each a sequence of requests. This room reads them and spells out the
//! short forms; it sends nothing.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

/// One file of the corpus.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Objects (mostly CustomResourceDefinitions) that must be there before any case runs.
    #[serde(default)]
    pub setup: Vec<Value>,
    /// Abbreviations for all the cases.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// A sequence of requests that needs nothing of other cases.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique in the corpus; also the name of the case's namespace, `${ns}`.
    pub name: String,
    /// Abbreviations, besides the file's.
    #[serde(default)]
    pub vars: BTreeMap<String, String>,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// One value or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Many {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

impl Many {
    fn all(&self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::More(more) => more.clone(),
        }
    }
}

/// One request, or, with several targets or bodies, one for each of them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `METHOD target`, the target as it goes on the wire.
    #[serde(rename = "do")]
    pub request: Option<Many>,
    /// A watch: its target. Events are read until `until` says so.
    pub watch: Option<String>,
    /// Begins the watch of this step under a name and goes on; `collect` reads its events later.
    pub start: Option<String>,
    /// Reads the events of a watch begun earlier.
    pub collect: Option<String>,
    /// When enough events have been seen.
    pub until: Option<Until>,
    /// Whether periodic bookmarks count; they come when the server likes, so by default only the one that ends the
    /// initial events does.
    #[serde(default)]
    pub bookmarks: bool,
    /// More headers. An empty value takes a default one away.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Short for the header `Content-Type`.
    #[serde(rename = "type")]
    pub content_type: Option<String>,
    /// Short for the header `Accept`.
    pub accept: Option<String>,
    /// A body, sent as JSON.
    pub body: Option<Value>,
    /// Several bodies: a request for each.
    #[serde(default)]
    pub bodies: Vec<Value>,
    /// A body, sent as it stands.
    pub raw: Option<Many>,
    /// A body in base64.
    pub base64: Option<String>,
    /// Grows a string of the body.
    pub pad: Option<Pad>,
    /// Variables set from the answer: name to JSON pointer.
    #[serde(default)]
    pub capture: BTreeMap<String, String>,
    /// Captured variables whose values differ between servers and are shown by name (generated names).
    #[serde(default)]
    pub hide: Vec<String>,
    /// Repeats the request until the answer is so.
    pub eventually: Option<Expected>,
    /// What of the answer is compared: JSON pointers, in which a part `key=value` finds an element of a list.
    #[serde(default)]
    pub only: Vec<String>,
    /// Parts of the answer that are not compared.
    #[serde(default)]
    pub without: Vec<String>,
    /// Without the administrator's certificate.
    #[serde(default)]
    pub anonymous: bool,
}

/// When a watch has shown enough.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum Until {
    /// So many events.
    Count(usize),
    /// An event of a type, on an object of a name when given.
    Event {
        /// `ADDED` and so on.
        r#type: String,
        /// The object's name.
        name: Option<String>,
    },
    /// The server has ended the stream.
    End,
}

/// A string to be made long.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pad {
    /// Where.
    pub at: String,
    /// How long, in bytes.
    pub bytes: usize,
}

/// What an answer must be like, for things that take a moment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The status code.
    pub status: Option<u16>,
    /// A JSON pointer (with `key=value` parts) into the body.
    pub at: Option<String>,
    /// What is there; nothing when left out.
    pub is: Option<Value>,
    /// Whether anything at all is there, instead of `is`.
    pub present: Option<bool>,
}

impl Step {
    /// The single requests this step stands for.
    #[must_use]
    pub fn spread(&self) -> Vec<Self> {
        let targets =
            self.request.as_ref().map_or_else(|| vec![None], |many| many.all().into_iter().map(Some).collect());
        let mut spread = Vec::new();
        for target in targets {
            let one = Self { request: target.map(Many::One), bodies: Vec::new(), ..self.clone() };
            let raws = self.raw.as_ref().map(Many::all).unwrap_or_default();
            if self.bodies.is_empty() && raws.is_empty() {
                spread.push(one.clone());
            }
            spread.extend(self.bodies.iter().map(|body| Self { body: Some(body.clone()), ..one.clone() }));
            spread.extend(raws.into_iter().map(|raw| Self { raw: Some(Many::One(raw)), ..one.clone() }));
        }
        spread
    }

    /// The body as it stands, when given so.
    #[must_use]
    pub fn raw_body(&self) -> Option<&str> {
        match &self.raw {
            Some(Many::One(raw)) => Some(raw),
            _ => None,
        }
    }
}

/// Reads every `*.yaml` of a directory, in the order of their names.
///
/// # Errors
/// When a file cannot be read or does not fit, or two cases have the same name.
pub fn load(dir: &Path) -> anyhow::Result<Vec<File>> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read the corpus in {}", dir.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut files = Vec::new();
    let mut seen = HashSet::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let file: File = crate::yaml::parse(&text).with_context(|| format!("cannot use {}", path.display()))?;
        for case in &file.cases {
            let fits = case.name.len() <= 60
                && case.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
            ensure!(fits, "{}: the case {:?} cannot name a namespace", path.display(), case.name);
            if !seen.insert(case.name.clone()) {
                bail!("{}: there are two cases {:?}", path.display(), case.name);
            }
        }
        files.push(file);
    }
    ensure!(!files.is_empty(), "no corpus in {}", dir.display());
    Ok(files)
}
