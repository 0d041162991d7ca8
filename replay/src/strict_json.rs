//! Strict JSON, with the place of every value: RFC 8259 and nothing else. What other readers let
//! pass, or read in two ways, is refused: a name given twice, a lone surrogate, a number that is
//! not a whole one of 64 bits (a confidence is a fraction), more than one value.

use crate::json_fault::Fault;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::text::{bounded, visible};
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// The deepest nesting of objects and lists that is read.
const DEPTH_MAX: usize = 32;

/// The most values that one line may hold, so that memory follows the line's length.
const VALUES_MAX: usize = 65_536;

/// The names that the document has for confidences: behind each of them stands a fraction.
const CONFIDENCES: [&str; 11] = [
    "interrupt_subject_relation_confidence",
    "subject_relation_confidence",
    "phrase_confidence",
    "confidence",
    "phrase",
    "vad",
    "speech_likeness",
    "echo_safe",
    "nearfield",
    "lexical",
    "combined",
];

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Bytes before it in its line.
    pub at: usize,
    /// The value.
    pub value: Value,
}

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number: its sign, then the rest.
    Number {
        /// True behind a minus.
        is_negative: bool,
        /// The number without its sign.
        magnitude: u64,
    },
    /// A confidence, given as a fraction.
    Confidence(BasisPoints),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// An object, as it was written: no name stands twice.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Bytes before its name.
    pub at: usize,
    /// Its name.
    pub name: String,
    /// Its value.
    pub node: Node,
}

impl Node {
    /// True of an object with a member of this name.
    pub fn has(&self, name: &str) -> bool {
        match &self.value {
            Value::Object(members) => members.iter().any(|member| member.name == name),
            _ => false,
        }
    }
}

/// Reads a line as exactly one JSON value.
///
/// # Errors
/// The first byte that does not fit, and why.
pub fn parse(line: &[u8]) -> Result<Node, Fault> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Fault::at(error.valid_up_to(), "this byte is not UTF-8"))?;
    let mut parser = Parser { text, at: 0, values: 0 };
    parser.skip_space();
    if parser.peek().is_none() {
        return Err(parser.fault("the line is empty; write one JSON object on each line"));
    }
    let node = parser.value(0)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(node),
        Some(_) => Err(parser.unexpected("the end of the line")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
}

