//! The one action that an approval is for, as it is given on the command line.

use crate::args::condition::{Condition, FilterFields};
use crate::args::values::text_or_stdin;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure};
use holdpoint_domain::decision_point::ActionBinding;
use holdpoint_engine::shell::{MAX_INPUT_BYTES, canonical_input_sha256};

/// Options that name an action.
#[derive(Debug, clap::Args)]
pub(super) struct BindArgs {
    /// Action: `tool=NAME`, and `input=JSON`, compared by digest; `input=@FILE` reads a file,
    /// `input=-` standard input.
    #[arg(long, value_name = "tool=NAME|input=JSON")]
    #[arg(value_parser = Condition::of::<BoundAction>)]
    bind: Vec<Condition>,
}

/// A tool and its input, as they are given.
type BoundAction = (Option<String>, Option<String>);

impl FilterFields for BoundAction {
    const NAMES: &'static str = "tool input";

    fn put(&mut self, field: &str, value: &str) -> Result<(), String> {
        let part = if field == "tool" { &mut self.0 } else { &mut self.1 };
        *part = Some(value.to_string());
        Ok(())
    }
}

impl BindArgs {
    /// The action of a tool with this input, whose canonical form is what counts; `None` where
    /// nothing is bound. Exit 2 where one of both is missing.
    pub(super) fn read(&self) -> Result<Option<ActionBinding>, Failure> {
        let (tool, input) = match Condition::put(&self.bind, BoundAction::default())? {
            (None, None) => return Ok(None),
            (Some(tool), Some(input)) => (tool, input),
            _ => {
                let message = "an action is --bind tool=NAME and --bind input=JSON";
                return Err(Failure::new(Exit::USAGE, "usage", message));
            }
        };
        let input = text_or_stdin("--bind input", &input, MAX_INPUT_BYTES)?;
        let input_sha256 = canonical_input_sha256(&input).map_err(|error| {
            let message = format!("--bind input: {}", visible_once(&error.to_string()));
            Failure::new(Exit::USAGE, "not_understood", message)
        })?;
        Ok(Some(ActionBinding { tool: tool.into(), input_sha256 }))
    }
}
