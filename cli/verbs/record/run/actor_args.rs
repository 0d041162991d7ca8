//! In whose name a run is recorded, and in which story.

use crate::ui::{Exit, Failure};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_engine::Origin;
use holdpoint_engine::shell::user_name;

/// Options that say who runs something, and what it belongs to.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SpeakerArgs {
    /// Record this name as the requester instead of the user's; it is an unverified claim.
    #[arg(long = "as", value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Record the run as an agent's instead of an automation's.
    #[arg(long)]
    agent: bool,
    /// Correlation of the run, such as a work item [default: a new one].
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    correlation: Option<String>,
}

impl SpeakerArgs {
    /// Who runs it, in which story.
    pub(super) fn origin(&self) -> Result<Origin, Failure> {
        let name = self.name.clone().unwrap_or_else(user_name);
        expect_name("--as", &name)?;
        let origin = if self.agent { Origin::agent(name) } else { Origin::automation(name) };
        match &self.correlation {
            None => Ok(origin),
            Some(story) => {
                expect_name("--correlation", story)?;
                Ok(origin.within(story))
            }
        }
    }
}

/// Before a log is made or anything is asked, it is told that a name can be none.
fn expect_name(option: &'static str, name: &str) -> Result<(), Failure> {
    check_identifier(option, name)
        .map_err(|fault| Failure::new(Exit::USAGE, "bad_name", fault).of_run())
}
