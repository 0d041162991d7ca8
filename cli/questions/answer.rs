//! An answer that was typed to a question, of a hold or a decision.

use crate::args::{Global, LockWaitArgs};
use crate::questions::decision_response::{self, Answered};
use crate::questions::hold_view::NamedHumanDecision;
use crate::questions::{hold_answer, request_id};
use crate::ui::{Exit, Failure, closest, excerpt};
use clap::ValueEnum;
use holdpoint_domain::core::text::visible;

/// An answer that was typed to a question of which it is known what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(crate) id: String,
    pub(crate) is_hold: bool,
    pub(crate) word: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) guidance: Option<String>,
    pub(crate) to: Option<String>,
}

/// Hands in an answer as `answer` does, and prints nothing: what it came to, in words.
pub(crate) fn give(global: &Global, typed: Typed, turn: LockWaitArgs) -> Result<String, Failure> {
    let Typed { id, is_hold, word, reason, text, guidance, to } = typed;
    if is_hold {
        let decision = decision_of(global, &id, word)?;
        return hold_answer::give(
            global,
            hold_answer::Args::of(id, decision, (reason, to), false, turn),
        );
    }
    let answered = Answered { decision: id, option: word, text, guidance, comment: reason };
    decision_response::give(global, answered, turn)
}

/// The decision that a word means: its whole name, in its own letters, as an option of a decision
/// is. What is none is told with the words that the question offers.
pub(crate) fn decision_of(
    global: &Global,
    request: &str,
    word: Option<String>,
) -> Result<NamedHumanDecision, Failure> {
    let word = word.unwrap_or_default();
    let known = NamedHumanDecision::from_str(&word, false).ok();
    let (id, offered) = match (request_id::offered(global, request), known) {
        (Ok(offered), _) => offered,
        // Why it takes no answer is told by whoever hands the answer in.
        (Err(_), Some(known)) => return Ok(known),
        (Err(failure), None) => return Err(failure),
    };
    let names = || offered.iter().filter_map(|words| words.split(' ').next());
    if let Some(known) = known.filter(|_| names().any(|name| name == word)) {
        return Ok(known);
    }
    let meant = closest(names(), &word).map(|name| format!("; did you mean {name}?"));
    let (id, word, offered) = (visible(&id), excerpt(&word), offered.join(", "));
    let meant = meant.unwrap_or_default();
    let message = format!("{id} does not offer {word}: its words are {offered}{meant}");
    Err(Failure::new(Exit::REFUSED, "bad_option", message))
}
