//! Plain tables: a line of groups, a line of headings, rows, all aligned.

use unicode_width::UnicodeWidthStr;

/// A table in the making.
#[derive(Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    group: &'static str,
    heading: &'static str,
    left: bool,
    cells: Vec<String>,
}

/// What stands where there is nothing.
const NOTHING: &str = "–";

impl Table {
    /// Adds a column of texts. Neighbours with the same group share its heading.
    pub(crate) fn texts(
        &mut self,
        group: &'static str,
        heading: &'static str,
        cells: impl IntoIterator<Item = String>,
    ) {
        self.push(group, heading, true, cells.into_iter().collect());
    }

    /// Adds a column of numbers with so many decimals. A column without any
    /// number is left out.
    pub(crate) fn numbers(
        &mut self,
        group: &'static str,
        heading: &'static str,
        decimals: usize,
        cells: impl IntoIterator<Item = Option<f64>>,
    ) {
        let cells: Vec<Option<f64>> = cells.into_iter().collect();
        if cells.iter().any(Option::is_some) {
            let cell = |cell: &Option<f64>| match cell {
                Some(number) => format!("{number:.decimals$}"),
                None => NOTHING.into(),
            };
            self.push(group, heading, false, cells.iter().map(cell).collect());
        }
    }

    fn push(&mut self, group: &'static str, heading: &'static str, left: bool, cells: Vec<String>) {
        self.rows = self.rows.max(cells.len());
        self.columns.push(Column {
            group,
            heading,
            left,
            cells,
        });
    }

    /// The table as text.
    pub(crate) fn text(&self) -> String {
        let mut widths: Vec<usize> = self.columns.iter().map(Column::width).collect();
        // A group's heading may be wider than its columns.
        for group in self.groups() {
            let own: usize = widths[group.clone()].iter().sum();
            let gaps = 2 * (group.len() - 1);
            let wanted = self.columns[group.start].group.width();
            if let Some(more) = wanted.checked_sub(own + gaps) {
                widths[group.end - 1] += more;
            }
        }
        let mut text = String::new();
        if self.columns.iter().any(|column| !column.group.is_empty()) {
            let heading = |group: std::ops::Range<usize>| {
                let width = widths[group.clone()].iter().sum::<usize>() + 2 * (group.len() - 1);
                let column = &self.columns[group.start];
                pad(column.group, width, column.left || group.len() > 1)
            };
            push_line(&mut text, self.groups().map(heading));
        }
        let columns = || self.columns.iter().zip(&widths);
        if self.columns.iter().any(|column| !column.heading.is_empty()) {
            let heading = |(it, width): (&Column, &usize)| pad(it.heading, *width, it.left);
            push_line(&mut text, columns().map(heading));
        }
        for row in 0..self.rows {
            let cell = |(it, width): (&Column, &usize)| {
                let cell = it.cells.get(row).map_or("", String::as_str);
                pad(cell, *width, it.left)
            };
            push_line(&mut text, columns().map(cell));
        }
        text
    }

    /// Neighbouring columns of one group.
    fn groups(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            match groups.last_mut() {
                Some(last)
                    if !column.group.is_empty()
                        && self.columns[last.start].group == column.group =>
                {
                    last.end = place + 1;
                }
                _ => groups.push(place..place + 1),
            }
        }
        groups.into_iter()
    }
}

impl Column {
    fn width(&self) -> usize {
        let cells = self.cells.iter().map(|cell| cell.width());
        cells.chain([self.heading.width()]).max().unwrap_or(0)
    }
}

fn pad(text: &str, width: usize, left: bool) -> String {
    let blanks = " ".repeat(width.saturating_sub(text.width()));
    if left {
        format!("{text}{blanks}")
    } else {
        format!("{blanks}{text}")
    }
}

fn push_line(text: &mut String, cells: impl Iterator<Item = String>) {
    let line = cells.collect::<Vec<_>>().join("  ");
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_span_their_columns_and_empty_columns_vanish() {
        let mut table = Table::default();
        table.texts("", "flow", ["game".into(), "γ".into()]);
        table.numbers("one-way delay, ms", "p50", 1, [Some(20.04), None]);
        table.numbers("one-way delay, ms", "p95", 1, [Some(123.0), Some(9.99)]);
        table.numbers("", "freezes", 0, [None, None]);
        table.numbers("loss, %", "all", 2, [Some(0.0), Some(1.0)]);
        let expected = [
            "      one-way delay, ms  loss, %",
            "flow   p50          p95      all",
            "game  20.0        123.0     0.00",
            "γ        –         10.0     1.00",
            "",
        ];
        assert_eq!(table.text(), expected.join("\n"));
    }
}
