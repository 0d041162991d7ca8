//! Texts of others without what has the form of a secret, before any of it is kept.

use super::secrets::{is_secret_name, is_secret_value};
use serde_json::Value;

/// Text in the place of a secret.
const REDACTED: &str = "[redacted]";

/// Amount of either end of a long text that is looked at, in bytes: more than is kept of it.
const WINDOW_BYTES: usize = 16 * 1024;

/// The beginning of a text and its end behind that, of so many bytes at most, without secrets.
///
/// Of JSON every text is looked at, and what stands under a name that says that it is a secret
/// goes; of anything else, and of JSON that is long, every line. A line that holds a secret goes as
/// a whole, and so does a private key. What is cut off at the edge of what is looked at is left
/// away, so that no part of a secret stays.
#[must_use]
pub fn ends_without_secrets(text: &str, most_bytes: usize) -> [String; 2] {
    if text.len() <= 2 * WINDOW_BYTES {
        let kept = without_secrets(text);
        let head = beginning(&kept, most_bytes);
        let tail = ending(kept.get(head.len()..).unwrap_or_default(), most_bytes);
        return [head.to_string(), tail.to_string()];
    }
    let (head, tail) = (whole_head(beginning(text, WINDOW_BYTES)), whole_tail(text));
    let head = redacted(members(&head.replace("\\n", "\n")));
    let tail = redacted(members(&tail.replace("\\n", "\n")));
    [beginning(&head, most_bytes).to_string(), ending(&tail, most_bytes).to_string()]
}

