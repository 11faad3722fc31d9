//! Columns of results as Arrow arrays.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use driftway::experiment::rows::{Table, Values, table_columns};
use driftway::sim::columns::Values as Kind;
use driftway::sim::log;

/// The key of a field's metadata under which its meaning is.
pub const DESCRIPTION: &str = "description";

/// The meanings of the columns of a table, by its name and theirs.
static MEANINGS: LazyLock<BTreeMap<(&str, String), String>> = LazyLock::new(|| {
    let of_table = |table: driftway::experiment::rows::TableInfo| {
        let columns = table.first.into_iter().chain(table.rest);
        columns.map(move |column| {
            ((table.name, column.name.into_owned()), column.meaning.into_owned())
        })
    };
    table_columns().into_iter().flat_map(of_table).collect()
});

/// A field, with its meaning if that is known.
pub fn field(table: &'static str, name: &str, kind: DataType) -> Field {
    let meaning = MEANINGS.get(&(table, name.to_owned()));
    with_meaning(Field::new(name, kind, true), meaning.map_or("", String::as_str))
}

/// The field with its meaning, if there is one.
pub fn with_meaning(field: Field, meaning: &str) -> Field {
    if meaning.is_empty() {
        return field;
    }
    field.with_metadata([(DESCRIPTION, meaning)])
}

/// A table of results as a batch of Arrow.
pub fn batch(table: &Table) -> Result<RecordBatch, ArrowError> {
    let array = |values: &Values| -> (DataType, ArrayRef) {
        match values {
            Values::Text(values) => {
                let values: StringArray = values.iter().map(Option::as_deref).collect();
                (DataType::Utf8, Arc::new(values))
            }
            Values::Int(values) => (DataType::Int64, Arc::new(Int64Array::from_iter(values))),
            Values::Float(values) => (DataType::Float64, Arc::new(Float64Array::from_iter(values))),
        }
    };
    let columns = table.columns.iter().map(|column| {
        let (kind, values) = array(&column.values);
        (field(table.name, &column.name, kind), values)
    });
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

/// The fields of an event log, after that of the seed.
pub fn event_fields() -> Vec<Field> {
    let kind = |kind| match kind {
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Text => DataType::Utf8,
    };
    let columns = log::columns().into_iter();
    columns
        .map(|column| {
            with_meaning(Field::new(&*column.name, kind(column.values), true), &column.meaning)
        })
        .collect()
}
