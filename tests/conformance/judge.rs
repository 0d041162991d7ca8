//! Judging one case: the recorded answer, a documented category, or a failure.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::categories::{self, Category};
use crate::decode::{Answer, Decoded};
use crate::session_categories::Departure;
use crate::vectors::Case;
use crate::{phase21, phase29, phase30, phase31, phase32, sessions};

/// What became of a case.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The answer is the recorded one.
    Matches,
    /// The answer differs as this category says.
    Differs(&'static Category),
    /// A session departs as these categories say, none of them anything else.
    Departs(Vec<&'static Departure>),
    /// Anything else.
    Fails(String),
}

/// Judges a case. A category is found by the input alone; once it applies, the answer has to be
/// the one that it prescribes, whether or not that is the recorded one.
pub(crate) fn judge(case: &Case) -> Verdict {
    if (case.phase.as_str(), case.function.as_str()) == ("e2e", "governed_session") {
        let judged = catch_unwind(AssertUnwindSafe(|| sessions::governed_session(case)));
        return judged.unwrap_or_else(|_| Verdict::Fails("panicked".into()));
    }
    let answer = match catch_unwind(AssertUnwindSafe(|| run(case))) {
        Ok(Some(Ok(answer))) => answer,
        Ok(Some(Err(why))) => Answer::Undecodable(why),
        Ok(None) => return Verdict::Fails(format!("unknown function {}", case.function)),
        Err(_) => return Verdict::Fails("panicked".into()),
    };
    let Some(recorded) = recorded(case) else {
        return Verdict::Fails("no recorded answer: neither \"ok\" nor \"error\"".into());
    };
    let Some(category) = categories::of(case) else {
        return if answer == recorded {
            Verdict::Matches
        } else {
            Verdict::Fails(format!("expected {recorded:?}, found {answer:?}"))
        };
    };
    if !(category.prescribes)(case, &answer) {
        return Verdict::Fails(format!("found {answer:?} in the category {:?}", category.name));
    }
    if answer == recorded { Verdict::Matches } else { Verdict::Differs(category) }
}

/// What the reference answered: a value, or an error in these words.
fn recorded(case: &Case) -> Option<Answer> {
    if let Some(value) = case.expect.get("ok") {
        return Some(Answer::Value(value.clone()));
    }
    let message = case.expect.pointer("/error/message")?.as_str()?;
    Some(Answer::Refused(message.into()))
}

fn run(case: &Case) -> Option<Decoded<Answer>> {
    match case.phase.as_str() {
        "21" => phase21::run(&case.function, &case.input),
        "29" => phase29::run(&case.function, &case.input),
        "30" => phase30::run(&case.function, &case.input),
        "31" => phase31::run(&case.function, &case.input, &case.expect),
        "32" => phase32::run(&case.function, &case.input),
        _ => None,
    }
}