impl Parser<'_> {
    fn value(&mut self, depth: usize) -> Result<Node, Fault> {
        self.values = self.values.saturating_add(1);
        if self.values > VALUES_MAX {
            return Err(self.fault(format!("more than {VALUES_MAX} values; use several lines")));
        }
        let at = self.at;
        let value = match self.peek() {
            Some(b'{' | b'[') if depth == DEPTH_MAX => {
                return Err(self.fault(format!("nested more than {DEPTH_MAX} deep")));
            }
            Some(b'{') => {
                let members = self.items((b'{', b'}'), |parser, _| parser.member(depth));
                Value::Object(no_name_twice(members?)?)
            }
            Some(b'[') => Value::List(self.items((b'[', b']'), |parser, count| {
                let item = parser.value(depth.saturating_add(1));
                item.map_err(|fault| fault.inside(&format!("[{count}]")))
            })?),
            Some(b'"') => Value::Text(self.string()?),
            _ => self.scalar()?,
        };
        Ok(Node { at, value })
    }

    fn member(&mut self, depth: usize) -> Result<Member, Fault> {
        let at = self.at;
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a name in quotation marks"));
        }
        let name = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.unexpected("`:`"));
        }
        self.skip_space();
        let node = match CONFIDENCES.contains(&&*name) {
            true => self.confidence(),
            false => self.value(depth.saturating_add(1)),
        };
        let node = node.map_err(|fault| fault.inside(&name))?;
        Ok(Member { at, name, node })
    }

    /// A confidence by the name that the document has for it, as a fraction: kept as basis points.
    fn confidence(&mut self) -> Result<Node, Fault> {
        self.values = self.values.saturating_add(1);
        let start = self.at;
        let value = match self.peek() {
            Some(b'n') => self.scalar()?,
            Some(b'-' | b'0'..=b'9') => {
                let text = self.literal();
                let score = serde_json::from_str(text).ok();
                let score = score.ok_or_else(|| self.fault("this is no number"))?;
                let digits = text.split(['e', 'E']).next().unwrap_or_default();
                if score == 0.0 && digits.contains(|digit: char| ('1'..='9').contains(&digit)) {
                    return Err(self.fault("this is too near to 0 to be told from 0"));
                }
                let points = BasisPoints::from_score(score);
                let points = points.map_err(|refusal| self.fault(refusal.to_string()))?;
                self.at = start.saturating_add(text.len());
                Value::Confidence(points)
            }
            _ => {
                return Err(self.unexpected("a confidence, a number from 0 up to 1, which is none"));
            }
        };
        Ok(Node { at: start, value })
    }

    /// Reads what stands between two brackets, with commas between.
    fn items<T>(
        &mut self,
        (begin, end): (u8, u8),
        read: impl Fn(&mut Self, usize) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut items = Vec::new();
        self.take(begin);
        self.skip_space();
        if self.take(end) {
            return Ok(items);
        }
        loop {
            self.skip_space();
            items.push(read(self, items.len())?);
            self.skip_space();
            if self.take(end) {
                return Ok(items);
            }
            if !self.take(b',') {
                return Err(self.unexpected(&format!("`,` or `{}`", char::from(end))));
            }
        }
    }

    /// Reads a word or a number; what only begins as a number is named for what it is.
    fn scalar(&mut self) -> Result<Value, Fault> {
        let text = self.literal();
        let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |it| (true, it));
        let value = match text {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                return Err(self.unexpected("a value"));
            }
            _ => {
                let is_whole = digits == "0" || !digits.starts_with(['0', '+']);
                let least = i64::MIN.unsigned_abs();
                let magnitude = digits.parse().ok().filter(|it| !is_negative || *it <= least);
                let magnitude = magnitude.filter(|_| is_whole).ok_or_else(|| {
                    self.fault("write a whole number from -2^63 to 2^64-1, without zeros in front")
                })?;
                Value::Number { is_negative, magnitude }
            }
        };
        self.at = self.at.saturating_add(text.len());
        Ok(value)
    }

    /// The word or number that begins here.
    fn literal(&self) -> &str {
        let rest = self.rest();
        let end = rest.find([',', ':', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let mut is_escaped = false;
        let is_end = |byte: &u8| {
            let ends = *byte == b'"' && !is_escaped || *byte < b' ';
            is_escaped = *byte == b'\\' && !is_escaped;
            ends
        };
        self.step();
        let length = self.rest().as_bytes().iter().position(is_end);
        self.at = length.map_or(self.text.len(), |length| self.at.saturating_add(length));
        match self.peek() {
            Some(b'"') => self.step(),
            Some(_) => return Err(self.fault("write control characters as \\u00..")),
            None => return Err(self.fault("the line ends inside a text")),
        }
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written).map_err(|error| {
            let until = written.get(..error.column()).unwrap_or(written);
            let escape = until.rfind('\\').unwrap_or_default();
            Fault::at(
                start.saturating_add(escape),
                "no such escape in JSON: write \\u and four hexadecimal digits, and both halves of \
                 a surrogate pair",
            )
        })
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.step();
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        if is_there {
            self.step();
        }
        is_there
    }

    fn step(&mut self) {
        self.at = self.at.saturating_add(1);
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::at(self.at, message)
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.rest().chars().next() {
            Some(found) => format!("`{}`", visible(bounded(found.encode_utf8(&mut [0; 4]), 4))),
            None => "the end of the line".into(),
        };
        self.fault(format!("expected {expected}, found {found}"))
    }
}

/// Two readers may choose differently between two members of one name.
fn no_name_twice(members: Vec<Member>) -> Result<Vec<Member>, Fault> {
    let mut names = BTreeSet::new();
    match members.iter().find(|member| !names.insert(&member.name)) {
        None => Ok(members),
        Some(Member { at, name, .. }) => {
            Err(Fault::at(*at, "the name stands twice; write it once").inside(name))
        }
    }
}

