//! The problems of a body in the order in which a reader comes upon them, which is the body's own.

use std::cell::RefCell;

use super::json;

/// Longer texts are left as they are: a body could be made of paths that all look alike.
const LONGEST: usize = 4096;

/// Sorts problems (`unknown field "…"`, `duplicate field "…"`) by where they are in a JSON text.
pub(crate) fn in_order(bytes: &[u8], problems: Vec<String>) -> Vec<String> {
    if problems.len() < 2 || problems.iter().map(String::len).sum::<usize>() > LONGEST {
        return problems;
    }
    let found = RefCell::new(Vec::new());
    let watched: Vec<Option<(bool, &str)>> = problems.iter().map(|problem| place_of(problem)).collect();
    json::keys(bytes, &|place, _, repeated| {
        for (at, _) in watched
            .iter()
            .enumerate()
            .filter(|(_, watched)| watched.is_some_and(|(of_repeated, path)| of_repeated == repeated && place.is(path)))
        {
            let mut found = found.borrow_mut();
            if !found.contains(&at) {
                found.push(at);
            }
        }
    });
    let mut sorted = found.into_inner();
    sorted.extend((0..problems.len()).filter(|at| !sorted.contains(at)).collect::<Vec<_>>());
    sorted.into_iter().filter_map(|at| problems.get(at).cloned()).collect()
}

/// The place that a problem is about, and whether it is about a key's second value there.
fn place_of(problem: &str) -> Option<(bool, &str)> {
    let repeated = problem.starts_with("duplicate");
    let (_, quoted) = problem.split_once(" field \"")?;
    Some((repeated, quoted.strip_suffix('"')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_as_they_stand() {
        let body = br#"{"dota": {}, "metadata": {"nome": 1, "name": 2, "name": 3}, "x": [{"y": 1}], "dota": 1}"#;
        let problems = [
            "duplicate field \"dota\"",
            "duplicate field \"metadata.name\"",
            "unknown field \"metadata.nome\"",
            "unknown field \"x[0].y\"",
            "unknown field \"dota\"",
            "something else",
        ];
        let sorted = in_order(body, problems.map(str::to_owned).to_vec());
        assert_eq!(
            sorted,
            [
                "unknown field \"dota\"",
                "unknown field \"metadata.nome\"",
                "duplicate field \"metadata.name\"",
                "unknown field \"x[0].y\"",
                "duplicate field \"dota\"",
                "something else",
            ]
        );
    }
}
