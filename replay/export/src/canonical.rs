//! Canonical JSON (RFC 8785). Its numbers are doubles, so an integer that no double holds exactly
//! is written as a string: no reader rounds it unseen.

use serde::Serialize;
use serde_json::{Error, Value};

/// The largest integer up to which every one is a double: 2^53 - 1.
const EXACT_MAX: u64 = (1 << 53) - 1;

/// The canonical text of a value.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn canonical(value: &impl Serialize) -> Result<String, Error> {
    let mut value = serde_json::to_value(value)?;
    make_exact(&mut value);
    serde_json_canonicalizer::to_string(&value)
}

/// Integers beyond 2^53 - 1 become strings of their digits.
pub(crate) fn make_exact(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let magnitude = number.as_i64().map(i64::unsigned_abs).or_else(|| number.as_u64());
            if magnitude.is_some_and(|magnitude| magnitude > EXACT_MAX) {
                *value = Value::String(number.to_string());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_exact),
        Value::Object(fields) => fields.values_mut().for_each(make_exact),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_sorted_and_integers_that_no_double_holds_are_strings() {
        let value = json!({"b": 9_007_199_254_740_991_u64, "a": [9_007_199_254_740_992_u64],
            "c": i64::MIN, "d": "\u{e9}\n"});
        let text = r#"{"a":["9007199254740992"],"b":9007199254740991,"#.to_string()
            + "\"c\":\"-9223372036854775808\",\"d\":\"\u{e9}\\n\"}";
        assert_eq!(canonical(&value).unwrap(), text);
    }
}
