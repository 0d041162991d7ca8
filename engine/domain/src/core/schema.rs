//! JSON Schema of the types that write their own readable form. The others derive it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::core::hash::Digest;
use crate::core::ids::Entropy;
use crate::core::limits::{ENTROPY_BYTES, MAX_LIST_ITEMS};
use crate::core::payload::{List, Raw, Text};
use crate::core::time::Timestamp;

/// Bytes as lower-case hexadecimal digits.
pub(crate) struct Hex;

macro_rules! text_schema {
    ($($Type:ty, $name:literal, $schema:expr;)+) => {
        $(impl JsonSchema for $Type {
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        })+
    };
}

text_schema! {
    Hex, "Hex", json_schema!({ "type": "string", "pattern": "^([0-9a-f]{2})*$" });
    Text, "Text", json_schema!({ "type": "string" });
    Digest, "Digest", digits(32);
    Entropy, "Entropy", digits(ENTROPY_BYTES);
    Timestamp, "Timestamp", json_schema!({ "type": "string", "format": "date-time" });
}

/// So many bytes as lower-case hexadecimal digits.
fn digits(bytes: usize) -> Schema {
    json_schema!({
        "type": "string",
        "pattern": alloc::format!("^[0-9a-f]{{{}}}$", bytes.saturating_mul(2)),
    })
}

/// Raw evidence never leaves: its readable form is its length and its digest.
impl JsonSchema for Raw {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Raw")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "properties": {
                "length": generator.subschema_for::<u64>(),
                "sha256": generator.subschema_for::<Digest>(),
            },
            "required": ["length", "sha256"],
        })
    }
}

impl<T: JsonSchema, const MAX: usize> JsonSchema for List<T, MAX> {
    fn schema_name() -> Cow<'static, str> {
        let most = if MAX == MAX_LIST_ITEMS { String::new() } else { alloc::format!("{MAX}") };
        Cow::Owned(String::from("ListOf") + &most + &T::schema_name())
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "items": generator.subschema_for::<T>(),
            "maxItems": MAX,
        })
    }
}

/// Names the document's fraction beside the basis points of each confidence: a body that is read
/// has at least one of the two.
pub(crate) fn name_scores(schema: &mut Schema) {
    let properties = schema.get("properties").and_then(|found| found.as_object());
    let names = properties.into_iter().flat_map(|found| found.keys());
    let names: Vec<String> =
        names.filter_map(|name| name.strip_suffix("_bp")).map(String::from).collect();
    for score in names {
        let points = alloc::format!("{score}_bp");
        let path = alloc::format!("/properties/{points}/anyOf");
        let is_optional = schema.pointer(&path).is_some();
        let description = alloc::format!("The same as a fraction: {points} / 10000.");
        add_score(schema, &score, &description, !is_optional);
        if unrequired(schema, &points) {
            let either = json_schema!({
                "anyOf": [{ "required": [points] }, { "required": [score] }],
            });
            let none = || Vec::<Schema>::new().into();
            let all = schema.ensure_object().entry("allOf").or_insert_with(none);
            all.as_array_mut().into_iter().for_each(|all| all.push(either.clone().to_value()));
        }
    }
}

/// Names the fraction of the one confidence that a body has.
pub(crate) fn name_score(schema: &mut Schema) {
    add_score(schema, "confidence_score", "The confidence as a fraction.", true);
}

fn add_score(schema: &mut Schema, name: &str, description: &str, is_there: bool) {
    let types: &[&str] = if is_there { &["number"] } else { &["number", "null"] };
    let fraction = json_schema!({
        "type": types, "minimum": 0, "maximum": 1, "description": description,
    });
    let properties = schema.get_mut("properties").and_then(|found| found.as_object_mut());
    if let Some(properties) = properties {
        properties.insert(String::from(name), fraction.to_value());
    }
}

/// Takes a name from those that are required; says whether it was there.
fn unrequired(schema: &mut Schema, name: &str) -> bool {
    let required = schema.get_mut("required").and_then(|found| found.as_array_mut());
    let Some(required) = required else { return false };
    let before = required.len();
    required.retain(|found| found != name);
    required.len() < before
}

/// Returns what any one of these unions describes.
pub(crate) fn one_of(description: &str, unions: &[Schema]) -> Schema {
    let ways = unions.iter().filter_map(|union| union.get("oneOf")?.as_array());
    let ways: Vec<_> = ways.flatten().cloned().collect();
    json_schema!({ "description": description.trim(), "oneOf": ways })
}

/// The schema of a union whose systems write their own events: one flat list.
macro_rules! flat_union {
    ($description:literal $Union:ident: $($Part:ident),+) => {
        impl schemars::JsonSchema for $Union {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                alloc::borrow::Cow::Borrowed(stringify!($Union))
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let parts = [$($Part::json_schema(generator)),+];
                crate::core::schema::one_of($description, &parts)
            }
        }
    };
}

pub(crate) use flat_union;
