//! `holdpoint thread render`: the text that says what a tool answered.

use crate::args::Global;
use crate::args::bounded_read::all_within;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure, Output, path};
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{
    OutputMode, ReasonCode, ToolResponse, render as rendered,
};
use serde::Deserialize;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// More than a legal request can take, however it is escaped.
const REQUEST_BYTES_MAX: usize = 4 << 20;

/// Options of `thread render`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Request, a JSON object with `tool_response`, `locale`, `output_mode` and `reason_code`
    /// [default: standard input, as is `-`].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
}

/// What is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// What the tool answered.
    tool_response: ToolResponse,
    /// The user's language.
    #[serde(default)]
    locale: Option<Text>,
    /// How the text reaches the user.
    output_mode: OutputMode,
    /// Why it is said.
    reason_code: ReasonCode,
}

/// Renders one response. No log is touched.
pub(super) fn render(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let request = read(args.file.as_deref())?;
    let Request { tool_response, locale, output_mode, reason_code } = request;
    let done = rendered(&tool_response, locale.as_deref(), output_mode, reason_code);
    let done = done.map_err(|refusal| {
        Failure::new(Exit::USAGE, refusal.code(), visible(&refusal.to_string()))
    })?;
    let mut out = Output::stdout();
    if global.json {
        out.json(&done);
    } else {
        done.response_text.lines().for_each(|line| out.line(shown(line)));
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// The rules let no hidden character through: backslashes stay as they are.
fn shown(line: &str) -> String {
    visible_once(line)
}

fn read(file: Option<&Path>) -> Result<Request, Failure> {
    let bytes = bytes_of(file).map_err(|error| {
        let from = file.map_or_else(|| "standard input".into(), path);
        let message = format!("cannot read {from}: {error}; name a file with the request");
        Failure::new(Exit::FAILED, "io", message)
    })?;
    let bytes = bytes.ok_or_else(|| {
        let message = format!("the request is longer than {REQUEST_BYTES_MAX} bytes (4MiB)");
        Failure::new(Exit::USAGE, "too_long", message)
    })?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the request is not understood: {}", visible(&error.to_string()));
        Failure::new(Exit::USAGE, "not_understood", message)
    })
}

fn bytes_of(file: Option<&Path>) -> io::Result<Option<Vec<u8>>> {
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => all_within(File::open(file)?, REQUEST_BYTES_MAX),
        None => all_within(io::stdin().lock(), REQUEST_BYTES_MAX),
    }
}
