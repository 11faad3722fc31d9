//! Descriptions of the columns of CSV files.

use std::borrow::Cow;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;

/// A column: its name, its values and their meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// The name, as in the header.
    pub name: Cow<'static, str>,
    /// The type of its values.
    pub values: Values,
    /// The meaning of its values, in Markdown.
    pub meaning: Cow<'static, str>,
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Integers.
    Integer,
    /// Numbers.
    Number,
    /// Text.
    Text,
}

impl ColumnInfo {
    /// A column.
    pub const fn new(name: &'static str, values: Values, meaning: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), values, meaning: Cow::Borrowed(meaning) }
    }

    /// The columns for the fields of a type, with the documentation of the fields: first those that it
    /// always has, in order, then the others. A field that is an array is a column of its elements.
    pub fn of_fields<T: JsonSchema>() -> Vec<Self> {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let settings = settings.with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let always = schema.get("required").and_then(|names| names.as_array());
        let always: Vec<&str> = always.into_iter().flatten().filter_map(|n| n.as_str()).collect();
        let fields = schema.get("properties").and_then(|fields| fields.as_object());
        let columns = fields.into_iter().flatten().map(|(name, field)| {
            let of = field.get("items").unwrap_or(field);
            let holds = |kind: &str| match of.get("type") {
                Some(found) if found.is_string() => found == kind,
                found => {
                    let kinds = found.and_then(|kinds| kinds.as_array());
                    kinds.is_some_and(|kinds| kinds.iter().any(|found| found == kind))
                }
            };
            let meaning = field.get("description").and_then(|text| text.as_str());
            Self {
                name: name.clone().into(),
                values: match () {
                    () if holds("integer") => Values::Integer,
                    () if holds("number") => Values::Number,
                    () => Values::Text,
                },
                meaning: meaning.unwrap_or_default().to_owned().into(),
            }
        });
        let mut columns: Vec<Self> = columns.collect();
        let place = |column: &Self| {
            always.iter().position(|name| *name == column.name).unwrap_or(always.len())
        };
        columns.sort_by_key(place);
        columns
    }
}

/// The names of columns.
pub const fn names<const N: usize>(columns: &'static [ColumnInfo; N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        if let Cow::Borrowed(name) = &columns[index].name {
            names[index] = name;
        }
        index += 1;
    }
    names
}

impl Values {
    /// The name for readers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "text",
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_column_has_the_documentation_of_its_field() {
        /// A row.
        #[derive(serde::Serialize, JsonSchema)]
        struct Row {
            /// The second.
            #[serde(skip_serializing_if = "Option::is_none")]
            b: Option<String>,
            /// The first.
            z: Option<u32>,
            /// Its values.
            a: Vec<Option<f64>>,
        }
        let found = ColumnInfo::of_fields::<Row>();
        let expected = [
            ColumnInfo::new("z", Values::Integer, "The first."),
            ColumnInfo::new("a", Values::Number, "Its values."),
            ColumnInfo::new("b", Values::Text, "The second."),
        ];
        assert_eq!(found, expected);
    }
}
