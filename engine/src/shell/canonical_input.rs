//! The digest of a tool's input: SHA-256 over its canonical form (RFC 8785), so that an approval
//! holds for one action however its JSON is written. What would give two different inputs one
//! digest is refused.

use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::text::{bounded, visible};
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, de};
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::fmt;
use thiserror::Error;

/// Longest input, in bytes of JSON.
pub const MAX_INPUT_BYTES: usize = 16 << 20;
/// Most arrays and objects of an input that lie within each other.
pub const MAX_INPUT_DEPTH: usize = 64;

/// Bytes that an error shows of what it found.
const SHOWN_BYTES: usize = 96;

/// An input that has no digest.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CanonicalInputError {
    /// More than is read.
    #[error(
        "the input has {found} bytes, above the limit of {MAX_INPUT_BYTES}: name a file instead"
    )]
    TooLong {
        /// Its length, in bytes.
        found: usize,
    },
    /// No JSON, or a number beyond what JSON's numbers hold.
    #[error("the input is not one JSON value: {message}; mend it")]
    NotJson {
        /// Fault, with line and column.
        message: String,
    },
    /// One object has a name twice: readers differ on which value counts.
    #[error("an object of the input has the name \"{name}\" twice; leave one of them")]
    DuplicateName {
        /// The name, control characters visible, cut to 96 bytes.
        name: String,
    },
    /// Arrays and objects within each other beyond the bound.
    #[error("the input is more than {MAX_INPUT_DEPTH} arrays and objects deep; make it flatter")]
    TooDeep,
    /// A number that its canonical form would turn into another one.
    #[error(
        "the number {found} of the input would be read as {read_as}: JSON's numbers are doubles; \
         write it as a string"
    )]
    InexactNumber {
        /// The number, cut to 96 bytes.
        found: String,
        /// The nearest double.
        read_as: String,
    },
}

/// The canonical form (RFC 8785) of an input, given as JSON text: names sorted, no white space, one
/// way to write each text and number.
///
/// A number without a fraction has to come out as the very number that it was; one with a fraction
/// may be rounded to the nearest double, as the RFC has it, but not to a whole number.
///
/// # Errors
/// [`CanonicalInputError`].
pub fn canonical_input(text: &str) -> Result<Vec<u8>, CanonicalInputError> {
    if text.len() > MAX_INPUT_BYTES {
        return Err(CanonicalInputError::TooLong { found: text.len() });
    }
    let value = strict_value(text)?;
    for_each_number(text, check_number)?;
    serde_json_canonicalizer::to_vec(&value).map_err(|error| not_json(&error))
}

/// SHA-256 of the [canonical form](canonical_input) of an input, given as JSON text.
///
/// # Errors
/// [`CanonicalInputError`].
pub fn canonical_input_sha256(text: &str) -> Result<Digest, CanonicalInputError> {
    canonical_input(text).map(|canonical| sha256(&canonical))
}

/// One JSON value and nothing behind it.
fn strict_value(text: &str) -> Result<Value, CanonicalInputError> {
    let fault = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = Strict { depth: 0, fault: &fault }.deserialize(&mut deserializer);
    let read = read.and_then(|value| deserializer.end().map(|()| value));
    read.map_err(|error| fault.take().unwrap_or_else(|| not_json(&error)))
}

fn not_json(error: &serde_json::Error) -> CanonicalInputError {
    CanonicalInputError::NotJson { message: error.to_string() }
}

fn shown(text: &str) -> String {
    bounded(&visible(text).to_string(), SHOWN_BYTES).to_string()
}

/// A value in which no name occurs twice, within the bound on depth.
#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: usize,
    /// Fault of the input: serde's own errors are texts.
    fault: &'a RefCell<Option<CanonicalInputError>>,
}

impl Strict<'_> {
    fn deeper<E: de::Error>(self) -> Result<Self, E> {
        match self.depth < MAX_INPUT_DEPTH {
            true => Ok(Self { depth: self.depth + 1, ..self }),
            false => Err(self.refused(CanonicalInputError::TooDeep)),
        }
    }

    fn refused<E: de::Error>(self, fault: CanonicalInputError) -> E {
        let error = E::custom(&fault);
        self.fault.replace(Some(fault));
        error
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number.map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let within = self.deeper()?;
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(within)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let within = self.deeper()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if object.contains_key(&name) {
                let name = shown(&name);
                return Err(self.refused(CanonicalInputError::DuplicateName { name }));
            }
            object.insert(name, members.next_value_seed(within)?);
        }
        Ok(Value::Object(object))
    }
}

