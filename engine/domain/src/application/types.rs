//! Records of the application, and their bounds.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::core::ids::hex;

/// Most bytes of one event's data: 63 MiB. The rest of a payload is for its names.
pub const MAX_DATA_BYTES: usize = 63 * 1024 * 1024;

/// Longest content type, in bytes.
pub const MAX_CONTENT_TYPE_BYTES: usize = 128;

/// Content type of data of which nothing is said.
pub const BYTES: &str = "application/octet-stream";

/// The bytes of an event, opaque to every rule. In readable formats UTF-8 is a text, and everything
/// else is `{"hex": DIGITS}`, lower-case: so every text and every run of bytes has one form.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Data(Vec<u8>);

impl Data {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, where they are UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        core::str::from_utf8(&self.0).ok()
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        if let Some(text) = self.as_text() {
            return serializer.serialize_str(text);
        }
        let mut shown = serializer.serialize_struct("Data", 1)?;
        shown.serialize_field("hex", &base16ct::lower::encode_string(&self.0))?;
        shown.end()
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if from.is_human_readable() {
            return from.deserialize_any(DataVisitor);
        }
        from.deserialize_bytes(DataVisitor)
    }
}

struct DataVisitor;

impl<'de> Visitor<'de> for DataVisitor {
    type Value = Data;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or {\"hex\": lower-case hexadecimal digits}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Data, E> {
        Ok(Data::from(text))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Data, E> {
        Ok(Data(text.into_bytes()))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Data, E> {
        Ok(Data(bytes.to_vec()))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Data, E> {
        Ok(Data(bytes))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Data, A::Error> {
        HexBytes::deserialize(MapAccessDeserializer::new(fields)).map(|spelled| Data(spelled.hex))
    }
}

/// Bytes that are no text, as they are given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HexBytes {
    #[serde(deserialize_with = "hex::deserialize")]
    hex: Vec<u8>,
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for Data {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        input.arbitrary::<Vec<u8>>().map(Self)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Data {
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        alloc::borrow::Cow::Borrowed("Data")
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A text, or bytes as hexadecimal digits.",
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": {
                        "hex": generator.subschema_for::<crate::core::schema::Hex>(),
                    },
                    "required": ["hex"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
