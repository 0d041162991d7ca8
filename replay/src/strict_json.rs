//! Strict JSON, with the place of every value: RFC 8259 and nothing else. What other readers let
//! pass, or read in two ways, is refused: a name given twice, a lone surrogate, a number that is
//! not a whole one of 64 bits (a confidence is a fraction), more than one value.

use crate::json_fault::Fault;
use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::text::{bounded, visible};
use serde::de::DeserializeOwned;

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
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
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
            Some(b'n') => self.word()?,
            Some(b'-' | b'0'..=b'9') => {
                let rest = self.rest();
                let is_part =
                    |c: char| c.is_ascii_digit() || ['-', '+', '.', 'e', 'E'].contains(&c);
                let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
                let text = rest.get(..end).unwrap_or_default();
                let score = serde_json::from_str(text).ok();
                let score = score.ok_or_else(|| Fault::at(start, "this is no number"))?;
                let digits = text.split(['e', 'E']).next().unwrap_or_default();
                if score == 0.0 && digits.contains(|digit: char| ('1'..='9').contains(&digit)) {
                    return Err(Fault::at(start, "this is too near to 0 to be told from 0"));
                }
                let points = BasisPoints::from_score(score);
                let points = points.map_err(|refusal| Fault::at(start, refusal.to_string()))?;
                self.at = start.saturating_add(end);
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

    fn word(&mut self) -> Result<Value, Fault> {
        let words =
            [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))];
        for (word, value) in words {
            if self.rest().starts_with(word) {
                self.at = self.at.saturating_add(word.len());
                return Ok(value);
            }
        }
        Err(self.unexpected("a value"))
    }

    /// The grammar of JSON first, so that `01` and `+1` are named for what they are.
    fn number(&mut self) -> Result<Value, Fault> {
        let start = self.at;
        let is_negative = self.take(b'-');
        let digits = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.step();
        }
        let text = self.text.get(digits..self.at).unwrap_or_default();
        let is_fraction = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        let has_zeros = text.len() > 1 && text.starts_with('0');
        let least = u64::try_from(i64::MAX).unwrap_or(0).saturating_add(1);
        let magnitude = text.parse().ok().filter(|found| !is_negative || *found <= least);
        match magnitude {
            Some(magnitude) if !is_fraction && !has_zeros => {
                Ok(Value::Number { is_negative, magnitude })
            }
            _ => Err(Fault::at(
                start,
                "write a whole number from -2^63 to 2^64-1, without zeros in front",
            )),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.take(b'"');
        let mut text = String::new();
        loop {
            let plain = self.plain_length();
            text.push_str(self.rest().get(..plain).unwrap_or_default());
            self.at = self.at.saturating_add(plain);
            match self.peek() {
                Some(b'"') => {
                    self.step();
                    return Ok(text);
                }
                Some(b'\\') => text.push(self.escape()?),
                Some(_) => return Err(self.fault("write control characters as \\u00..")),
                None => return Err(self.fault("the line ends inside a text")),
            }
        }
    }

    /// Bytes up to the next quotation mark, backslash or control character.
    fn plain_length(&self) -> usize {
        let rest = self.rest().as_bytes();
        let special = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
        special.unwrap_or(rest.len())
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let start = self.at;
        self.step();
        let character = match self.peek() {
            Some(byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(start),
            _ => return Err(Fault::at(start, "no such escape in JSON")),
        };
        self.step();
        Ok(character)
    }

    /// `\uXXXX`, or two of them that are one character.
    fn unicode(&mut self, start: usize) -> Result<char, Fault> {
        let first = self.unit(start)?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).ok_or_else(|| lone_surrogate(start));
        }
        if first >= 0xdc00 || !self.rest().starts_with("\\u") {
            return Err(lone_surrogate(start));
        }
        self.step();
        let second = self.unit(start)?;
        if !(0xdc00..0xe000).contains(&second) {
            return Err(lone_surrogate(start));
        }
        let (high, low) = (first & 0x3ff, second & 0x3ff);
        char::from_u32(0x1_0000 + ((high << 10) | low)).ok_or_else(|| lone_surrogate(start))
    }

    /// The four digits behind `u`.
    fn unit(&mut self, start: usize) -> Result<u32, Fault> {
        self.step();
        let end = self.at.saturating_add(4);
        let digits = self.text.get(self.at..end).filter(|digits| is_hexadecimal(digits));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at = end.min(self.text.len());
        unit.ok_or_else(|| Fault::at(start, "write \\u and four hexadecimal digits"))
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

fn is_hexadecimal(digits: &str) -> bool {
    digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn lone_surrogate(at: usize) -> Fault {
    Fault::at(at, "half of a surrogate pair is no character; write both halves")
}

/// Two readers may choose differently between two members of one name.
fn no_name_twice(members: Vec<Member>) -> Result<Vec<Member>, Fault> {
    let mut order: Vec<&Member> = members.iter().collect();
    order.sort_by(|a, b| (&a.name, a.at).cmp(&(&b.name, b.at)));
    for (first, second) in order.iter().zip(order.iter().skip(1)) {
        if first.name == second.name {
            let fault = Fault::at(second.at, "the name stands twice; write it once");
            return Err(fault.inside(&second.name));
        }
    }
    Ok(members)
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
            (b"\"\\ud800\\u0041\"", 2, "surrogate"),
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
