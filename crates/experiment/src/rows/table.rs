//! A table of columns.

/// A table with the name of its files.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// `runs`, `flows` or `steps`.
    pub name: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Letters, digits and underscores, ending with the unit.
    pub name: String,
    /// One value for each row.
    pub values: Values,
}

/// The values of a column; `None` where there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Real numbers.
    Float(Vec<Option<f64>>),
}

impl Table {
    pub(super) fn new(name: &'static str, columns: Vec<Column>) -> Self {
        let table = Self { name, columns };
        debug_assert!(table.columns.iter().all(|column| column.len() == table.rows()));
        table
    }

    /// The column of this name; `None`: there is none, or no row has a value in it.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, Column::len)
    }
}

impl Column {
    pub(super) fn new(name: &str, values: Values) -> Self {
        Self { name: name.to_owned(), values }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match &self.values {
            Values::Text(values) => values.len(),
            Values::Int(values) => values.len(),
            Values::Float(values) => values.len(),
        }
    }

    /// Returns whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether no row has a value; with `zero`, values of zero do not count.
    pub(super) fn is_blank(&self, zero: bool) -> bool {
        match &self.values {
            Values::Text(values) => values.iter().all(Option::is_none),
            Values::Int(values) => values.iter().all(|value| value.is_none_or(|n| zero && n == 0)),
            Values::Float(values) => values.iter().all(Option::is_none),
        }
    }

    /// A cell as CSV: empty where there is no value.
    pub(super) fn cell(&self, row: usize) -> String {
        let there = match &self.values {
            Values::Text(values) => values[row].clone(),
            Values::Int(values) => values[row].map(|value| value.to_string()),
            Values::Float(values) => values[row].map(|value| value.to_string()),
        };
        there.unwrap_or_default()
    }
}

/// A name with all characters but letters and digits replaced, which no tool needs to quote.
pub fn column_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
