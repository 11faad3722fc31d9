//! CSV output of a table (RFC 4180).

use std::io::Write;

use super::table::Table;

impl Table {
    /// Writes the table as CSV: a header, then one line per row, empty where there is no value.
    ///
    /// # Errors
    ///
    /// Any error of `out`.
    pub fn write_csv(&self, out: impl Write) -> Result<(), csv::Error> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in 0..self.rows() {
            out.write_record(self.columns.iter().map(|column| column.cell(row)))?;
        }
        Ok(out.flush()?)
    }
}
