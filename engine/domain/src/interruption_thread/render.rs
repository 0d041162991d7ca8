//! `PH1X_TOOL_RESPONSE_RENDER`: what a read-only tool found, as the text that a user reads or
//! hears. A pure function: it reads nothing, writes nothing and decides nothing.
//!
//! What comes from a tool is data. It cannot pass for a part of the frame around it: every text is
//! one line, lists are marked, and what could steer a screen, a voice or a reader's eye (control
//! and direction characters, addresses that hide where they lead) is refused by name.

mod contract;
mod phrases;
mod shown;
mod speech;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

pub use phrases::RenderLocale;

use super::reason::ReasonCode;
use super::types::ToolStatus;
use crate::closed::closed_enum;
use crate::event::Text;
use crate::refusal::ThreadRefusal;
use crate::time::Timestamp;

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

/// What a read-only tool answered. Lengths are in bytes of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ToolResponse {
    /// Which request, as the DISPATCH named it, 1 to 128 bytes.
    pub request_id: Text,
    /// Which tool, 1 to 64 bytes.
    pub tool_name: Text,
    /// How it answered.
    pub status: ToolStatus,
    /// The answer, 1 to 1024 bytes. Given unless the tool failed.
    #[serde(default)]
    pub summary: Option<Text>,
    /// Details, at most [`MAX_TOOL_ITEMS`].
    #[serde(default)]
    pub fields: Vec<ToolField>,
    /// Where it is from: at most [`MAX_TOOL_ITEMS`], at least one where the status is OK.
    #[serde(default)]
    pub sources: Vec<ToolSource>,
    /// What the sources say, word for word: at most [`MAX_TOOL_ITEMS`].
    #[serde(default)]
    pub citations: Option<Vec<Citation>>,
    /// When the tool found it, after 1970 began.
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

/// Where something is from.
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

/// What a source says, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Citation {
    /// Which source: its place among the sources, from 1.
    pub source_number: u32,
    /// Its words, 1 to 2048 bytes.
    pub quote: Text,
}

/// What the user is given.
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
    /// When the tool found it.
    pub retrieved_at: Timestamp,
    /// The reason that was given.
    pub reason_code: ReasonCode,
    /// In which language the fixed phrases are: the nearest one to what was asked for.
    pub locale: RenderLocale,
}

/// What the user is given for a tool's response (seed, `PH1X_TOOL_RESPONSE_RENDER`). The same
/// arguments give the same bytes. A failure gives a fixed apology, and nothing that the tool said.
///
/// # Errors
/// [`ThreadRefusal::Malformed`] names the first field that breaks the contract.
pub fn render(
    tool_response: &ToolResponse,
    locale: Option<&str>,
    output_mode: OutputMode,
    reason_code: ReasonCode,
) -> Result<RenderedResponse, ThreadRefusal> {
    let locale = contract::locale(locale)?;
    contract::check_reason(tool_response.status, reason_code)?;
    let response = contract::readable(tool_response)?;
    let phrases = locale.phrases();
    let text = match (response.status, output_mode) {
        (ToolStatus::Fail, _) => phrases.apology.into(),
        (_, OutputMode::Text) => shown::text(&response, phrases),
        (_, OutputMode::Tts) => speech::text(&response, phrases),
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
