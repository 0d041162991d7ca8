//! Answers within their bound: what is too long to be told is cut, and said to be.

use crate::ui::output::ascii;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::bounded;
use holdpoint_replay::Line;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Longest JSON of an answer, in bytes. It stands on the wire twice, the second time in a text.
const ANSWER_BYTES_MAX: usize = 512 << 10;
/// What is kept of a list that is cut. No page has as many as are cut to that.
const LIST_KEPT: usize = 100;
const LIST_MAX: usize = 200;
/// Shortest text that is cut, and what is kept of one, in bytes.
const TEXT_BYTES_MIN: usize = 512;
const TEXT_BYTES_KEPT: usize = 64;

/// How many bytes the JSON of a value has on the wire.
pub(super) fn bytes_of(value: &Value) -> usize {
    value.to_string().chars().map(width).sum()
}

fn width(character: char) -> usize {
    if matches!(character, ' '..='~') { 1 } else { character.len_utf16() * "\\u0000".len() }
}

/// A record as it is told. Of one whose line is longer than a page the event is left out; its
/// length and its SHA-256 are those of its JSON in `log --json`.
pub(super) fn record(mut line: Line, most_bytes: usize) -> Value {
    let value = json!(line);
    if bytes_of(&value) <= most_bytes {
        return value;
    }
    let event = ascii(&serde_json::to_string(&line.event.take()).unwrap_or_default());
    let mut value = json!(line);
    if let Some(fields) = value.as_object_mut() {
        let left_out = json!({ "length": event.len(), "sha256": sha256(event.as_bytes()) });
        fields.insert("event_left_out".into(), left_out);
    }
    value
}

/// An answer that is not too long. Of one that would be, long lists that are no page are cut, then
/// the longest texts until it fits; `cut` says which, how long they are, and what they hash to.
pub(super) fn fitted(mut answer: Value) -> Value {
    if bytes_of(&answer) <= ANSWER_BYTES_MAX {
        return answer;
    }
    let (mut cut, mut texts) = (Vec::new(), Vec::new());
    cut_lists(&mut answer, "", &mut cut);
    texts_of(&answer, "", &mut texts);
    texts.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let mut bytes = bytes_of(&answer).saturating_add(bytes_of(&json!(cut)));
    for (long, at) in texts {
        if bytes <= ANSWER_BYTES_MAX {
            break;
        }
        let Some(text) = answer.pointer_mut(&at) else { continue };
        let said = text.as_str().unwrap_or_default();
        let entry = json!({ "at": at, "length": said.len(), "sha256": sha256(said.as_bytes()) });
        *text = json!(format!("{}.. (cut)", bounded(said, TEXT_BYTES_KEPT)));
        let added = bytes_of(text).saturating_add(bytes_of(&entry));
        bytes = bytes.saturating_sub(long).saturating_add(added);
        cut.push(entry);
    }
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("cut".into(), json!(cut));
    }
    answer
}

/// Cuts every list that is too long. Places are JSON Pointers.
fn cut_lists(value: &mut Value, at: &str, cut: &mut Vec<Value>) {
    match value {
        Value::Array(items) => {
            if items.len() > LIST_MAX {
                cut.push(json!({ "at": at, "items": items.len() }));
                items.truncate(LIST_KEPT);
            }
            for (number, item) in items.iter_mut().enumerate() {
                cut_lists(item, &format!("{at}/{number}"), cut);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                cut_lists(field, &below(at, name), cut);
            }
        }
        _ => {}
    }
}

/// The texts that may be cut: how long they are, and where.
fn texts_of(value: &Value, at: &str, texts: &mut Vec<(usize, String)>) {
    match value {
        Value::String(_) => {
            let bytes = bytes_of(value);
            if bytes >= TEXT_BYTES_MIN {
                texts.push((bytes, at.to_string()));
            }
        }
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                texts_of(item, &format!("{at}/{number}"), texts);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                texts_of(field, &below(at, name), texts);
            }
        }
        _ => {}
    }
}

fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_fits_is_told_as_it_is_and_of_a_longer_one_the_longest_texts_are_cut() {
        let short = json!({ "a": "x".repeat(400 << 10), "b": ["y"] });
        assert_eq!(fitted(short.clone()), short);
        let (long, kept) = ("\u{1}".repeat(100 << 10), "k".repeat(60_000));
        let answer = fitted(json!({ "a/b": [{ "context": long, "prompt": kept }], "n": 1 }));
        assert_eq!((&answer["n"], &answer["a/b"][0]["prompt"]), (&1.into(), &kept.into()));
        let cut = answer["a/b"][0]["context"].as_str().unwrap();
        assert!(cut.starts_with('\u{1}') && cut.ends_with(".. (cut)") && cut.len() < 100);
        let entry = json!({
            "at": "/a~1b/0/context",
            "length": long.len(),
            "sha256": sha256(long.as_bytes()),
        });
        assert_eq!(answer["cut"], json!([entry]));
    }

    #[test]
    fn whatever_an_answer_holds_it_is_within_the_bound_in_ascii() {
        for text in ["\u{1}", "\"", "\u{e9}", "\u{2028}", "\u{1f552}"] {
            for (count, length) in [(1, 1 << 20), (150, 40_000), (5_000, 300)] {
                let answer = json!({ "list": vec![text.repeat(length); count] });
                let fitted = fitted(answer);
                let json = ascii(&fitted.to_string());
                assert_eq!(json.len(), bytes_of(&fitted));
                assert!(json.len() <= ANSWER_BYTES_MAX, "{text:?} {count} {}", json.len());
                assert!(!fitted["cut"].as_array().unwrap().is_empty());
            }
        }
    }

    #[test]
    fn of_a_list_that_is_no_page_the_beginning_is_told_and_how_many_there_are() {
        let answer = fitted(json!({ "reach": { "by": vec![7_777_777; 100_000] } }));
        assert_eq!(answer["reach"]["by"].as_array().unwrap().len(), LIST_KEPT);
        assert_eq!(answer["cut"], json!([{ "at": "/reach/by", "items": 100_000 }]));
    }
}
