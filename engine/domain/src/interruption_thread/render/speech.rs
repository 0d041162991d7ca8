//! The text that is heard: sentences without addresses and without anything that a voice would
//! spell out or take for an instruction.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::phrases::Phrases;
use super::{MAX_SHOWN_FIELDS, MAX_SHOWN_SOURCES, ToolResponse};
use crate::interruption_thread::ToolStatus;

/// What Markdown, SSML and shells give a meaning of their own.
const MARKUP: [char; 15] =
    ['<', '>', '*', '_', '#', '`', '~', '|', '[', ']', '{', '}', '\\', '^', '='];

/// What stands right behind the word before it.
const CLOSING: [char; 7] = ['.', ',', ';', ':', '!', '?', ')'];

pub(super) fn text(response: &ToolResponse, phrases: &Phrases) -> String {
    let answer = answer(response, phrases);
    if answer.is_empty() {
        return String::from(phrases.unspeakable);
    }
    let several = (response.status == ToolStatus::Ambiguous).then(|| phrases.several.into());
    let sentences = several.into_iter().chain(answer).chain(sources(response, phrases));
    sentences.collect::<Vec<_>>().join(" ")
}

/// The answer and its details, a sentence each.
fn answer(response: &ToolResponse, phrases: &Phrases) -> Vec<String> {
    let summary = response.summary.iter().map(|summary| speakable(summary, phrases));
    let fields = response.fields.iter().take(MAX_SHOWN_FIELDS).map(|field| {
        match (speakable(&field.key, phrases), speakable(&field.value, phrases)) {
            (_, value) if value.is_empty() => value,
            (key, value) => format!("{key}: {value}"),
        }
    });
    let spoken = summary.chain(fields).filter(|text| text.chars().any(char::is_alphanumeric));
    let mut sentences: Vec<String> = spoken.map(sentence).collect();
    let left_off = response.fields.len().saturating_sub(MAX_SHOWN_FIELDS);
    if left_off > 0 && !sentences.is_empty() {
        sentences.push(sentence(phrases.and_more(left_off)));
    }
    sentences
}

/// The titles of the first five sources.
fn sources(response: &ToolResponse, phrases: &Phrases) -> Option<String> {
    let titles = response.sources.iter().take(MAX_SHOWN_SOURCES);
    let titles = titles.map(|source| speakable(&source.title, phrases));
    let mut titles: Vec<_> = titles.filter(|title| !title.is_empty()).collect();
    if titles.is_empty() {
        return None;
    }
    let left_off = response.sources.len().saturating_sub(MAX_SHOWN_SOURCES);
    if left_off > 0 {
        titles.push(phrases.and_more(left_off));
    }
    Some(sentence(format!("{}: {}", phrases.sources, titles.join(", "))))
}

fn sentence(mut text: String) -> String {
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// The words of one line, without tags, addresses and markup.
fn speakable(line: &str, phrases: &Phrases) -> String {
    let line = without_tags(line);
    let mut spoken = String::with_capacity(line.len());
    for word in line.split(' ') {
        let (word, tail) = without_address(word);
        let word = word.replace('&', &format!(" {} ", phrases.and));
        let parts = word.split(|c: char| c == ' ' || MARKUP.contains(&c)).chain([tail]);
        for part in parts.filter(|part| !part.is_empty()) {
            if !spoken.is_empty() && !part.chars().all(|c| CLOSING.contains(&c)) {
                spoken.push(' ');
            }
            spoken.push_str(part);
        }
    }
    spoken
}

/// The line with a space for every tag: from `<` before a letter, `/`, `!` or `?` to the next `>`.
fn without_tags(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('<') {
        kept.push_str(before);
        kept.push(' ');
        let opens = after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        rest = match after.split_once('>') {
            Some((_, behind)) if opens => behind,
            _ => after,
        };
    }
    kept.push_str(rest);
    kept
}

/// What stands before and behind an address in a word: it begins with a scheme before `://`, or
/// with `www.`, and ends before the word's closing marks.
fn without_address(word: &str) -> (&str, &str) {
    let of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let before_scheme = word.split_once("://").map(|(head, _)| head.trim_end_matches(of_scheme));
    let by_name = word.to_ascii_lowercase().find("www.").and_then(|at| word.get(..at));
    let head = [before_scheme, by_name].into_iter().flatten().min_by_key(|head| head.len());
    let Some(head) = head else { return (word, "") };
    let address = word.get(head.len()..).unwrap_or_default();
    let tail = address.get(address.trim_end_matches(CLOSING).len()..).unwrap_or_default();
    match head.strip_suffix('(') {
        Some(head) => (head, tail.trim_start_matches(')')),
        None => (head, tail),
    }
}
