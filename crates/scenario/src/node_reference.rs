//! Schema of a node by its number or name.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// The number or the name of a node.
pub struct NodeReference;

impl JsonSchema for NodeReference {
    fn schema_name() -> Cow<'static, str> {
        "NodeReference".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "title": "node name", "type": "string", "examples": ["server"] },
        ] })
    }
}
