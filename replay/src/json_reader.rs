//! Typed values out of JSON with places: whatever does not fit is told with its field and place.

use crate::json_fault::Fault;
use crate::strict_json::{Member, Node, Value};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::slice::Iter;

/// Reads a value of an object, one of whose members is read elsewhere.
///
/// # Errors
/// The first value that does not fit, with its field and its place; and
/// where the value is no object.
pub fn read_without<'n, T>(
    node: &'n Node,
    name: &'n str,
    read: impl FnOnce(MapAccessDeserializer<Members<'n>>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let Value::Object(members) = &node.value else {
        return Err(Fault::at(node.at, "expected an object"));
    };
    let members = Members { rest: members.iter(), skipped: Some(name), next: None };
    read(MapAccessDeserializer::new(members)).map_err(|fault| fault.or_at(node.at))
}

impl<'de> Deserializer<'de> for &Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let read = match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number { is_negative: false, magnitude } => visitor.visit_u64(*magnitude),
            Value::Number { magnitude, .. } => {
                visitor.visit_i64(0_i64.wrapping_sub_unsigned(*magnitude))
            }
            Value::Confidence(points) => visitor.visit_f64(points.score()),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(items) => visitor.visit_seq(Items { rest: items.iter(), index: 0 }),
            Value::Object(members) => {
                visitor.visit_map(Members { rest: members.iter(), skipped: None, next: None })
            }
        };
        read.map_err(|fault| fault.or_at(self.at))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self).map_err(|fault| fault.or_at(self.at))
    }

    /// A member of an enum is its name, or an object of that one name.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let variant = match &self.value {
            Value::Text(name) => Variant { at: self.at, name, content: None },
            Value::Object(members) => match members.as_slice() {
                [Member { at, name, node }] => Variant { at: *at, name, content: Some(node) },
                _ => return Err(Fault::at(self.at, "expected an object of exactly one member")),
            },
            _ => return Err(Fault::at(self.at, "expected a name, or an object of one member")),
        };
        visitor.visit_enum(variant).map_err(|fault| fault.or_at(self.at))
    }

    /// Members have names: a list of values in their order is none.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(Fault::at(self.at, "expected an object")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// The members of an object, as they are read one by one.
#[derive(Debug)]
pub struct Members<'a> {
    rest: Iter<'a, Member>,
    /// A name that is passed over.
    skipped: Option<&'a str>,
    next: Option<&'a Member>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        self.next = self.rest.find(|member| self.skipped != Some(member.name.as_str()));
        let Some(member) = self.next else { return Ok(None) };
        let key = seed.deserialize(StrDeserializer::new(&member.name));
        key.map(Some).map_err(|fault: Fault| fault.or_at(member.at).inside(&member.name))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let member = self.next.take().ok_or_else(|| Fault::custom("a value without a name"))?;
        let value = seed.deserialize(&member.node);
        value.map_err(|fault| fault.or_at(member.node.at).inside(&member.name))
    }
}

struct Items<'a> {
    rest: Iter<'a, Node>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.rest.next() else { return Ok(None) };
        let step = format!("[{}]", self.index);
        self.index = self.index.saturating_add(1);
        seed.deserialize(node).map(Some).map_err(|fault| fault.or_at(node.at).inside(&step))
    }
}

struct Variant<'a> {
    at: usize,
    name: &'a str,
    content: Option<&'a Node>,
}

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name: Result<V::Value, Fault> = seed.deserialize(StrDeserializer::new(self.name));
        name.map(|name| (name, Self { ..self })).map_err(|fault| fault.or_at(self.at))
    }
}

impl Variant<'_> {
    fn content(&self) -> Result<&Node, Fault> {
        let message = format!("{} needs an object of this name and its content", self.name);
        self.content.ok_or_else(|| Fault::at(self.at, message))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None => Ok(()),
            Some(node) => Err(Fault::at(node.at, format!("{} has no content", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(self.content()?).map_err(|fault| fault.inside(self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _length: usize,
        _visitor: V,
    ) -> Result<V::Value, Fault> {
        Err(Fault::invalid_type(Unexpected::TupleVariant, &"a member with one value"))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let content = self.content()?;
        let read = content.deserialize_struct("", fields, visitor);
        read.map_err(|fault| fault.inside(self.name))
    }
}
