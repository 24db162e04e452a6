//! The register of quirks, held to the sources: every row names tests that are there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test that fails should panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// All the ids of the requirement list, in order.
const LISTED: &[u32] = &[
    1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30, 32, 33, 34, 36, 37, 38, 40,
    41, 42, 44, 45, 46, 48, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 62, 64, 65, 66, 68, 69, 70, 72, 73, 74, 76, 77, 78,
    80, 81, 82, 84, 85, 86, 88, 89, 90, 92, 93, 94, 96, 97, 98, 100, 101, 102, 104, 105, 106, 108, 109, 110, 112, 113,
    114, 116, 117, 118, 120, 121, 122, 124, 125, 126, 128, 129, 130, 132, 133, 134, 136, 137, 138, 140, 141, 142, 144,
    145, 146, 148, 149, 150,
];

/// Fewer are never handled again.
const FLOOR: usize = 90;

/// Where the tests of each crate are.
const CRATES: &[(&str, &str)] = &[
    ("bessemer_bmc", "../bmc"),
    ("redfish_client", "../redfish-client"),
    ("ipmi_client", "../ipmi-client"),
    ("bessemer_reconcilers", "../reconcilers"),
    ("bessemer", ".."),
    ("bessemer_fake_bmc", "../../tests/fake-bmc"),
];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    id: String,
    what: String,
    who: String,
    source: String,
    #[serde(default)]
    handled: Option<String>,
    #[serde(default)]
    left: Option<String>,
    #[serde(default)]
    tests: Vec<String>,
}

/// The register's rows, with their numbers.
fn register() -> Vec<(u32, Row)> {
    let text = fs::read_to_string(here().join("quirks.yaml")).unwrap();
    let rows: Vec<Row> = serde_saphyr::from_str(&text).unwrap();
    rows.into_iter().map(|row| (row.id.strip_prefix('Q').unwrap().parse().unwrap(), row)).collect()
}

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust sources below `folder`, without what belongs to crates within.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The path that libtest gives to what stands in `file`: modules in `src`, the program's own name in `tests`.
fn module(root: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Vec<String> = below.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    parts.remove(0);
    if parts.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// Whether `text` has a test function `name` that is run.
fn has_test(text: &str, name: &str) -> bool {
    let signature = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.iter().enumerate().any(|(at, line)| {
        let is_function = line.strip_prefix("async ").unwrap_or(line).starts_with(&signature);
        let above = lines[..at].iter().rev().take_while(|line| line.starts_with("#[") || line.starts_with("//"));
        let is = |line: &&str, attributes: [&str; 2]| attributes.iter().any(|attribute| line.starts_with(attribute));
        let above: Vec<&str> = above.copied().collect();
        is_function
            && above.iter().any(|line| is(line, ["#[test]", "#[tokio::test"]))
            && !above.iter().any(|line| is(line, ["#[ignore", "#[cfg("]))
    })
}

/// The files of the crate `name`, with its folder.
fn files_of(name: &str) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let (_, folder) = CRATES.iter().find(|(known, _)| *known == name).ok_or_else(|| format!("no crate {name}"))?;
    let root = here().join(folder);
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    sources(&root.join("tests"), &mut files);
    Ok((root, files))
}

/// Whether `place` is a module of ours, or a row of the quirks; what is in brackets behind it is for people.
fn handles(place: &str) -> Result<(), String> {
    let place = place.split(" (").next().unwrap_or(place);
    if let Some(row) = place.strip_prefix("row ") {
        let (id, table) = row.split_once(" of ").ok_or("no row of a table")?;
        let (root, files) = files_of("bessemer_bmc")?;
        let mark = format!("id: \"{id}\"");
        let inside = files.iter().filter(|file| module(&root, file).join("::").starts_with("redfish::quirks"));
        let found = inside.into_iter().any(|file| fs::read_to_string(file).unwrap().contains(&mark));
        return if table == "bessemer_bmc::redfish::quirks" && found { Ok(()) } else { Err(format!("no row {id}")) };
    }
    let (of, modules) = place.split_once("::").ok_or("no crate::module")?;
    let (root, files) = files_of(of)?;
    let ours = files.iter().filter(|file| file.starts_with(root.join("src")));
    let found = ours.into_iter().any(|file| module(&root, file).join("::") == modules);
    if found { Ok(()) } else { Err(format!("no module {place}")) }
}