/// Reads a value out of strict JSON. What does not fit is told with its field and its place.
///
/// # Errors
/// The fault in words, with its field and its column.
pub fn strict<T: DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    let read = parse(json).and_then(|node| T::deserialize(&node));
    read.map_err(|fault| match fault.field() {
        "" => fault.to_string(),
        field => format!("{field}, {fault}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Column and message of what is wrong with a line.
    fn fault(line: &[u8]) -> (usize, String) {
        let fault = parse(line).unwrap_err();
        (fault.column(), fault.message().to_string())
    }

    #[test]
    fn what_json_allows_is_read_exactly() {
        let line = br#" {"a":[null,true,false,-9223372036854775808,18446744073709551615],"b":""} "#;
        let Value::Object(members) = parse(line).unwrap().value else { panic!() };
        assert_eq!((members[0].name.as_str(), members[0].at), ("a", 2));
        let Value::List(items) = &members[0].node.value else { panic!() };
        assert_eq!(items[0].value, Value::Null);
        assert_eq!(items[4].value, Value::Number { is_negative: false, magnitude: u64::MAX });
        let text = parse(br#""\"\\\/\b\f\n\r\t\u00e9\ud83d\udd52\udbff\udfff""#).unwrap();
        let expected = "\"\\/\u{8}\u{c}\n\r\t\u{e9}\u{1f552}\u{10ffff}";
        assert_eq!(text.value, Value::Text(expected.into()));
    }

    #[test]
    fn every_escaped_character_is_read_as_serde_reads_it() {
        for character in (0..=0x10_ffff).step_by(7).filter_map(char::from_u32) {
            let mut units = [0; 2];
            let units = character.encode_utf16(&mut units).iter();
            let escaped: String = units.map(|unit| format!("\\u{unit:04x}")).collect();
            let found = parse(format!("\"{escaped}\"").as_bytes()).unwrap().value;
            assert_eq!(found, Value::Text(character.into()), "{escaped}");
        }
    }

    #[test]
    fn what_json_forbids_is_refused_with_its_place() {
        let table: [(&[u8], usize, &str); 22] = [
            (b"", 1, "empty"),
            (b"  ", 3, "empty"),
            (b"{} {}", 4, "the end of the line, found `{`"),
            (b"{\"a\":1", 7, "`,` or `}`"),
            (b"[1,]", 4, "a value, found `]`"),
            (b"{a:1}", 2, "quotation marks"),
            (b"{\"a\" 1}", 6, "`:`"),
            (b"\xef\xbb\xbf{}", 1, "a value, found `\\u{feff}`"),
            (b"\"a\xff\"", 3, "UTF-8"),
            (b"\"\xed\xa0\x80\"", 2, "UTF-8"),
            (b"\"a\tb\"", 3, "control"),
            (b"\"abc", 5, "inside a text"),
            (b"\"\\ud800\"", 2, "surrogate"),
            (b"\"\\udc00\"", 2, "surrogate"),
            (b"\"\\ud800\\u0041\"", 8, "surrogate"),
            (b"\"\\u12g4\"", 2, "hexadecimal"),
            (b"\"\\x41\"", 2, "escape"),
            (b"01", 1, "whole number"),
            (b"1.0", 1, "whole number"),
            (b"-9223372036854775809", 1, "whole number"),
            (b"18446744073709551616", 1, "whole number"),
            (b"NaN", 1, "a value"),
        ];
        for (line, column, message) in table {
            let (found_column, found) = fault(line);
            let shown = String::from_utf8_lossy(line);
            assert_eq!(found_column, column, "{shown}: {found}");
            assert!(found.contains(message), "{shown}: {found}");
        }
    }

    #[test]
    fn a_name_that_stands_twice_is_found_also_when_it_is_written_differently() {
        let fault = parse(br#"{"a":{"b":1,"c":2,"\u0062":3}}"#).unwrap_err();
        assert_eq!((fault.column(), fault.field()), (19, "a.b"));
    }

    #[test]
    fn depth_and_number_of_values_are_bounded() {
        let deep = "[".repeat(1_000_000);
        let (column, message) = fault(deep.as_bytes());
        assert_eq!(column, DEPTH_MAX + 1);
        assert!(message.contains("deep"));
        let wide = format!("[{}0]", "0,".repeat(VALUES_MAX));
        assert!(fault(wide.as_bytes()).1.contains("more than 65536 values"));
    }
}
