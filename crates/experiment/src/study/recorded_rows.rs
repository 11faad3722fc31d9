//! The rows of a CSV file that `driftway paper NAME --record` writes.

use csv::StringRecord;

use crate::error::Error;

/// The rows with their lines, from 2; `place` is the file's name.
///
/// # Errors
///
/// It is not CSV with these columns.
pub fn recorded_rows(
    place: &str,
    text: &str,
    columns: &[&str],
) -> Result<Vec<(usize, StringRecord)>, Error> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| invalid_row(place, 1, &error.to_string()))?;
    if header.iter().ne(columns.iter().copied()) {
        return Err(invalid_row(place, 1, &format!("the columns are {}", columns.join(","))));
    }
    let with_line = |(number, row): (usize, Result<StringRecord, csv::Error>)| {
        let line = number + 2;
        Ok((line, row.map_err(|error| invalid_row(place, line, &error.to_string()))?))
    };
    reader.records().enumerate().map(with_line).collect()
}

/// An error in a line of the file.
pub fn invalid_row(place: &str, line: usize, what: &str) -> Error {
    let help = "`driftway paper NAME --record` writes it again";
    Error::refused_with(format!("{place}:{line}: {what}"), help.to_owned())
}
