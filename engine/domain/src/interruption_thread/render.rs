//! `PH1X_TOOL_RESPONSE_RENDER`: what a read-only tool found, as the text that a user reads or
//! hears. A pure function: it reads nothing, writes nothing and decides nothing.
//!
//! What comes from a tool is data. It cannot pass for a part of the frame around it: every text is
//! one line, lists are marked, and what could steer a screen, a voice or a reader's eye (control
//! and direction characters, addresses that hide where they lead) is refused by name.
//!
//! What is read is answer, citations, sources and time, each a paragraph of its own, which only the
//! frame begins. What is heard are sentences without addresses and without anything that a voice
//! would spell out or take for an instruction.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::closed_enum;
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name, malformed, require};
use crate::core::text::{BLANK_CODE_POINTS, bounded, has_visible_character, hidden_character};
use crate::core::time::Timestamp;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::types::{ReasonCode, ToolStatus};
use crate::interruption_thread::validate::check_locale;

/// Most sources, citations and fields of one response, each.
pub const MAX_TOOL_ITEMS: usize = 20;

/// Most sources and citations that a text shows. The lists behind it are whole.
pub const MAX_SHOWN_SOURCES: usize = 5;

/// Most fields that a text shows.
pub const MAX_SHOWN_FIELDS: usize = 10;

closed_enum! {
    /// `output_mode`: how the text reaches the user.
    pub enum OutputMode {
        /// It is read.
        Text = "text",
        /// It is heard: one speakable text without addresses and markup.
        Tts = "tts",
    }
}

/// Answer of a read-only tool. Lengths are in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolResponse {
    /// The request, as the DISPATCH named it, 1 to 128 bytes.
    pub request_id: Text,
    /// The tool, 1 to 64 bytes.
    pub tool_name: Text,
    /// Kind of its answer.
    pub status: ToolStatus,
    /// The answer, 1 to 1024 bytes. Given unless the tool failed.
    #[serde(default)]
    pub summary: Option<Text>,
    /// Details, at most [`MAX_TOOL_ITEMS`].
    #[serde(default)]
    pub fields: Vec<ToolField>,
    /// Sources of the answer: at most [`MAX_TOOL_ITEMS`], at least one where the status is OK.
    #[serde(default)]
    pub sources: Vec<ToolSource>,
    /// Statements of the sources, word for word: at most [`MAX_TOOL_ITEMS`].
    #[serde(default)]
    pub citations: Option<Vec<Citation>>,
    /// Time when the tool found it, after 1970 began.
    pub retrieved_at: Timestamp,
    /// Why the tool failed, for whoever mends it: at most 1024 bytes. Never shown to a user.
    #[serde(default)]
    pub failure_detail: Option<Text>,
}

/// One detail of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolField {
    /// Its name, 1 to 128 bytes.
    pub key: Text,
    /// Its value, 1 to 1024 bytes.
    pub value: Text,
}

/// Source of something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolSource {
    /// Its title, 1 to 256 bytes.
    pub title: Text,
    /// Its address, http or https, at most 2048 bytes of printable ASCII.
    pub url: Text,
    /// A few words of it, 1 to 2048 bytes.
    #[serde(default)]
    pub snippet: Option<Text>,
}

/// Statement of a source, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// The source: its place among the sources, from 1.
    pub source_number: u32,
    /// Its words, 1 to 2048 bytes.
    pub quote: Text,
}

/// Response that the user is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RenderedResponse {
    /// The text, 1 to 32 768 bytes. No control characters but the line breaks of what is read.
    pub response_text: Text,
    /// Every source, in the tool's order; none where the tool failed.
    pub source_list: Vec<ToolSource>,
    /// Every citation, where the tool gave any.
    pub citations: Option<Vec<Citation>>,
    /// Time when the tool found it.
    pub retrieved_at: Timestamp,
    /// The reason that was given.
    pub reason_code: ReasonCode,
    /// In which language the fixed phrases are: the nearest one to what was asked for.
    pub locale: RenderLocale,
}

/// Renders what the user is given for a tool's response (seed, `PH1X_TOOL_RESPONSE_RENDER`). The
/// same arguments give the same bytes. A failure gives a fixed apology, and nothing that the tool
/// said.
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the first field that breaks the contract.
pub fn render(
    tool_response: &ToolResponse,
    locale: Option<&str>,
    output_mode: OutputMode,
    reason_code: ReasonCode,
) -> Result<RenderedResponse, ThreadRefusal> {
    let locale = readable_locale(locale)?;
    check_reason(tool_response.status, reason_code)?;
    let response = readable(tool_response)?;
    let phrases = locale.phrases();
    let text = match (response.status, output_mode) {
        (ToolStatus::Fail, _) => phrases.apology.into(),
        (_, OutputMode::Text) => shown_text(&response, phrases),
        (_, OutputMode::Tts) => spoken_text(&response, phrases),
    };
    let is_shown = response.status != ToolStatus::Fail;
    Ok(RenderedResponse {
        response_text: Text::from(text),
        source_list: if is_shown { response.sources } else { Vec::new() },
        citations: response.citations.filter(|_| is_shown),
        retrieved_at: response.retrieved_at,
        reason_code,
        locale,
    })
}

closed_enum! {
    /// The languages that have phrases. Any other is answered in English.
    pub enum RenderLocale {
        /// English.
        English = "en",
        /// German.
        German = "de",
    }
}

/// Phrases that are said around a tool's own words.
#[derive(Debug)]
pub(crate) struct Phrases {
    pub(crate) citations: &'static str,
    pub(crate) sources: &'static str,
    pub(crate) retrieved_at: &'static str,
    /// The tool failed.
    apology: &'static str,
    /// The tool found several things.
    pub(crate) several: &'static str,
    /// Nothing of the answer can be spoken.
    unspeakable: &'static str,
    pub(crate) and: &'static str,
    more: &'static str,
}

