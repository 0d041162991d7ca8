//! A comparison over the state: `PATH OP VALUE`.

use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure};
use holdpoint_domain::core::text::bounded;
use holdpoint_replay::state::ROOMS;
use serde_json::Value;
use std::cmp::Ordering;

/// The longest expression, in bytes.
const TEXT_BYTES_MAX: usize = 16 << 10;
/// Parts of the state that are no collections of entities: their fields are always there.
const PARTS: [&str; 5] = ["head", "fingerprint", "state_schema", "totals", "decision_point_totals"];
/// Name that counts the elements of a list, the entries of a map or the characters of a text.
const LENGTH: &str = "length";
/// Bytes of the input that a message repeats.
const REPEATED_MAX: usize = 120;

/// The operators; one that begins with another stands before it.
const OPERATORS: [(&str, Operator); 6] = [
    ("==", |order| order == Some(Ordering::Equal)),
    ("!=", |order| order != Some(Ordering::Equal)),
    ("<=", |order| order.is_some_and(Ordering::is_le)),
    (">=", |order| order.is_some_and(Ordering::is_ge)),
    ("<", |order| order == Some(Ordering::Less)),
    (">", |order| order == Some(Ordering::Greater)),
];

/// Decides by the order of two values; `None` where they have none.
type Operator = fn(Option<Ordering>) -> bool;

/// A comparison that was understood.
pub struct Predicate {
    path: Vec<Segment>,
    operator: Operator,
    value: Value,
}

/// One name of a path.
struct Segment {
    name: String,
    /// In characters, from 1.
    column: usize,
}

impl Predicate {
    /// Reads a comparison. The error names the column of what is not understood. A path begins with
    /// a part of the state, or with `entity` where there is one.
    pub fn parse(text: &str, with_entity: bool) -> Result<Self, Failure> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(failure(0, &format!("longer than {TEXT_BYTES_MAX} bytes")));
        }
        let (path, rest) = read_path(text)?;
        let entity = with_entity.then_some(super::ENTITY);
        let mut parts = PARTS.into_iter().chain(ROOMS).chain(entity);
        let first = path.first().filter(|first| !parts.any(|part| part == first.name));
        if let Some(Segment { name, column }) = first {
            return Err(failure(*column, &format!("the state has no {name}")));
        }
        let found = OPERATORS
            .iter()
            .find_map(|(word, operator)| rest.strip_prefix(word).map(|value| (*operator, value)));
        let (operator, value) = found.ok_or_else(|| {
            failure(column_of(text, rest), "expected ==, !=, <, <=, > or >=, then a value")
        })?;
        let value = value.trim();
        let read = serde_json::from_str(value).ok().or_else(|| {
            let is_word = !value.is_empty() && !value.contains(|c: char| c.is_whitespace());
            (is_word && !value.contains(['"', '=', '<', '>'])).then(|| Value::from(value))
        });
        let expected = "expected one word or JSON value";
        let value = read.ok_or_else(|| failure(column_of(text, value), expected))?;
        Ok(Self { path, operator, value })
    }

    /// Returns whether the comparison holds of a state. A path that leads nowhere is null; null has
    /// no order with anything but null. A number and a text cannot be ordered.
    pub fn holds(&self, state: &Value) -> Result<bool, Failure> {
        let found = self.find(state)?;
        let order = order(&found, &self.value);
        let is_mixed = found.is_number() && self.value.is_string()
            || found.is_string() && self.value.is_number();
        if is_mixed {
            let column = self.path.first().map_or(0, |first| first.column);
            return Err(failure(column, "a number is compared with a text"));
        }
        Ok((self.operator)(order))
    }

    /// Follows the path. A part has all of its fields; an entity or a field of one may be missing.
    fn find(&self, state: &Value) -> Result<Value, Failure> {
        let mut at = state;
        for (depth, Segment { name, column }) in self.path.iter().enumerate() {
            let next = match at {
                Value::Object(fields) => fields.get(name),
                Value::Array(items) => name.parse().ok().and_then(|index: usize| items.get(index)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            let is_last = depth.saturating_add(1) == self.path.len();
            let length = if name == LENGTH && is_last { length(at) } else { None };
            match (next, length) {
                (Some(next), _) => at = next,
                (None, Some(length)) => return Ok(length.into()),
                (None, None) => {
                    let is_part = self.path.first().is_some_and(|first| {
                        depth == 1 && at.is_object() && PARTS.contains(&first.name.as_str())
                    });
                    return match is_part {
                        true => Err(failure(*column, &format!("the state has no {name} there"))),
                        false => Ok(Value::Null),
                    };
                }
            }
        }
        Ok(at.clone())
    }
}

/// Reads names with dots between, and returns what follows them too. A name with other characters
/// stands in quotes, as in JSON.
fn read_path(text: &str) -> Result<(Vec<Segment>, &str), Failure> {
    let mut path = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let column = column_of(text, rest);
        let (name, behind) = read_name(rest).ok_or_else(|| failure(column, "expected a name"))?;
        path.push(Segment { name, column });
        match behind.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Ok((path, behind.trim_start())),
        }
    }
}

