//! Parquet output of a table: optional columns of strings, 64-bit integers and doubles, with
//! Snappy, in one row group.

use std::io::Write;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::table::{Table, Values};

impl Table {
    /// Writes the table as Parquet. The same table yields the same bytes.
    ///
    /// # Errors
    ///
    /// Any error of `out`.
    pub fn write_parquet(&self, out: impl Write + Send) -> Result<(), ParquetError> {
        let field = |name: &str, values: &Values| {
            let (physical, logical) = match values {
                Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Values::Int(_) => (Physical::INT64, None),
                Values::Float(_) => (Physical::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_logical_type(logical.clone());
            match logical {
                Some(_) => field.with_converted_type(ConvertedType::UTF8),
                None => field,
            }
            .build()
            .map(Arc::new)
        };
        let fields = self.columns.iter().map(|column| field(&column.name, &column.values));
        let fields = fields.collect::<Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder(self.name).with_fields(fields).build()?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("driftway ", env!("CARGO_PKG_VERSION")).to_owned());
        let mut file =
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties.build()))?;
        let mut group = file.next_row_group()?;
        for column in &self.columns {
            match &column.values {
                Values::Text(values) => {
                    write_column::<ByteArrayType, _, _>(&mut group, values, |text: &String| {
                        ByteArray::from(text.as_str())
                    })?;
                }
                Values::Int(values) => write_column::<Int64Type, _, _>(&mut group, values, |n| *n)?,
                Values::Float(values) => {
                    write_column::<DoubleType, _, _>(&mut group, values, |n| *n)?
                }
            }
        }
        group.close()?;
        file.close()?;
        Ok(())
    }
}

fn write_column<D: DataType, T, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[Option<T>],
    write: impl Fn(&T) -> D::T,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("too many columns".to_owned()));
    };
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<D::T> = values.iter().flatten().map(write).collect();
    column.typed::<D>().write_batch(&there, Some(&levels), None)?;
    column.close()
}
