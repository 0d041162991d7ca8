//! The ways to answer, as they are given on the command line.

use crate::args::values::text_or_stdin;
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_domain::decision_point::DecisionOption;
use holdpoint_replay::strict_json::strict;

/// More than 32 legal options can take, however they are escaped.
const JSON_BYTES_MAX: usize = 4 << 20;

/// How an option is said to say no.
pub(crate) const HOW_TO_REJECT: &str = "say by `--reject ID` which one does";

/// Options that offer ways to answer.
#[derive(Debug, clap::Args)]
pub(crate) struct Offered {
    /// Choice; repeatable, at most 32. The id ends at the first colon. Or all choices as a JSON
    /// array of objects with `id` and `label`, optionally `short`, `description` and `reject`;
    /// `@FILE` reads a file, `-` standard input.
    #[arg(long, value_name = "ID:LABEL|JSON|@FILE|-")]
    option: Vec<String>,
    /// Rejecting choice; repeatable. It approves and releases nothing.
    #[arg(long, value_name = "ID")]
    reject: Vec<String>,
}

impl Offered {
    /// The ways to answer; `None` where none is given.
    pub(crate) fn read(&self) -> Result<Option<Vec<DecisionOption>>, Failure> {
        let mut options = match self.option.as_slice() {
            [array] if is_array(array) => parse(array)?,
            each => each.iter().map(|given| option(given)).collect::<Result<_, _>>()?,
        };
        for id in &self.reject {
            mark(&mut options, id)?;
        }
        Ok((!self.option.is_empty()).then_some(options))
    }
}

fn is_array(given: &str) -> bool {
    matches!(given, "" | "-") || given.starts_with(['[', '{', '@'])
}

fn option(given: &str) -> Result<DecisionOption, Failure> {
    let Some((id, label)) = given.split_once(':') else {
        let message =
            format!("--option {}: write ID:LABEL, as in yes:\"Deploy now\"", excerpt(given));
        return Err(Failure::new(Exit::USAGE, "usage", message));
    };
    let (id, label) = (id.into(), label.into());
    Ok(DecisionOption { id, label, short: "".into(), description: None, reject: false })
}

fn parse(given: &str) -> Result<Vec<DecisionOption>, Failure> {
    let json = text_or_stdin("--option", given, JSON_BYTES_MAX)?;
    strict(json.as_bytes())
        .map_err(|fault| Failure::new(Exit::USAGE, "not_understood", format!("--option: {fault}")))
}

fn mark(options: &mut [DecisionOption], id: &str) -> Result<(), Failure> {
    let mut named = options.iter_mut().filter(|option| *option.id == *id).peekable();
    if named.peek().is_none() {
        let found = excerpt(id);
        let message = format!("--reject {found}: no option is called so; name one that is offered");
        return Err(Failure::new(Exit::REFUSED, "bad_option", message));
    }
    named.for_each(|option| option.reject = true);
    Ok(())
}