fn read_name(text: &str) -> Option<(String, &str)> {
    if text.starts_with('"') {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = values.next()?.ok()?;
        return Some((name, text.get(values.byte_offset()..)?));
    }
    let is_end = |c: char| c.is_whitespace() || ['.', '=', '!', '<', '>', '"'].contains(&c);
    let (name, behind) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    (!name.is_empty()).then(|| (name.to_string(), behind))
}

/// The column at which the rest of a text begins, in characters, from 1.
fn column_of(text: &str, rest: &str) -> usize {
    text.chars().count().saturating_sub(rest.chars().count()).saturating_add(1)
}

fn length(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(fields) => Some(fields.len()),
        Value::String(text) => Some(text.chars().count()),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn order(found: &Value, value: &Value) -> Option<Ordering> {
    match (found, value) {
        (Value::String(found), Value::String(value)) => Some(found.cmp(value)),
        (Value::Number(found), Value::Number(value)) => {
            let whole = found.as_i128().zip(value.as_i128()).map(|(a, b)| a.cmp(&b));
            whole.or_else(|| found.as_f64()?.partial_cmp(&value.as_f64()?))
        }
        _ => (found == value).then_some(Ordering::Equal),
    }
}

/// The comparison is not understood at a column; 0: as a whole.
fn failure(column: usize, what: &str) -> Failure {
    let place = if column == 0 { "as a whole".to_string() } else { format!("column {column}") };
    let message = format!(
        "--when, {place}: {}; `holdpoint replay --live --json` shows the names of a state",
        visible_once(bounded(what, REPEATED_MAX))
    );
    let column = (column > 0).then_some(column);
    Failure::new(Exit::USAGE, "bad_predicate", message).with("column", column.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn state() -> Value {
        json!({
            "head": null,
            "totals": { "events": 7, "share": 0.5 },
            "execution_loops": {
                "LOOP-1": { "current_state": "EVALUATED", "attempts": [{ "n": 1 }, { "n": 2 }] },
                "a.b \"c\"": { "current_state": "INIT", "attempts": [], "length": 3 },
            },
        })
    }

    fn holds(text: &str) -> Result<bool, Failure> {
        Predicate::parse(text, false).and_then(|predicate| predicate.holds(&state()))
    }

    #[test]
    fn a_number_a_text_or_a_length_is_compared() {
        for (is, is_not) in [
            ("totals.events > 6", "totals.events > 7"),
            ("totals.events>=7", "totals.events<7"),
            ("totals.events == 7.0", "totals.events != 7"),
            ("totals.share <= 0.5", "totals.share < 0.5"),
            ("execution_loops.length == 2", "execution_loops.length != 2"),
            ("execution_loops.LOOP-1 != null", "execution_loops.LOOP-9 != null"),
            ("execution_loops.LOOP-9.attempts.length == null", "execution_loops.LOOP-9.x > 0"),
            ("execution_loops.LOOP-1.attempts.1.n == 2", "execution_loops.LOOP-1.attempts.2 > 0"),
            ("execution_loops.LOOP-1.current_state == EVALUATED", "head.sequence > 0"),
            ("execution_loops.LOOP-1.current_state == \"EVALUATED\"", "head > 3"),
            ("execution_loops.\"a.b \\\"c\\\"\".length == 3", "head != null"),
            ("execution_loops.LOOP-1.current_state >= EV", "execution_loops == totals"),
            (" head == null ", "totals.events == true"),
        ] {
            assert_eq!((holds(is), holds(is_not)), (Ok(true), Ok(false)), "{is} | {is_not}");
        }
    }

    #[test]
    fn what_is_not_understood_names_the_column() {
        for (text, place) in [
            ("", "column 1"),
            ("> 3", "column 1"),
            ("total.events > 3", "column 1"),
            ("entity.state == x", "column 1"),
            ("totals..events > 3", "column 8"),
            ("totals.evens > 3", "column 8"),
            ("totals.\"events > 3", "column 8"),
            ("totals.events", "column 14"),
            ("totals.events is 3", "column 15"),
            ("totals.events >", "column 16"),
            ("totals.events > 3 )", "column 17"),
            ("totals.events > 3 && head == null", "column 17"),
            ("totals.events > \"3", "column 17"),
            ("totals.events > many", "column 1"),
            (&"x".repeat(1 << 20), "as a whole"),
        ] {
            let failure = holds(text).unwrap_err();
            assert!(failure.message().contains(place), "{text}: {}", failure.message());
        }
    }
}
