//! The lines that one text has and another has not.

/// `-` lines are only in `left`, `+` lines only in `right`, by a longest common subsequence.
pub(crate) fn diff(left: &[String], right: &[String]) -> Vec<String> {
    let (rows, columns) = (left.len() + 1, right.len() + 1);
    // longest common subsequences of the texts from there on
    let mut longest = vec![vec![0_u32; columns]; rows];
    let at =
        |table: &[Vec<u32>], i: usize, j: usize| table.get(i).and_then(|row| row.get(j)).copied().unwrap_or_default();
    for (i, one) in left.iter().enumerate().rev() {
        for (j, other) in right.iter().enumerate().rev() {
            let length = if one == other {
                at(&longest, i + 1, j + 1) + 1
            } else {
                at(&longest, i + 1, j).max(at(&longest, i, j + 1))
            };
            if let Some(cell) = longest.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = length;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (left.get(i), right.get(j)) {
            (Some(one), Some(other)) if one == other => (i, j) = (i + 1, j + 1),
            (Some(one), other) if other.is_none() || at(&longest, i + 1, j) >= at(&longest, i, j + 1) => {
                lines.push(format!("-{one}"));
                i += 1;
            }
            (_, Some(other)) => {
                lines.push(format!("+{other}"));
                j += 1;
            }
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn common_lines_are_left_out() {
        let cases = [
            ("a b c", "a b c", ""),
            ("a b c", "a x c", "-b +x"),
            ("a b", "b", "-a"),
            ("", "a b", "+a +b"),
            ("a b c d", "b d e", "-a -c +e"),
        ];
        for (left, right, expected) in cases {
            assert_eq!(diff(&lines(left), &lines(right)), lines(expected), "{left} | {right}");
        }
    }
}
