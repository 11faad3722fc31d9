//! JSON schemas of notations of a study's file that serde cannot describe.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::flow_selector::FlowSelector;
use super::format::Divisor;
use super::number::{OneOrMany, PaperNumber, SettingValue};

/// Describes a type by a schema in place.
macro_rules! described {
    ($type:ty, $name:literal, $schema:expr) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let describe: fn(&mut SchemaGenerator) -> Schema = $schema;
                describe(generator)
            }
        }
    };
}

described!(PaperNumber, "PaperNumber", |_| json_schema!({
    "anyOf": [
        { "type": ["number", "string"] },
        {
            "type": "array",
            "items": { "type": ["number", "string"] },
            "minItems": 2,
            "maxItems": 2,
        },
    ],
}));

described!(OneOrMany, "OneOrMany", |_| json_schema!({
    "anyOf": [
        { "type": "string" },
        { "type": "array", "items": { "type": "string" } },
    ],
}));

// Any value of a scenario's key.
described!(SettingValue, "SettingValue", |_| json_schema!(true));

described!(FlowSelector, "FlowSelector", |generator| {
    let chosen = generator.subschema_for::<super::flow_selector::ChosenFlows>();
    json_schema!({
        "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "enum": ["sum", "mean", "others", "least", "most"] },
            chosen,
        ],
    })
});

described!(Divisor, "Divisor", |generator| {
    let of = generator.subschema_for::<FlowSelector>();
    json_schema!({
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "properties": {
                    "metric": { "type": "string", "description": "The metric." },
                    "of": of,
                },
                "required": ["metric"],
                "additionalProperties": false,
            },
        ],
    })
});
