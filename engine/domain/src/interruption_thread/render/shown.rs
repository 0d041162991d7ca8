//! The text that is read: answer, citations, sources, time, each a paragraph of its own. Whatever a
//! tool says, only the frame begins a paragraph.

use alloc::format;
use alloc::string::String;

use super::phrases::Phrases;
use super::{Citation, MAX_SHOWN_FIELDS, MAX_SHOWN_SOURCES, ToolResponse, ToolSource};
use crate::interruption_thread::ToolStatus;
use crate::text::bounded;

/// How much of a quote is shown, in bytes: the list behind the text has all of it.
const SHOWN_QUOTE_MAX: usize = 512;

pub(super) fn text(response: &ToolResponse, phrases: &Phrases) -> String {
    let mut text = answer(response, phrases);
    let citations = response.citations.as_deref().unwrap_or_default();
    let quotes = citations.iter().map(cited);
    list(&mut text, phrases.citations, quotes, phrases);
    let sources = response.sources.iter().enumerate().map(|(place, source)| sourced(place, source));
    list(&mut text, phrases.sources, sources, phrases);
    text.push_str(&format!("\n\n{} {}", phrases.retrieved_at, response.retrieved_at));
    text
}

/// The answer, and a line for each of its details.
fn answer(response: &ToolResponse, phrases: &Phrases) -> String {
    let summary = response.summary.as_deref().unwrap_or_default();
    let mut text = match response.status {
        ToolStatus::Ambiguous => format!("{} {summary}", phrases.several),
        ToolStatus::Ok | ToolStatus::Fail => String::from(summary),
    };
    for field in response.fields.iter().take(MAX_SHOWN_FIELDS) {
        text.push_str(&format!("\n- {}: {}", field.key, field.value));
    }
    let left_off = response.fields.len().saturating_sub(MAX_SHOWN_FIELDS);
    if left_off > 0 {
        text.push_str(&format!("\n- {}", phrases.and_more(left_off)));
    }
    text
}

/// A paragraph with a heading, the first five items, and how many are left off.
fn list(
    text: &mut String,
    heading: &str,
    items: impl ExactSizeIterator<Item = String>,
    phrases: &Phrases,
) {
    if items.len() == 0 {
        return;
    }
    let left_off = items.len().saturating_sub(MAX_SHOWN_SOURCES);
    text.push_str(&format!("\n\n{heading}"));
    for item in items.take(MAX_SHOWN_SOURCES) {
        text.push('\n');
        text.push_str(&item);
    }
    if left_off > 0 {
        text.push_str(&format!("\n{}", phrases.and_more(left_off)));
    }
}

fn cited(citation: &Citation) -> String {
    let shown = bounded(&citation.quote, SHOWN_QUOTE_MAX);
    let rest = if shown.len() < citation.quote.len() { "..." } else { "" };
    format!("[{}] \"{shown}{rest}\"", citation.source_number)
}

fn sourced(place: usize, source: &ToolSource) -> String {
    format!("[{}] {} - {}", place.saturating_add(1), source.title, source.url)
}
