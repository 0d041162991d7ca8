//! `holdpoint hold`: the questions that wait for a person.

mod list;
mod show;
mod wait;

use crate::args::{Global, settle};
use crate::log::or_archived;
use crate::questions::expire;
use crate::questions::hold_answer;
use crate::ui::Exit;
use clap::Subcommand;
use holdpoint_domain::governed::ExecutionLoop;

/// What to do with the questions that wait for a person.
#[derive(Debug, Subcommand)]
pub(crate) enum HoldVerb {
    /// List the questions that wait for a person, the one due first first.
    List(list::Args),
    /// Show a question as the person sees it, and what became of it.
    Show(show::Args),
    /// Answer a question. The first answer counts. `hold show` shows it, and `holdpoint output`
    /// what was printed, which nobody checked and which is no part of what is decided.
    Answer(hold_answer::Args),
    /// Record the warnings and timeouts that are due, also of threads and decisions; nothing else.
    Expire(expire::Args),
    /// Wait until a question is answered; the exit code tells how.
    Wait(wait::Args),
}

/// Carries the verb out. Exit 3 when there is no log or no such request, 4 when it was answered
/// otherwise, 5 when a rule said no, 6 when the log does not verify.
pub(crate) fn main(global: &Global, verb: HoldVerb) -> Exit {
    let outcome = match verb {
        HoldVerb::List(args) => list::list(global, &args),
        HoldVerb::Show(args) => show::show(global, &args),
        HoldVerb::Answer(args) => hold_answer::answer(global, args),
        HoldVerb::Expire(args) => expire::expire(global, &args),
        HoldVerb::Wait(args) => wait::wait(global, &args),
    };
    settle(global, or_archived(global, outcome))
}

/// The first and the newest record of a loop.
const fn records_of(entity: &ExecutionLoop) -> (u64, u64) {
    (entity.started_sequence, entity.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::request_id::resolve;

    #[test]
    fn a_request_is_named_by_its_id_or_by_an_unambiguous_beginning() {
        let ids = || ["REQ-12", "REQ-123", "REQ-9"].into_iter();
        assert_eq!(resolve("REQ-9", ids()), Ok(Some("REQ-9".to_string())));
        assert_eq!(resolve("REQ-123", ids()), Ok(Some("REQ-123".to_string())));
        assert_eq!(resolve("REQ-12", ids()), Ok(Some("REQ-12".to_string())));
        assert_eq!(resolve("REQ-4", ids()), Ok(None));
        assert_eq!(resolve("REQ-1", ids()).unwrap_err().exit, Exit::CONFLICT);
        for nothing in ["", "R", "REQ-"] {
            assert!(resolve(nothing, ["REQ-12"].into_iter()).is_err(), "{nothing}");
        }
    }
}
