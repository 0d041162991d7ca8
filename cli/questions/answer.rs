//! An answer that was typed on a screen to a question, of a hold or a decision.

use crate::args::principal::Speaker;
use crate::args::{Global, LockWaitArgs};
use crate::log::question::Kind;
use crate::questions::choice::{Answer, of_decision, of_hold};
use crate::questions::decision_change::Change;
use crate::questions::decision_response;
use crate::questions::decision_session::Only;
use crate::questions::hold_answer::{self, HoldAnswer};
use crate::ui::Failure;

/// An answer that was typed to a question of which it is known what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    pub(crate) id: String,
    pub(crate) kind: Kind,
    pub(crate) answer: Answer,
    pub(crate) reason: Option<String>,
    pub(crate) to: Option<String>,
}

/// Hands in an answer as `decision respond` does, and prints nothing: what it came to, in words.
pub(crate) fn give(global: &Global, typed: Typed, turn: LockWaitArgs) -> Result<String, Failure> {
    let Typed { id, kind, answer, reason, to } = typed;
    match kind {
        Kind::Hold => {
            let decision = of_hold(global, &id, answer)?;
            let answer = HoldAnswer { request: id, decision, reason, to, yes: false, turn };
            hold_answer::give(global, answer)
        }
        Kind::Decision => {
            let response = of_decision(global, &id, answer)?;
            let change = Change::of(id, Speaker::default(), Only::default(), turn);
            decision_response::give(global, &change, response, reason)
        }
    }
}
