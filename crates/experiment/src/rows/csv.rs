//! A table as CSV (RFC 4180).

use std::io::Write;

use super::table::Table;

impl Table {
    /// Writes it as CSV: a header, then a row a line, empty where there is no value.
    ///
    /// # Errors
    /// What `out` refuses.
    pub fn write_csv(&self, out: impl Write) -> Result<(), csv::Error> {
        let mut out = csv::Writer::from_writer(out);
        out.write_record(self.columns.iter().map(|column| &column.name))?;
        for row in 0..self.rows() {
            out.write_record(self.columns.iter().map(|column| column.cell(row)))?;
        }
        Ok(out.flush()?)
    }
}
