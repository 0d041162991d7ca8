//! What may be rendered: bounds, addresses, and characters that a reader can trust.

use alloc::string::String;
use alloc::vec::Vec;

use crate::core::payload::Text;
use crate::core::text::{BLANK_CODE_POINTS, bounded, has_visible_character, hidden_character};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::render::{
    Citation, MAX_TOOL_ITEMS, RenderLocale, ToolField, ToolResponse, ToolSource,
};
use crate::interruption_thread::types::{ReasonCode, ToolStatus};
use crate::interruption_thread::validate::{check_locale, check_name, malformed, require};

type Checked = Result<(), ThreadRefusal>;

/// How long a text may be, in bytes, and how a refusal says it.
type Bound = (usize, &'static str);

const NAME: Bound = (128, "at most 128 bytes");

const TITLE: Bound = (256, "at most 256 bytes");

const LONG: Bound = (1_024, "at most 1024 bytes");

const QUOTE: Bound = (2_048, "at most 2048 bytes");

/// Longest address, in bytes.
const URL_MAX: usize = 2_048;

/// Longest detail of a failure, in bytes.
const FAILURE_DETAIL_MAX: usize = 1_024;

/// Printable ASCII that RFC 3986 keeps out of addresses.
const NOT_IN_URLS: &[u8] = b"\"<>\\^`{|}";

/// The language of the phrases: English where none is asked for.
pub(crate) fn locale(locale: Option<&str>) -> Result<RenderLocale, ThreadRefusal> {
    let Some(locale) = locale else { return Ok(RenderLocale::English) };
    check_locale("locale", locale)?;
    Ok(RenderLocale::nearest(locale))
}

/// The reason of a refusal renders nothing, and a tool's reason fits how the tool answered.
pub(crate) fn check_reason(status: ToolStatus, reason_code: ReasonCode) -> Checked {
    let fits = match reason_code {
        ReasonCode::ToolOk => status == ToolStatus::Ok,
        ReasonCode::ToolFail => status == ToolStatus::Fail,
        ReasonCode::ToolAmbiguous => status == ToolStatus::Ambiguous,
        other => !other.is_refusal(),
    };
    require(fits, "reason_code", "one that fits the tool's status, no refusal", reason_code)
}

/// The response with every text as it may be shown: one line, nothing hidden in it.
pub(crate) fn readable(response: &ToolResponse) -> Result<ToolResponse, ThreadRefusal> {
    check_frame(response)?;
    let summary = response.summary.as_ref();
    let summary = summary.map(|summary| plain("tool_response.summary", summary, LONG));
    let sources = response.sources.iter().map(source).collect::<Result<Vec<_>, _>>()?;
    let cited = |citations: &Vec<Citation>| {
        citations.iter().map(|one| citation(one, sources.len())).collect::<Result<Vec<_>, _>>()
    };
    let citations = response.citations.as_ref().map(cited).transpose()?;
    Ok(ToolResponse {
        request_id: response.request_id.clone(),
        tool_name: response.tool_name.clone(),
        status: response.status,
        summary: summary.transpose()?,
        fields: response.fields.iter().map(field).collect::<Result<_, _>>()?,
        sources,
        citations,
        retrieved_at: response.retrieved_at,
        failure_detail: None,
    })
}

/// Everything but the texts that are shown.
fn check_frame(response: &ToolResponse) -> Checked {
    let expected = "1 to 128 bytes, visible, without control characters";
    check_name("tool_response.request_id", &response.request_id, 128, expected)?;
    let expected = "1 to 64 bytes, visible, without control characters";
    check_name("tool_response.tool_name", &response.tool_name, 64, expected)?;
    let at = response.retrieved_at;
    require(at.nanoseconds() > 0, "tool_response.retrieved_at", "after 1970 began", at)?;
    check_counts(response)?;
    check_status(response)
}

fn check_counts(response: &ToolResponse) -> Checked {
    let most = "at most 20";
    let check = |field, count| require(count <= MAX_TOOL_ITEMS, field, most, count);
    check("tool_response.fields", response.fields.len())?;
    check("tool_response.sources", response.sources.len())?;
    check("tool_response.citations", response.citations.as_ref().map_or(0, Vec::len))
}

/// A tool that failed says why and no more than that; any other has an answer.
fn check_status(response: &ToolResponse) -> Checked {
    let failed = response.status == ToolStatus::Fail;
    let answered = failed || response.summary.is_some();
    require(answered, "tool_response.summary", "an answer unless the tool failed", "none")?;
    let sourced = response.status != ToolStatus::Ok || !response.sources.is_empty();
    require(sourced, "tool_response.sources", "at least one where the status is OK", "none")?;
    let detail = response.failure_detail.as_ref();
    let field = "tool_response.failure_detail";
    require(failed || detail.is_none(), field, "none unless the tool failed", "one")?;
    let bytes = detail.map_or(0, |detail| detail.len());
    require(bytes <= FAILURE_DETAIL_MAX, field, "at most 1024 bytes", bytes)
}

fn field(field: &ToolField) -> Result<ToolField, ThreadRefusal> {
    Ok(ToolField {
        key: plain("tool_response.fields.key", &field.key, NAME)?,
        value: plain("tool_response.fields.value", &field.value, LONG)?,
    })
}

fn source(source: &ToolSource) -> Result<ToolSource, ThreadRefusal> {
    let snippet = source.snippet.as_ref();
    let snippet = snippet.map(|snippet| plain("tool_response.sources.snippet", snippet, QUOTE));
    check_url(&source.url)?;
    Ok(ToolSource {
        title: plain("tool_response.sources.title", &source.title, TITLE)?,
        url: source.url.clone(),
        snippet: snippet.transpose()?,
    })
}

fn citation(citation: &Citation, sources: usize) -> Result<Citation, ThreadRefusal> {
    let number = citation.source_number;
    let exists = number > 0 && usize::try_from(number).is_ok_and(|number| number <= sources);
    let field = "tool_response.citations.source_number";
    require(exists, field, "the place of a source, from 1", number)?;
    let quote = plain("tool_response.citations.quote", &citation.quote, QUOTE)?;
    Ok(Citation { source_number: number, quote })
}

/// An address that leads where it seems to: http or https, a host, no user before it.
fn check_url(url: &str) -> Checked {
    let rest = ["https://", "http://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let is_of_one = |byte: u8| byte.is_ascii_graphic() && !NOT_IN_URLS.contains(&byte);
    let holds = !host.is_empty()
        && !host.contains('@')
        && url.len() <= URL_MAX
        && url.bytes().all(is_of_one);
    let expected = "http:// or https://, a host, at most 2048 bytes of printable ASCII";
    require(holds, "tool_response.sources.url", expected, bounded(url, 96))
}

/// A text on one line: every run of blanks is one space; what is invisible in honest text (soft
/// hyphens, joiners, presentation marks) is left out; any other hidden character is refused.
fn plain(field: &'static str, text: &str, bound: Bound) -> Result<Text, ThreadRefusal> {
    let (most, expected) = bound;
    require(text.len() <= most, field, expected, format_args!("{} bytes", text.len()))?;
    let words = text.split(is_folded).filter(|word| !word.is_empty());
    let mut line = String::with_capacity(text.len());
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !is_left_out(*c)));
    }
    let expected = "visible text without control or direction characters";
    match hidden_character(&line) {
        Some((_, c)) => Err(malformed(field, expected, format_args!("U+{:04X}", u32::from(c)))),
        None if has_visible_character(&line) => Ok(Text::from(line)),
        None => Err(malformed(field, expected, "nothing visible")),
    }
}

/// Blanks, but none that is a control other than a line break or a tab.
fn is_folded(c: char) -> bool {
    BLANK_CODE_POINTS.contains(&c) && (!c.is_control() || matches!(c, '\n' | '\r' | '\t'))
}

const fn is_left_out(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{200B}'..='\u{200D}' | '\u{2060}' | '\u{FE0E}' | '\u{FE0F}' | '\u{FEFF}'
    )
}
