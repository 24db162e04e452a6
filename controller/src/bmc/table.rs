//! Columns of words.

/// What stands where a BMC tells nothing.
const NOTHING: &str = "-";

/// Rows under a heading, as kubectl has them.
pub(super) struct Table<const COLUMNS: usize> {
    rows: Vec<[String; COLUMNS]>,
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    pub(super) fn new(heading: [&str; COLUMNS]) -> Self {
        Self { rows: vec![heading.map(str::to_owned)] }
    }

    pub(super) fn row(&mut self, cells: [Option<String>; COLUMNS]) {
        // a BMC's words must not break the lines or reach the terminal as commands
        self.rows.push(
            cells.map(|cell| {
                cell.map(|cell| plain(&cell)).filter(|cell| !cell.is_empty()).unwrap_or(NOTHING.to_owned())
            }),
        );
    }

    pub(super) fn render(&self) -> String {
        let width = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
        let line = |row: &[String; COLUMNS]| {
            let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            format!("{}\n", cells.join("   ").trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// `name   value` for each value there is.
pub(super) fn facts(facts: &[(&str, Option<String>)]) -> String {
    let told: Vec<(&str, String)> =
        facts.iter().filter_map(|(name, value)| Some((*name, plain(value.as_deref()?)))).collect();
    let width = told.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    told.iter().map(|(name, value)| format!("{name:<width$}   {value}\n")).collect()
}

/// Text of a BMC's in one line, without what a terminal would take for commands.
pub(super) fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|sign| !sign.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let mut table = Table::new(["NAME", "READING"]);
        table.row([Some("CPU 1 \x1b[31mhot".to_owned()), Some("45".to_owned())]);
        table.row([Some("FAN\n2".to_owned()), None]);
        assert_eq!(table.render(), "NAME            READING\nCPU 1 [31mhot   45\nFAN 2           -\n");
    }

    #[test]
    fn facts_that_are_not_told_are_left_out() {
        let said = facts(&[
            ("vendor", Some("Dell Inc.".to_owned())),
            ("serial number", None),
            ("model", Some("R750".to_owned())),
        ]);
        assert_eq!(said, "vendor   Dell Inc.\nmodel    R750\n");
    }
}
