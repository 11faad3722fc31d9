//! Event logs of runs, which are read from their files batch by batch.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};
use tempfile::TempPath;

use crate::columns::event_fields;
use crate::table::{Table, call, meanings, of_arrow, schema_capsule, stream_capsule};

/// Rows of a batch.
const BATCH: usize = 1 << 16;

/// The event log of a run, in a temporary file, which is removed with the last user.
pub struct EventFile {
    /// The seed of the run.
    pub seed: u64,
    /// The file, as CSV.
    pub path: TempPath,
}

/// The event logs of runs. Their rows stay in files; a reader has one batch in memory.
#[pyclass(frozen, name = "Events", module = "driftway._driftway")]
pub struct EventTable {
    files: Vec<Arc<EventFile>>,
    schema: SchemaRef,
}

impl EventTable {
    /// The logs, one after the other.
    pub fn new(files: Vec<Arc<EventFile>>) -> Self {
        let seed = Field::new("seed", DataType::Int64, true);
        let fields: Vec<Field> = std::iter::once(seed).chain(event_fields()).collect();
        Self { files, schema: Arc::new(Schema::new(fields)) }
    }

    fn reader(&self) -> EventReader {
        let files = self.files.clone().into_iter();
        EventReader { files, schema: Arc::clone(&self.schema), open: None }
    }
}

#[pymethods]
impl EventTable {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        stream_capsule(py, Box::new(self.reader()))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.schema)
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The seeds of the runs.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.files.iter().map(|file| file.seed).collect()
    }

    /// The meaning of each column, with its unit.
    fn meanings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        meanings(py, &self.schema)
    }

    /// An iterator over the rows as dicts.
    fn rows<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "driftway._show", "rows")
    }

    /// The rows as a DataFrame of polars: all of them, in memory.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "polars", "DataFrame")
    }

    /// The rows as a DataFrame of pandas, through pyarrow: all of them, in memory.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "pyarrow", "table")?.call_method0("to_pandas")
    }

    fn __repr__(&self) -> String {
        format!("<Events of {} runs>", self.files.len())
    }

    /// An iterator over the rows as tables of at most 65,536.
    fn batches(&self) -> Batches {
        Batches { reader: self.reader() }
    }
}

/// An iterator over batches.
#[pyclass(module = "driftway._driftway")]
struct Batches {
    reader: EventReader,
}

#[pymethods]
impl Batches {
    const fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Table>> {
        let next = py.detach(|| self.reader.next());
        next.transpose().map(|batch| batch.map(Table::new)).map_err(|error| of_arrow(&error))
    }
}

/// A reader of logs.
struct EventReader {
    files: std::vec::IntoIter<Arc<EventFile>>,
    schema: SchemaRef,
    open: Option<OpenLog>,
}

/// A log that is being read.
struct OpenLog {
    rows: csv::StringRecordsIntoIter<BufReader<File>>,
    /// The place in a row of each column after the seed.
    places: Vec<Option<usize>>,
    /// Keeps the file.
    file: Arc<EventFile>,
}

impl OpenLog {
    fn open(file: Arc<EventFile>, schema: &Schema) -> Result<Self, ArrowError> {
        let input = File::open(&file.path)
            .map_err(|error| ArrowError::IoError("cannot read an event log".to_owned(), error))?;
        let mut rows = csv::Reader::from_reader(BufReader::new(input));
        let header = rows.headers().map_err(of_csv)?;
        let place = |field: &Arc<Field>| header.iter().position(|name| name == field.name());
        let places = schema.fields().iter().skip(1).map(place).collect();
        Ok(Self { rows: rows.into_records(), places, file })
    }
}

fn of_csv(error: csv::Error) -> ArrowError {
    ArrowError::CsvError(error.to_string())
}

impl EventReader {
    /// The next rows of one log; `None` at its end.
    fn batch_of(schema: &SchemaRef, log: &mut OpenLog) -> Result<Option<RecordBatch>, ArrowError> {
        let mut columns: Vec<Column> =
            schema.fields().iter().map(|field| Column::new(field)).collect();
        let mut count = 0;
        for row in log.rows.by_ref().take(BATCH) {
            let row = row.map_err(of_csv)?;
            count += 1;
            let mut cells = columns.iter_mut();
            if let Some(Column::Int(seed)) = cells.next() {
                seed.append_value(log.file.seed as i64);
            }
            for (column, place) in cells.zip(&log.places) {
                column.append(place.and_then(|place| row.get(place)).unwrap_or_default())?;
            }
        }
        if count == 0 {
            return Ok(None);
        }
        let arrays = columns.into_iter().map(Column::finish).collect();
        RecordBatch::try_new(Arc::clone(schema), arrays).map(Some)
    }
}

impl Iterator for EventReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.open.is_none() {
                match OpenLog::open(self.files.next()?, &self.schema) {
                    Ok(log) => self.open = Some(log),
                    Err(error) => return Some(Err(error)),
                }
            }
            match Self::batch_of(&self.schema, self.open.as_mut()?) {
                Ok(Some(batch)) => return Some(Ok(batch)),
                Ok(None) => self.open = None,
                Err(error) => {
                    self.open = None;
                    return Some(Err(error));
                }
            }
        }
    }
}

impl RecordBatchReader for EventReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A column that is being read.
enum Column {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

impl Column {
    fn new(field: &Field) -> Self {
        match field.data_type() {
            DataType::Int64 => Self::Int(Int64Builder::new()),
            DataType::Float64 => Self::Float(Float64Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    /// Appends a cell; an empty one has no value.
    fn append(&mut self, cell: &str) -> Result<(), ArrowError> {
        let wrong = || ArrowError::ParseError(format!("`{cell}` in an event log is not a number"));
        let there = (!cell.is_empty()).then_some(cell);
        match self {
            Self::Int(of) => {
                of.append_option(there.map(str::parse).transpose().map_err(|_| wrong())?)
            }
            Self::Float(of) => {
                of.append_option(there.map(str::parse).transpose().map_err(|_| wrong())?);
            }
            Self::Text(of) => of.append_option(there),
        }
        Ok(())
    }

    fn finish(self) -> ArrayRef {
        match self {
            Self::Int(mut of) => ArrayBuilder::finish(&mut of),
            Self::Float(mut of) => ArrayBuilder::finish(&mut of),
            Self::Text(mut of) => ArrayBuilder::finish(&mut of),
        }
    }
}
