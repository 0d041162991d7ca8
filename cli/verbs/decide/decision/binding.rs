//! The one action that an approval is for, as it is given on the command line.

use crate::args::values::text_or_stdin;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure};
use holdpoint_domain::decision_point::ActionBinding;
use holdpoint_engine::shell::{MAX_INPUT_BYTES, canonical_input_sha256};

/// The action of a tool with this input: JSON, a file of it, or standard input. Only the digest of
/// its canonical form is kept.
pub(super) fn binding(tool: &str, input: &str) -> Result<ActionBinding, Failure> {
    let input = text_or_stdin("--bind-input", input, MAX_INPUT_BYTES)?;
    let input_sha256 = canonical_input_sha256(&input).map_err(|error| {
        let message = format!("--bind-input: {}", visible_once(&error.to_string()));
        Failure::new(Exit::USAGE, "not_understood", message)
    })?;
    Ok(ActionBinding { tool: tool.into(), input_sha256 })
}