/// Checks that a text is exactly one JSON value in which no name stands twice, within the bound on
/// depth, and whose every number is read as the number that it is: a 64-bit integer, or one that
/// survives its [canonical form](canonical_input).
///
/// # Errors
/// [`CanonicalInputError`].
pub fn expect_strict_json(text: &str) -> Result<(), CanonicalInputError> {
    strict_value(text)?;
    let is_integer = |it: &str| it.parse::<u64>().is_ok() || it.parse::<i64>().is_ok();
    for_each_number(text, |it| if is_integer(it) { Ok(()) } else { check_number(it) })
}

fn for_each_number(
    mut rest: &str,
    check: impl Fn(&str) -> Result<(), CanonicalInputError>,
) -> Result<(), CanonicalInputError> {
    while let Some(literal) = next_number(&mut rest) {
        check(literal)?;
    }
    Ok(())
}

/// The next number literal of a text that is known to be JSON; strings are passed over.
fn next_number<'t>(rest: &mut &'t str) -> Option<&'t str> {
    loop {
        let begins = |c: char| c == '"' || c == '-' || c.is_ascii_digit();
        let (_, found) = rest.split_at_checked(rest.find(begins)?)?;
        if let Some(string) = found.strip_prefix('"') {
            *rest = behind_string(string);
            continue;
        }
        let belongs = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = found.find(|c: char| !belongs(c)).unwrap_or(found.len());
        let (literal, behind) = found.split_at_checked(end)?;
        *rest = behind;
        return Some(literal);
    }
}

