//! Tables with a row for each case: a column with the same value in all rows becomes a line above the table.

use crate::text::Grid;

impl Grid {
    /// The columns that have one value in all rows, with the value: `Each: runs 10, complete 3 of 3.` Empty if there are none.
    pub fn constants(&self) -> String {
        let found: Vec<String> = self
            .constant_columns()
            .into_iter()
            .filter_map(|at| {
                Some(format!("{} {}", self.header.get(at)?, self.rows.first()?.get(at)?))
            })
            .collect();
        if found.is_empty() { String::new() } else { format!("Each: {}.", found.join(", ")) }
    }

    /// The table without the columns of [`Grid::constants`].
    pub fn varying(&self) -> Self {
        let constant = self.constant_columns();
        let kept = |row: &Vec<String>| -> Vec<String> {
            let cells = row.iter().enumerate().filter(|(at, _)| !constant.contains(at));
            cells.map(|(_, cell)| cell.clone()).collect()
        };
        Self { header: kept(&self.header), rows: self.rows.iter().map(kept).collect() }
    }

    /// Columns after the first that have the same text in each of several rows.
    fn constant_columns(&self) -> Vec<usize> {
        let [first, others @ ..] = &self.rows[..] else { return Vec::new() };
        if others.is_empty() {
            return Vec::new();
        }
        let is_constant = |at: &usize| {
            let value = first.get(*at);
            value.is_some_and(|value| !value.is_empty())
                && others.iter().all(|row| row.get(*at) == value)
        };
        (1..self.header.len()).filter(is_constant).collect()
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn grid(rows: &[&[&str]]) -> Grid {
        let owned = |row: &[&str]| row.iter().map(|cell| (*cell).to_owned()).collect();
        Grid {
            header: owned(&["arm", "mean", "runs"]),
            rows: rows.iter().map(|row| owned(row)).collect(),
        }
    }

    #[test]
    fn a_column_that_never_varies_is_named_once() {
        let table = grid(&[&["ATCP", "4.1", "10"], &["no aid", "5.0", "10"]]);
        assert_eq!(table.constants(), "Each: runs 10.");
        let varying = table.varying();
        assert_eq!(varying.header, ["arm", "mean"]);
        assert_eq!(varying.rows, [["ATCP", "4.1"], ["no aid", "5.0"]]);
    }

    #[test]
    fn names_single_rows_and_columns_that_vary_stay() {
        for table in [
            grid(&[&["ATCP", "4.1", "10"]]),
            grid(&[&["ATCP", "4.1", "10"], &["ATCP", "5.0", "9"]]),
            grid(&[&["ATCP", "4.1", ""], &["ATCP", "5.0", ""]]),
            grid(&[]),
        ] {
            assert_eq!(table.constants(), "");
            assert_eq!(table.varying(), table);
        }
    }
}