fn without_secrets(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            redact(&mut value);
            value.to_string()
        }
        Err(_) => redacted(text.split_inclusive('\n')),
    }
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => *text = redacted(text.split_inclusive('\n')),
        Value::Array(values) => values.iter_mut().for_each(redact),
        Value::Object(fields) => {
            for (name, within) in fields.iter_mut() {
                match is_secret_name(name.as_bytes()) {
                    true => *within = REDACTED.into(),
                    false => redact(within),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Lines, and in each what stands between commas: the members of JSON on one line.
fn members(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['\n', ','])
}

/// The beginning of a text up to the last end of a line in it, or at least of a word.
fn whole_head(head: &str) -> &str {
    let line = head.rfind('\n').or(head.rfind("\\n")).filter(|at| *at > head.len() / 2);
    let end = line.or_else(|| head.rfind(is_between_words)).unwrap_or(0);
    head.get(..end).unwrap_or_default()
}

/// The end of a text from the first beginning of a line in it, or at least of a word; behind a
/// private key that ends there.
fn whole_tail(text: &str) -> &str {
    let tail = ending(text, WINDOW_BYTES);
    let line = tail.find('\n').or(tail.find("\\n")).filter(|at| *at < tail.len() / 2);
    let begin = line.or_else(|| tail.find(is_between_words)).unwrap_or(tail.len());
    let tail = tail.get(begin..).unwrap_or_default();
    let begins = tail.find(KEY_BEGINS).unwrap_or(tail.len());
    match tail.find(KEY_ENDS).filter(|end| *end < begins) {
        Some(end) => tail.get(end..).unwrap_or_default(),
        None => tail,
    }
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\\' | ',')
}

/// The longest beginning of at most so many bytes that ends between two characters.
fn beginning(text: &str, most_bytes: usize) -> &str {
    let end = (0..=most_bytes.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    end.and_then(|at| text.get(..at)).unwrap_or_default()
}

/// The longest end of at most so many bytes that begins between two characters.
#[must_use]
pub fn ending(text: &str, most_bytes: usize) -> &str {
    let begin = text.len().saturating_sub(most_bytes);
    let begin = (begin..=text.len()).find(|at| text.is_char_boundary(*at));
    begin.and_then(|at| text.get(at..)).unwrap_or_default()
}

const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "-----END ";

/// Pieces of a text, those without that hold a secret.
fn redacted<'t>(pieces: impl Iterator<Item = &'t str>) -> String {
    let mut kept = String::new();
    let mut is_key = false;
    for piece in pieces {
        let begins = piece.contains(KEY_BEGINS) && piece.contains("PRIVATE KEY");
        let was_key = is_key;
        is_key = (is_key || begins) && !piece.contains(KEY_ENDS);
        if was_key {
            continue;
        }
        let end = piece.get(piece.trim_end_matches(['\n', ',']).len()..).unwrap_or_default();
        match name_of_secret(piece) {
            Some(named) => kept.extend([named, REDACTED, end]),
            None if begins || is_secret_value(piece.as_bytes()) => kept.extend([REDACTED, end]),
            None => kept.push_str(piece),
        }
    }
    kept
}

/// The beginning of a line that gives a value to a name which says that it is a secret.
fn name_of_secret(line: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let at = line.find(['=', ':'])?;
    let before = line.get(..at)?;
    let name = before.trim_end_matches(['"', '\'', ' ']).rsplit(|c| !is_part(c)).next()?;
    // What stands before the name may be a secret as well.
    let is_named = is_secret_name(name.as_bytes()) && !is_secret_value(before.as_bytes());
    is_named.then(|| line.get(..=at)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "ghp_0123456789abcdefghijABCD";

    #[test]
    fn what_has_the_form_of_a_secret_is_taken_out_wherever_it_stands() {
        let answer = serde_json::json!({
            "stdout": format!("deployed\nexport API_TOKEN=abc\nsee {TOKEN}\ndone\n"),
            "files": [{ "password": { "value": "hunter2" }, "path": "a" }],
            "stderr": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nok",
        });
        let kept = without_secrets(&answer.to_string());
        for secret in [TOKEN, "abc", "hunter2", "MIIE"] {
            assert!(!kept.contains(secret), "{secret}: {kept}");
        }
        for other in ["deployed", "export API_TOKEN=[redacted]", "done", "\"path\":\"a\"", "ok"] {
            assert!(kept.contains(other), "{other}: {kept}");
        }
        assert_eq!(without_secrets("a\nPASSWORD: x\nb"), "a\nPASSWORD:[redacted]\nb");
        assert_eq!(without_secrets(&format!("{TOKEN} key: x")), "[redacted]");
    }

    #[test]
    fn what_holds_no_secret_stays_as_it_is() {
        for text in ["", "plain", "a = b\nPATH=/bin\n\n", "{\"a\":[1,true,null,\"x: y\"]}"] {
            assert_eq!(without_secrets(text), text);
            let [head, tail] = ends_without_secrets(text, 4);
            assert_eq!(head, beginning(text, 4));
            assert!(text.ends_with(&tail) && tail.len() <= 4);
        }
    }

    /// Wherever the edges of what is looked at fall in a secret, no part of it stays.
    #[test]
    fn of_a_long_text_both_ends_are_kept_and_no_part_of_a_secret() {
        let plain = "some words of a book\\n".repeat(5_000);
        for shift in [0, 1, 13, 27, 28, 29, 31, 50] {
            let at = WINDOW_BYTES - shift;
            let mut text = plain.clone();
            let from_end = text.len() - at;
            text.replace_range(from_end..from_end + TOKEN.len() + 2, &format!(" {TOKEN} "));
            text.replace_range(at..at + TOKEN.len() + 2, &format!(" {TOKEN} "));
            // Everything before goes, so that the edge is what is kept.
            let secrets = |count: usize| "PASSWORD=x\\n".repeat(count / 12);
            text.replace_range(..at - 100, &secrets(at - 100));
            let [head, tail] = ends_without_secrets(&text, WINDOW_BYTES);
            for part in ["ghp_", "0123", "ABCD"] {
                assert!(!head.contains(part) && !tail.contains(part), "{shift}: {head}{tail}");
            }
        }
        let [head, tail] = ends_without_secrets(&plain, 4096);
        assert!(head.starts_with("some words") && (4000..=4096).contains(&head.len()));
        assert!(tail.ends_with("a book\n") && (4000..=4096).contains(&tail.len()));
        let key = format!("{plain}{}\n-----END PRIVATE KEY-----\nok\n", "MIIE".repeat(100));
        let [_, tail] = ends_without_secrets(&key, 4096);
        assert!(!tail.contains("MIIE") && tail.ends_with("ok\n"), "{tail}");
        let one = "x".repeat(100_000);
        assert_eq!(ends_without_secrets(&one, 4096), [String::new(), String::new()]);
    }
}