/// Returns what is behind the string whose content begins here.
fn behind_string(content: &str) -> &str {
    let mut is_escaped = false;
    let end = content.find(|c: char| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.and_then(|at| content.get(at + 1..)).unwrap_or_default()
}

/// Checks whether the number survives its canonical form.
fn check_number(literal: &str) -> Result<(), CanonicalInputError> {
    let inexact = |read_as: String| {
        let found = shown(literal);
        Err(CanonicalInputError::InexactNumber { found, read_as })
    };
    let Ok(double) = literal.parse::<f64>() else { return inexact("no number".to_string()) };
    // The shortest digits that give the double back: those of the canonical form.
    let read_as = format!("{double:e}");
    let (given, canonical) = (Decimal::of(literal), Decimal::of(&read_as));
    let survives = match given.is_whole() {
        true => given == canonical,
        false => !canonical.is_whole(),
    };
    if survives { Ok(()) } else { inexact(read_as) }
}

/// The size of a number, sign aside: its digits without zeros at either end, times a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(literal: &str) -> Self {
        let (mantissa, power) = literal.split_once(['e', 'E']).unwrap_or((literal, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{}{fraction}", whole.trim_start_matches('-'));
        let digits = all.trim_start_matches('0');
        let kept = digits.trim_end_matches('0');
        if kept.is_empty() {
            return Self { digits: String::new(), exponent: 0 };
        }
        let farthest = if power.starts_with('-') { i64::MIN } else { i64::MAX };
        let power = power.parse().unwrap_or(farthest);
        let fraction = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        let zeros = i64::try_from(digits.len() - kept.len()).unwrap_or(i64::MAX);
        let exponent = power.saturating_sub(fraction).saturating_add(zeros);
        Self { digits: kept.to_string(), exponent }
    }

    const fn is_whole(&self) -> bool {
        self.exponent >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        String::from_utf8(canonical_input(text).unwrap()).unwrap()
    }

    #[test]
    fn the_samples_of_the_rfc_come_out_as_it_says() {
        // RFC 8785, 3.2.2 and 3.2.3.
        let sample = r#"{
          "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
          "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
          "literals": [null, true, false]
        }"#;
        let expected = concat!(
            r#"{"literals":[null,true,false],"#,
            r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
            "\"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
        );
        assert_eq!(canonical(sample), expected);
        // Names are sorted by UTF-16 code units: the smiley before U+FB33, after the euro.
        let names =
            r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7}"#;
        let sorted = concat!(
            "{\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,",
            "\"\u{1f600}\":5,\"\u{fb33}\":3}"
        );
        assert_eq!(canonical(names), sorted);
    }

    #[test]
    fn doubles_are_written_as_the_rfc_has_them() {
        // RFC 8785, appendix B: the bits of a double, and its text.
        let table: [(u64, &str); 22] = [
            (0x0000_0000_0000_0000, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        ];
        for (bits, text) in table {
            let double = f64::from_bits(bits);
            let written = serde_json_canonicalizer::to_vec(&double).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text, "{bits:x}");
            assert_eq!(canonical(&format!("{double:e}")), text, "{bits:x}");
            // The canonical form is its own canonical form.
            assert_eq!(canonical(text), text, "{bits:x}");
        }
    }

    #[test]
    fn one_input_has_one_digest_however_it_is_written() {
        let one = canonical_input_sha256(r#"{"command":"rm -r x","n":1}"#).unwrap();
        for same in [
            "{ \"n\" : 1.0 ,\n\"command\":\"rm -r x\"}",
            r#"{"command":"\u0072m -r x","n":10e-1}"#,
            r#"{"comm\u0061nd":"rm -r x","n":1}"#,
        ] {
            assert_eq!(canonical_input_sha256(same), Ok(one), "{same}");
        }
        for other in [
            r#"{"command":"rm -r x","n":"1"}"#,
            r#"{"command":"rm -r x ","n":1}"#,
            r#"{"command":"rm -r x","n":1,"m":null}"#,
            r#"{"command":"rm -r x"}"#,
            r#"[{"command":"rm -r x","n":1}]"#,
            r#"{"Command":"rm -r x","n":1}"#,
        ] {
            assert_ne!(canonical_input_sha256(other), Ok(one), "{other}");
        }
        // What `printf '{"a":1}' | sha256sum` says.
        let digest = canonical_input_sha256("{\"a\" : 1}").unwrap().to_string();
        assert_eq!(digest, "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
    }

    #[test]
    fn a_name_that_occurs_twice_is_refused_wherever_it_is_and_however_it_is_written() {
        for text in
            [r#"{"a":1,"a":1}"#, r#"{"a":1,"b":2,"\u0061":3}"#, r#"[[{"b":{"a":1,"a":2}}]]"#]
        {
            let name = "a".to_string();
            assert_eq!(
                canonical_input(text),
                Err(CanonicalInputError::DuplicateName { name }),
                "{text}"
            );
        }
        assert_eq!(canonical(r#"[{"a":1},{"a":{"a":2}}]"#), r#"[{"a":1},{"a":{"a":2}}]"#);
    }

    #[test]
    fn a_whole_number_that_would_become_another_one_is_refused() {
        for text in [
            "9007199254740993",
            "-9007199254740993",
            "9007199254740993.0",
            "9.007199254740993e15",
            "18446744073709551615",
            "18446744073709551617",
            "1152921504606846976",
            "100000000000000000000000000000000000000000000000000001",
            "0.99999999999999999999",
            "9007199254740992.5",
            "1e-400",
            "0.1e-99999999999999999999",
            "{\"id\":[1,\"2\",9007199254740993]}",
        ] {
            let found = canonical_input(text);
            let is_refused = matches!(found, Err(CanonicalInputError::InexactNumber { .. }));
            assert!(is_refused, "{text}: {found:?}");
        }
        for (text, expected) in [
            ("9007199254740991", "9007199254740991"),
            ("9007199254740992", "9007199254740992"),
            ("1152921504606847000", "1152921504606847000"),
            ("1e23", "1e+23"),
            ("100e-2", "1"),
            ("0e99999999999999999999", "0"),
            ("-0.0", "0"),
            ("0.1", "0.1"),
            (
                r#"["9007199254740993","\"9007199254740993"]"#,
                r#"["9007199254740993","\"9007199254740993"]"#,
            ),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "{}{}",
            "{} x",
            "nul",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "+1",
            ".5",
            "1e400",
            "-1e400",
            "NaN",
            "Infinity",
            "'a'",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\n\"",
            "{1:2}",
            "// a\n1",
            "\u{feff}1",
        ] {
            let found = canonical_input(text);
            assert!(matches!(found, Err(CanonicalInputError::NotJson { .. })), "{text}: {found:?}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(canonical(&nested(MAX_INPUT_DEPTH)), nested(MAX_INPUT_DEPTH));
        for depth in [MAX_INPUT_DEPTH + 1, 127, 128, 1_000_000] {
            assert_eq!(canonical_input(&nested(depth)), Err(CanonicalInputError::TooDeep));
        }
        let objects = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
        assert_eq!(canonical_input(&objects), Err(CanonicalInputError::TooDeep));
        let long = |bytes| format!("\"{}\"", "a".repeat(bytes - 2));
        assert!(canonical_input(&long(MAX_INPUT_BYTES)).is_ok());
        let found = MAX_INPUT_BYTES + 1;
        assert_eq!(canonical_input(&long(found)), Err(CanonicalInputError::TooLong { found }));
    }
}
