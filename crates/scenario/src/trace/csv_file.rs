//! Files of comma-separated values with a header.

use csv::{ByteRecord, Reader, ReaderBuilder, Trim};

use super::located::wrong;
use crate::error::{Error, nearest, quoted};

/// A CSV file whose header has been read.
pub(super) struct CsvFile<'a> {
    name: &'a str,
    reader: Reader<&'a [u8]>,
    record: ByteRecord,
    /// Number of the current line.
    line: usize,
    /// The columns that are known, and their places in the file.
    columns: Vec<(&'static str, Option<usize>)>,
}

impl<'a> CsvFile<'a> {
    /// Reads the header, which has all columns of `required` and any of `optional`; `help` describes
    /// the file.
    pub(super) fn open(
        name: &'a str,
        bytes: &'a [u8],
        required: &[&'static str],
        optional: &[&'static str],
        help: &str,
    ) -> Result<Self, Error> {
        // Some programs begin a file with a mark of its encoding.
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let mut reader = ReaderBuilder::new()
            .trim(Trim::All)
            .has_headers(false)
            .flexible(true)
            .from_reader(bytes);
        let mut header = ByteRecord::new();
        let is_there = reader
            .read_byte_record(&mut header)
            .map_err(|error| wrong(name, 1, &format!("this is not a CSV file: {error}"), help))?;
        if !is_there {
            return Err(wrong(name, 1, "this file is empty", help));
        }
        let line = line_of(&header, 1);
        let known = || required.iter().chain(optional).copied();
        let mut columns: Vec<(&'static str, Option<usize>)> =
            known().map(|column| (column, None)).collect();
        for (place, title) in header.iter().enumerate() {
            let title = String::from_utf8_lossy(title);
            let Some((_, found)) = columns.iter_mut().find(|(column, _)| *column == title) else {
                let near = nearest(&title, known());
                let near = near.map_or(String::new(), |near| format!("did you mean `{near}`? "));
                let message = format!("unknown column `{}`", quoted(&title));
                return Err(wrong(name, line, &message, &format!("{near}{help}")));
            };
            if found.replace(place).is_some() {
                let message = format!("the column `{title}` is there twice");
                return Err(wrong(name, line, &message, help));
            }
        }
        let missing =
            columns.iter().find(|(column, found)| found.is_none() && required.contains(column));
        if let Some((column, _)) = missing {
            return Err(wrong(name, line, &format!("the column `{column}` is missing"), help));
        }
        Ok(Self { name, reader, record: ByteRecord::new(), line, columns })
    }

    /// Returns whether the file has a column.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(known, place)| *known == column && place.is_some())
    }

    /// Reads the next row; false: there is none.
    pub(super) fn next_row(&mut self) -> Result<bool, Error> {
        let before = self.line + 1;
        let is_there = self.reader.read_byte_record(&mut self.record).map_err(|error| {
            wrong(self.name, before, &format!("this is not a CSV file: {error}"), "")
        })?;
        if is_there {
            self.line = line_of(&self.record, before);
        }
        Ok(is_there)
    }

    /// The text of a column in the current row.
    pub(super) fn text(&self, column: &str) -> Result<&str, Error> {
        let place = self.columns.iter().find(|(known, _)| *known == column);
        let value = place.and_then(|(_, place)| self.record.get((*place)?)).unwrap_or_default();
        if value.is_empty() {
            return Err(self.wrong(&format!("the value of `{column}` is missing"), ""));
        }
        str::from_utf8(value)
            .map_err(|_| self.wrong(&format!("the value of `{column}` is not text"), ""))
    }

    /// The number in a column of the current row, at least 0.
    pub(super) fn number(&self, column: &str) -> Result<f64, Error> {
        let text = self.text(column)?;
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        let number = number.ok_or_else(|| {
            self.wrong(&format!("`{column}` is not a number: `{}`", quoted(text)), "")
        })?;
        if number < 0.0 {
            return Err(self.wrong(&format!("`{column}` is negative: {}", quoted(text)), ""));
        }
        Ok(number)
    }

    /// An error in the current row.
    pub(super) fn wrong(&self, message: &str, help: &str) -> Error {
        wrong(self.name, self.line, message, help)
    }
}

/// The number of the line in which a record begins.
fn line_of(record: &ByteRecord, otherwise: usize) -> usize {
    let line = record.position().map(csv::Position::line);
    line.and_then(|line| usize::try_from(line).ok()).unwrap_or(otherwise)
}