/// Whether `name` is a test of ours: its crate, its module, its function.
fn is_there(name: &str) -> Result<(), String> {
    let parts: Vec<&str> = name.split("::").collect();
    let [of, modules @ .., function] = parts.as_slice() else { return Err("no crate::module::function".to_owned()) };
    let (root, files) = files_of(of)?;
    let found = files.iter().any(|file| {
        let module = module(&root, file);
        let inside = modules.len().checked_sub(module.len()).map(|_| modules.split_at(module.len()));
        let Some((outside, inside)) = inside else { return false };
        let text = fs::read_to_string(file).unwrap();
        outside.iter().eq(module.iter())
            && inside.iter().all(|inside| text.contains(&format!("mod {inside} {{")))
            && has_test(&text, function)
    });
    if found { Ok(()) } else { Err(format!("no test {function} in {}", modules.join("::"))) }
}

#[test]
fn every_row_is_of_the_list_and_names_tests_that_are_there() {
    let register = register();
    let mut wrong = Vec::new();
    let mut before = 0;
    for (number, row) in &register {
        let mut complain = |problem: String| wrong.push(format!("{}: {problem}", row.id));
        if !LISTED.contains(number) {
            complain("is not in the list".to_owned());
        }
        if *number <= before {
            complain("is there twice, or out of order".to_owned());
        }
        before = *number;
        if [&row.what, &row.who, &row.source].into_iter().any(|text| text.trim().is_empty()) {
            complain("says too little".to_owned());
        }
        match (&row.handled, &row.left) {
            (Some(_), None) if row.tests.is_empty() => complain("is handled without a test".to_owned()),
            (Some(_), None) | (None, Some(_)) => {}
            _ => complain("is handled or left, one of them".to_owned()),
        }
        if let Some(Err(problem)) = row.handled.as_deref().map(handles) {
            complain(problem);
        }
        for test in &row.tests {
            if let Err(problem) = is_there(test) {
                complain(format!("{test}: {problem}"));
            }
        }
    }
    let rows: BTreeSet<u32> = register.iter().map(|(number, _)| *number).collect();
    let missing: Vec<String> =
        LISTED.iter().filter(|number| !rows.contains(number)).map(|number| format!("Q{number}")).collect();
    let handled = register.iter().filter(|(_, row)| row.handled.is_some()).count();
    let left = register.len() - handled;
    println!("handled {handled}, left {left}, missing {}: {}", missing.len(), missing.join(" "));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(missing.is_empty(), "not in the register: {}", missing.join(" "));
    assert!(handled >= FLOOR, "{handled} handled, {FLOOR} at least");
}

#[test]
fn a_place_that_handles_nothing_is_found_out() {
    handles("bessemer_bmc::redfish::boot (told, and nothing is chosen by it)").unwrap();
    handles("row Q70 of bessemer_bmc::redfish::quirks").unwrap();
    for wrong in [
        "bessemer_bmc::redfish::no_such_module",
        "row Q3 of bessemer_bmc::redfish::quirks",
        "row Q70 of elsewhere",
        "bessemer_bmc::quirks",
        "somewhere",
    ] {
        assert!(handles(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_is_not_run_is_no_test() {
    let run = [
        "#[test]\nfn t() {}",
        "#[tokio::test]\nasync fn t() {}",
        "#[tokio::test(start_paused = true)]\nasync fn t() {}",
    ];
    let not = ["fn t() {}", "#[cfg(test)]\nfn t() {}", "#[test]\n#[ignore]\nfn t() {}", "// #[test]\nfn t() {}"];
    assert!(run.iter().all(|text| has_test(text, "t")));
    assert!(!not.iter().any(|text| has_test(text, "t")));
}

#[test]
fn a_name_without_its_test_is_found_out() {
    is_there("bessemer_bmc::quirks::a_name_without_its_test_is_found_out").unwrap();
    is_there("redfish_client::etag::tests::ladders").unwrap();
    for wrong in [
        "bessemer_bmc::quirks::no_such_test",
        "bessemer_bmc::quirks::is_there",
        "redfish_client::calls::ladders",
        "no_such_crate::tests::x",
        "ladders",
    ] {
        assert!(is_there(wrong).is_err(), "{wrong}");
    }
}
