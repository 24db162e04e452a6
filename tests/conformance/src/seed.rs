//! Manifests that people use, as cases: each document is created, read and applied as it stands.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use crate::corpus::{Case, File, Many, Step};

/// Cases from every YAML file of `dir` that speaks of kinds in `definitions`, or of built-in ones in `BUILT_IN`.
fn load(dir: &Path, definitions: &[Value]) -> anyhow::Result<File> {
    let entries = std::fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let parent = dir.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let mut steps = Vec::new();
        for document in text.split("\n---").map(|part| part.trim_start_matches("---")) {
            let of = |why| format!("{} of {}: {document}", why, path.display());
            steps.extend(self::steps(document, definitions).with_context(|| of("cannot use a document"))?);
        }
        if !steps.is_empty() {
            let name = format!("{parent}-{}", stem.to_ascii_lowercase().replace(['_', '.'], "-"));
            cases.push(Case { name: name.chars().take(60).collect(), vars: BTreeMap::new(), steps });
        }
    }
    Ok(File { setup: Vec::new(), vars: BTreeMap::new(), cases })
}

/// The cases of every manifest in the test data `data` that applies as it stands.
///
/// # Errors
/// When a file cannot be read, or a document is no object of a kind that is known or knowingly left out.
pub fn all(data: &Path, definitions: &[Value]) -> anyhow::Result<Vec<File>> {
    FOLDERS.iter().map(|folder| load(&data.join(folder), definitions)).collect()
}

/// Folders of manifests without variables to fill in.
const FOLDERS: &[&str] =
    &["manifests/seed", "manifests/bmo/config/samples", "manifests/bmo/examples", "manifests/ipam/ippool"];

/// Documents that are left out, by version and kind, each with why.
const LEFT_OUT: &[(&str, &str, &str)] = &[
    ("kustomize.config.k8s.io/v1beta1", "Kustomization", "for a tool, not for a server"),
    ("machine.openshift.io/v1beta1", "Machine", "a kind that neither server has"),
    ("v1", "Namespace", "its name is a variable"),
];

fn steps(document: &str, definitions: &[Value]) -> anyhow::Result<Vec<Step>> {
    if document.lines().all(|line| line.trim().is_empty() || line.starts_with('#')) {
        return Ok(Vec::new());
    }
    let object: Value = crate::yaml::parse(document)?;
    let text = |pointer: &str| {
        let found = object.pointer(pointer).and_then(Value::as_str);
        found.with_context(|| format!("there is no text at {pointer}"))
    };
    let (api_version, kind) = (text("/apiVersion")?, text("/kind")?);
    if LEFT_OUT.iter().any(|(version, left_out, _)| (*version, *left_out) == (api_version, kind)) {
        return Ok(Vec::new());
    }
    let name = text("/metadata/name")?;
    let collection = collection(api_version, kind, definitions);
    let collection = collection.with_context(|| format!("no definition of {kind} in {api_version}"))?;
    // where a document names its namespace, the case's takes its place
    let lines = document.lines().filter(|line| !line.starts_with("  namespace:")).collect::<Vec<_>>().join("\n");
    let step = |request: String, content_type: &str, raw: Option<&str>| Step {
        request: Some(Many::One(request)),
        content_type: raw.map(|_| content_type.to_owned()),
        raw: raw.map(|raw| Many::One(raw.to_owned())),
        ..Step::default()
    };
    Ok(vec![
        step(format!("POST {collection}?fieldValidation=Strict"), "application/yaml", Some(&lines)),
        step(format!("POST {collection}"), "application/yaml", Some(&lines)),
        step(format!("GET {collection}/{name}"), "", None),
        step(
            format!("PATCH {collection}/{name}?fieldManager=seed&force=true"),
            "application/apply-patch+yaml",
            Some(&lines),
        ),
    ])
}

/// Where objects of a kind live in the case's namespace.
fn collection(api_version: &str, kind: &str, definitions: &[Value]) -> Option<String> {
    if let ("v1", Some(plural)) =
        (api_version, BUILT_IN.iter().find(|(known, _)| *known == kind).map(|(_, plural)| plural))
    {
        return Some(format!("/api/v1/namespaces/${{ns}}/{plural}"));
    }
    let (group, _) = api_version.split_once('/')?;
    let definition = definitions.iter().find(|definition| {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        text("/spec/group") == Some(group) && text("/spec/names/kind") == Some(kind)
    })?;
    let plural = definition.pointer("/spec/names/plural").and_then(Value::as_str)?;
    Some(match definition.pointer("/spec/scope").and_then(Value::as_str) {
        Some("Cluster") => format!("/apis/{api_version}/{plural}"),
        _ => format!("/apis/{api_version}/namespaces/${{ns}}/{plural}"),
    })
}

/// The built-in kinds in people's manifests.
const BUILT_IN: &[(&str, &str)] = &[("Secret", "secrets"), ("ConfigMap", "configmaps")];
