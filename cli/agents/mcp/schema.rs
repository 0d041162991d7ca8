//! The JSON Schemas of what the tools take and give.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments, whole in itself: clients are known to stumble over references.
pub(super) fn of_arguments<T: JsonSchema>() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let inlined = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = object(inlined.into_generator().into_root_schema_for::<T>().to_value());
    // Both are the names of types in this program.
    schema.remove("title");
    schema.remove("description");
    // A tool without arguments has properties too, none.
    schema.entry("properties").or_insert(json!({}));
    schema
}

/// The schema of a result with these properties; or with `error` where the tool failed. A property
/// with a default may be absent.
pub(super) fn of_result(properties: Value) -> Map<String, Value> {
    let mut properties = object(properties);
    let given = properties.iter().filter(|(_, schema)| schema.get("default").is_none());
    let required: Vec<String> = given.map(|(name, _)| name.clone()).collect();
    properties.insert("error".into(), error());
    properties.insert("cut".into(), cut());
    object(json!({
        "type": "object",
        "properties": properties,
        "anyOf": [{ "required": required }, { "required": ["error"] }],
    }))
}

/// What an answer leaves out that would be too long with it.
fn cut() -> Value {
    json!({
        "type": "array",
        "description": "Only where the answer would be too long: where in it (JSON Pointer) a text \
            or a list is cut, how long it is, and the SHA-256 of the text.",
        "items": { "type": "object" },
    })
}

/// A decision, by the keys that matter most to who asked; there are more.
pub(super) fn decision() -> Value {
    let text_or_null = json!({ "type": ["string", "null"] });
    json!({
        "type": "object",
        "description": "One round of a question; the JSON of `holdpoint decision show`.",
        "required": ["id", "state", "prompt", "options", "iteration", "version"],
        "properties": {
            "id": { "type": "string" },
            "issue_id": text_or_null,
            "state": { "enum": [
                "pending", "refining", "resolved", "iterated", "expired", "aborted", "cancelled",
                "superseded"
            ]},
            "prompt": { "type": "string" },
            "options": { "type": "array", "items": { "type": "object" } },
            "resolution_kind": text_or_null,
            "selected_option": text_or_null,
            "response_text": text_or_null,
            "comment": text_or_null,
            "responded_by": text_or_null,
            "approved": {
                "type": "boolean",
                "description": "Whether somebody said yes. Nothing else is a yes."
            },
            "iteration": { "type": "integer" },
            "guidance": text_or_null,
            "guidance_given": text_or_null,
            "next_id": text_or_null,
            "expires_at": text_or_null,
            "warning": {
                "type": ["object", "null"],
                "description": "80 % of the time to answer are over: since when, and the record."
            },
            "version": { "type": "integer" },
        },
    })
}

fn error() -> Value {
    json!({
        "type": "object",
        "description": "Why there is no result.",
        "required": ["code", "message", "decision_id", "current"],
        "properties": {
            "code": { "type": "string" },
            "message": { "type": "string" },
            "decision_id": { "type": ["string", "null"] },
            "current": {
                "type": ["object", "null"],
                "description": "The decision as it stands."
            },
        },
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