const ENGLISH: Phrases = Phrases {
    citations: "Citations",
    sources: "Sources",
    retrieved_at: "Retrieved at",
    apology: "Sorry, I could not find that out just now.",
    several: "Several answers fit.",
    unspeakable: "I can show you the answer, but I cannot read it aloud.",
    and: "and",
    more: "more",
};

const GERMAN: Phrases = Phrases {
    citations: "Zitate",
    sources: "Quellen",
    retrieved_at: "Abgerufen am",
    apology: "Das konnte ich gerade leider nicht herausfinden.",
    several: "Mehrere Antworten passen.",
    unspeakable: "Ich kann die Antwort zeigen, aber nicht vorlesen.",
    and: "und",
    more: "weitere",
};

impl RenderLocale {
    /// The language of a locale by its first part, upper or lower case: `de`, `de-AT`, `DE_de`.
    pub(crate) fn nearest(locale: &str) -> Self {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        let is_it = |known: &&Self| known.name().eq_ignore_ascii_case(language);
        Self::ALL.iter().find(is_it).copied().unwrap_or(Self::English)
    }

    pub(crate) const fn phrases(self) -> &'static Phrases {
        match self {
            Self::English => &ENGLISH,
            Self::German => &GERMAN,
        }
    }
}

impl Phrases {
    /// Returns the phrase that so many are left off.
    fn and_more(&self, left_off: usize) -> String {
        alloc::format!("{} {left_off} {}", self.and, self.more)
    }
}

/// Amount of a quote that is shown, in bytes: the list behind the text has all of it.
const SHOWN_QUOTE_MAX: usize = 512;

fn shown_text(response: &ToolResponse, phrases: &Phrases) -> String {
    let mut text = shown_answer(response, phrases);
    let citations = response.citations.as_deref().unwrap_or_default();
    let quotes = citations.iter().map(cited);
    list(&mut text, phrases.citations, quotes, phrases);
    let sources = response.sources.iter().enumerate().map(|(place, source)| sourced(place, source));
    list(&mut text, phrases.sources, sources, phrases);
    text.push_str(&format!("\n\n{} {}", phrases.retrieved_at, response.retrieved_at));
    text
}

/// The answer, and a line for each of its details.
fn shown_answer(response: &ToolResponse, phrases: &Phrases) -> String {
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

/// Characters to which Markdown, SSML and shells give a meaning of their own.
const MARKUP: [char; 15] =
    ['<', '>', '*', '_', '#', '`', '~', '|', '[', ']', '{', '}', '\\', '^', '='];

/// Characters that stand right behind the word before them.
const CLOSING: [char; 7] = ['.', ',', ';', ':', '!', '?', ')'];

fn spoken_text(response: &ToolResponse, phrases: &Phrases) -> String {
    let answer = spoken_answer(response, phrases);
    if answer.is_empty() {
        return String::from(phrases.unspeakable);
    }
    let several = (response.status == ToolStatus::Ambiguous).then(|| phrases.several.into());
    let sentences = several.into_iter().chain(answer).chain(spoken_sources(response, phrases));
    sentences.collect::<Vec<_>>().join(" ")
}

/// The answer and its details, a sentence each.
fn spoken_answer(response: &ToolResponse, phrases: &Phrases) -> Vec<String> {
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
fn spoken_sources(response: &ToolResponse, phrases: &Phrases) -> Option<String> {
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

/// Returns what stands before and behind an address in a word: it begins with a scheme before
/// `://`, or with `www.`, and ends before the word's closing marks.
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

type Checked = Result<(), Malformed>;

/// Greatest length of a text, in bytes, and how a refusal says it.
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
fn readable_locale(locale: Option<&str>) -> Result<RenderLocale, Malformed> {
    let Some(locale) = locale else { return Ok(RenderLocale::English) };
    check_locale("locale", locale)?;
    Ok(RenderLocale::nearest(locale))
}

/// The reason of a refusal renders nothing, and a tool's reason fits how the tool answered.
fn check_reason(status: ToolStatus, reason_code: ReasonCode) -> Checked {
    let of_tools = [
        (ReasonCode::ToolOk, ToolStatus::Ok),
        (ReasonCode::ToolFail, ToolStatus::Fail),
        (ReasonCode::ToolAmbiguous, ToolStatus::Ambiguous),
    ];
    let own = of_tools.iter().find(|(code, _)| *code == reason_code);
    let fits = own.map_or(!reason_code.is_refusal(), |(_, fitting)| *fitting == status);
    require(fits, "reason_code", "one that fits the tool's status, no refusal", reason_code)
}

/// The response with every text as it may be shown: one line, nothing hidden in it.
fn readable(response: &ToolResponse) -> Result<ToolResponse, Malformed> {
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

fn field(field: &ToolField) -> Result<ToolField, Malformed> {
    Ok(ToolField {
        key: plain("tool_response.fields.key", &field.key, NAME)?,
        value: plain("tool_response.fields.value", &field.value, LONG)?,
    })
}

fn source(source: &ToolSource) -> Result<ToolSource, Malformed> {
    let snippet = source.snippet.as_ref();
    let snippet = snippet.map(|snippet| plain("tool_response.sources.snippet", snippet, QUOTE));
    check_url(&source.url)?;
    Ok(ToolSource {
        title: plain("tool_response.sources.title", &source.title, TITLE)?,
        url: source.url.clone(),
        snippet: snippet.transpose()?,
    })
}

fn citation(citation: &Citation, sources: usize) -> Result<Citation, Malformed> {
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
fn plain(field: &'static str, text: &str, bound: Bound) -> Result<Text, Malformed> {
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
