//! What an id that `show` is given names.

use crate::log::ids::{self, IdText};
use crate::log::run_id::{OfRecord, no_record, of_record};
use crate::log::{Directory, IdOf};
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_replay::id_text::DIGITS_MIN;
use holdpoint_replay::{RunLookup, Searched};

/// What is shown.
pub(super) enum IdTarget {
    /// A run, with what was read of it where it was met on the way.
    Run(String, Option<(RunLookup, Searched)>),
    /// A decision.
    Decision(String),
    /// A request to a person.
    Request(String),
    /// A record that is about no run.
    Record(u64),
}

impl IdTarget {
    /// Finds it: digits alone are a record, or the beginning of one id of all that there are. Exit
    /// 2 for what is no id, 3 where there is none such, 4 where several begin so, 6 where the log
    /// is damaged where it would be.
    pub(super) fn find(directory: &Directory, wanted: &str) -> Result<Self, Failure> {
        if let Some(sequence) = ids::record(wanted) {
            return Self::of_record(directory, wanted, sequence);
        }
        match IdText::read(wanted).ok_or_else(|| no_id(wanted))? {
            IdText::Whole(of) => Ok(Self::of(of, wanted.to_string(), None)),
            IdText::Beginning(digits, of) if of.contains(&IdOf::Run) => {
                let (id, run) = ids::only_with_run(directory, digits, &of)?;
                Ok(Self::of(IdOf::of(&id).ok_or_else(|| no_id(wanted))?, id, run))
            }
            IdText::Beginning(digits, of) => {
                let id = ids::only(directory, digits, &of)?;
                Ok(Self::of(IdOf::of(&id).ok_or_else(|| no_id(wanted))?, id, None))
            }
        }
    }

    fn of(of: IdOf, id: String, run: Option<(RunLookup, Searched)>) -> Self {
        match of {
            IdOf::Run => Self::Run(id, run),
            IdOf::Decision => Self::Decision(id),
            IdOf::Request => Self::Request(id),
        }
    }

    fn of_record(directory: &Directory, digits: &str, sequence: u64) -> Result<Self, Failure> {
        let Some(found) = of_record(directory, sequence)? else {
            return Err(no_record(directory, digits, &IdOf::ALL));
        };
        ids::tell_meaning(directory, digits, &IdOf::ALL);
        Ok(match found {
            OfRecord::Run(loop_id) => Self::Run(loop_id, None),
            OfRecord::Record(sequence) => Self::Record(sequence),
        })
    }
}

fn no_id(wanted: &str) -> Failure {
    let message = ids::unlike(wanted).unwrap_or_else(|| {
        format!(
            "{} is no id: give that of a run, a decision or a request, at least {DIGITS_MIN} of \
             its first hexadecimal digits, the number of a record, or a name as thread:NAME, \
             correlation:NAME or stream:NAME; `holdpoint runs` lists the runs",
            excerpt(wanted)
        )
    });
    Failure::new(Exit::USAGE, "no_id", message)
}
