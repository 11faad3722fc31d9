//! A table that Python's libraries read as Arrow.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchOptions, RecordBatchReader, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyDict, PyList};

use crate::columns::{DESCRIPTION, with_meaning};

/// A function and its arguments, by which pickle makes a table again.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyDict>, Bound<'py, PyDict>));

/// A table of columns, whose memory other libraries share.
#[pyclass(frozen, module = "driftway._driftway")]
#[derive(Clone)]
pub struct Table {
    batch: RecordBatch,
}

/// The exception for an error of Arrow.
pub fn of_arrow(error: &ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A stream of batches as the capsule of Arrow's C stream interface.
pub fn stream_capsule(
    py: Python<'_>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'_, PyCapsule>> {
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
}

/// A schema as the capsule of Arrow's C data interface.
pub fn schema_capsule<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(schema).map_err(|error| of_arrow(&error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// The meanings of the columns that have one.
pub fn meanings<'py>(py: Python<'py>, schema: &Schema) -> PyResult<Bound<'py, PyDict>> {
    let meanings = PyDict::new(py);
    for field in schema.fields() {
        meanings.set_item(field.name(), field.metadata().get(DESCRIPTION))?;
    }
    Ok(meanings)
}

impl Table {
    /// A table of one batch.
    pub const fn new(batch: RecordBatch) -> Self {
        Self { batch }
    }
}

#[pymethods]
impl Table {
    /// A table of columns of texts, of whole numbers or of numbers; `None` where there is no value.
    #[staticmethod]
    fn from_columns(columns: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, values) in columns {
            let (kind, array) = array_of(values.cast::<PyList>()?)?;
            fields.push(Field::new(name.extract::<String>()?, kind, true));
            arrays.push(array);
        }
        let rows = arrays.first().map_or(0, |array: &ArrayRef| array.len());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
        batch.map(Self::new).map_err(|error| of_arrow(&error))
    }

    /// The table with another column at its end.
    fn with_column(&self, name: &str, values: &Bound<'_, PyList>, meaning: &str) -> PyResult<Self> {
        let (kind, array) = array_of(values)?;
        let field = with_meaning(Field::new(name, kind, true), meaning);
        let schema = self.batch.schema();
        let fields = schema.fields().iter().cloned().chain([Arc::new(field)]);
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let arrays = self.batch.columns().iter().cloned().chain([array]).collect();
        let batch = RecordBatch::try_new(Arc::new(schema), arrays);
        batch.map(Self::new).map_err(|error| of_arrow(&error))
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to the producer whether it converts; consumers do it themselves.
        let _ = requested_schema;
        let schema = self.batch.schema();
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], schema);
        stream_capsule(py, Box::new(batches))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.batch.schema())
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// The meaning of each column, with its unit; `None` where it has none.
    fn meanings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        meanings(py, &self.batch.schema())
    }

    /// The first rows.
    fn head(&self, rows: usize) -> Self {
        Self { batch: self.batch.slice(0, rows.min(self.batch.num_rows())) }
    }

    /// The columns as lists, by their names.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        for (name, array) in self.columns().iter().zip(self.batch.columns()) {
            columns.set_item(name, values_of(py, array)?)?;
        }
        Ok(columns)
    }

    /// The table as a DataFrame of polars.
    fn to_polars<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "polars", "DataFrame")
    }

    /// The table as a DataFrame of pandas, through pyarrow.
    fn to_pandas<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "pyarrow", "table")?.call_method0("to_pandas")
    }

    fn __repr__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "driftway._show", "text")
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        call(this.as_any(), "driftway._show", "html")
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let restore = this.get_type().getattr("_restore")?;
        let table = this.get();
        Ok((restore, (table.to_dict(this.py())?, table.meanings(this.py())?)))
    }

    /// A table that was pickled.
    #[staticmethod]
    fn _restore(columns: &Bound<'_, PyDict>, meanings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut table = Self::from_columns(&PyDict::new(columns.py()))?;
        for (name, values) in columns {
            let meaning: Option<String> =
                meanings.get_item(&name)?.map(|meaning| meaning.extract()).transpose()?.flatten();
            let name: String = name.extract()?;
            let meaning = meaning.unwrap_or_default();
            table = table.with_column(&name, values.cast::<PyList>()?, &meaning)?;
        }
        Ok(table)
    }

    /// The values of a column.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let array = self.batch.column_by_name(name).ok_or_else(|| {
            let known = self.columns().join(", ");
            PyKeyError::new_err(format!("there is no column {name:?}; the columns are {known}"))
        })?;
        values_of(py, array)
    }
}

/// Calls a function of a Python library with a table.
pub fn call<'py>(
    table: &Bound<'py, PyAny>,
    module: &str,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    table.py().import(module)?.getattr(name)?.call1((table,))
}

/// The values of an array as a list.
fn values_of<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match array.data_type() {
        DataType::Int64 => {
            PyList::new(py, array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
        }
        DataType::Float64 => {
            PyList::new(py, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>())
        }
        _ => PyList::new(py, array.as_string::<i32>().iter().collect::<Vec<_>>()),
    }
}

/// An array of a list's values, which are all texts, all whole numbers, or numbers.
fn array_of(values: &Bound<'_, PyList>) -> PyResult<(DataType, ArrayRef)> {
    let is_text = |value: &Bound<'_, PyAny>| value.is_none() || value.extract::<String>().is_ok();
    // A number of numpy is as good as one of Python, but True is not 1 here.
    let is_whole = |value: &Bound<'_, PyAny>| {
        value.is_none() || !value.is_instance_of::<PyBool>() && value.extract::<i64>().is_ok()
    };
    if values.iter().all(|value| is_whole(&value)) {
        let values: Vec<Option<i64>> = values.extract()?;
        return Ok((DataType::Int64, Arc::new(Int64Array::from(values))));
    }
    if values.iter().all(|value| is_text(&value)) {
        let values: Vec<Option<String>> = values.extract()?;
        return Ok((DataType::Utf8, Arc::new(StringArray::from(values))));
    }
    let values: Vec<Option<f64>> = values.extract().map_err(|_| {
        PyTypeError::new_err("the values of a column are texts or numbers, or None")
    })?;
    Ok((DataType::Float64, Arc::new(Float64Array::from(values))))
}
