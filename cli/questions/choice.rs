//! The choice that an answer means: the words that each kind of question takes, and what `approve`
//! and `deny` choose of them.

use crate::args::Global;
use crate::log::question::unknown_request;
use crate::log::{Directory, LiveState, Question};
use crate::questions::permits::Act;
use crate::ui::{Exit, Failure, closest, excerpt, named};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{ACCEPT, Response};
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_replay::Tells;

/// Word that is typed at a prompt to read all that an answer binds.
pub(crate) const DETAILS: &str = "details";
/// Sentence for what a prompt leaves out.
pub(crate) const DETAILS_HAS_ALL: &str = "`details` shows all";

/// Returns whether a line asks for all that an answer binds. It answers nothing.
pub(crate) fn asks_for_details(line: &str) -> bool {
    let words = [DETAILS, "all", "show", "help", "?"];
    words.iter().any(|word| line.trim().eq_ignore_ascii_case(word))
}

/// Sentence that says which words a prompt takes, in place of anything else that was typed.
pub(crate) fn words_wanted(words: &str) -> String {
    format!("type a whole word, {words}; {DETAILS_HAS_ALL}")
}

/// An answer as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// One of the words that the question offers.
    Choice(String),
    /// An answer in one's own words.
    Text(String),
    /// A wish for another proposal.
    Guidance(String),
    /// CONTINUE, or the only choice that does not reject of a question that has one which does.
    Approve,
    /// ABORT, or the only choice that rejects.
    Deny,
}

impl Answer {
    /// Returns the act on the question.
    pub(crate) fn act(&self) -> Act {
        match self {
            Self::Choice(word) if word == ACCEPT => Act::Accept,
            Self::Choice(_) | Self::Approve | Self::Deny => Act::Choose,
            Self::Text(_) => Act::Text,
            Self::Guidance(_) => Act::Guidance,
        }
    }
}

/// The decision that an answer to a hold means. A word is its whole name, in its own letters.
/// Exit 5 where the hold does not offer it.
pub(crate) fn of_hold(
    global: &Global,
    request: &str,
    answer: &Answer,
) -> Result<HumanDecision, Failure> {
    answer.act().expect_of_hold(request)?;
    let word = match answer {
        Answer::Choice(word) | Answer::Text(word) | Answer::Guidance(word) => word.as_str(),
        Answer::Approve => HumanDecision::Continue.name(),
        Answer::Deny => HumanDecision::Abort.name(),
    };
    let decision = HumanDecision::from_name(word);
    let (id, offered) = match (offered(global, request), decision) {
        (Ok(offered), _) => offered,
        // Why it takes no answer is told by whoever hands the answer in.
        (Err(_), Some(decision)) => return Ok(decision),
        (Err(failure), None) => return Err(failure),
    };
    if let Some(decision) = decision.filter(|decision| offered.contains(decision)) {
        return Ok(decision);
    }
    let names = || offered.iter().map(|decision| decision.name());
    let meant = closest(names(), word).map(|name| format!("; did you mean {name}?"));
    let words: Vec<String> = offered.iter().map(|decision| typed(*decision)).collect();
    let (id, word, meant) = (visible(&id), excerpt(word), meant.unwrap_or_default());
    let message = format!("{id} does not offer {word}: its words are {}{meant}", words.join(", "));
    Err(Failure::new(Exit::REFUSED, "bad_option", message))
}

/// The id of a request and the decisions that it allows.
fn offered(global: &Global, wanted: &str) -> Result<(String, Vec<HumanDecision>), Failure> {
    let state = read(global)?;
    match state.find(wanted)? {
        Question::Hold(_, held) => {
            Ok((held.request_id().to_string(), held.request.allowed_decisions.to_vec()))
        }
        Question::Decision(_) => Err(unknown_request(state.world(), wanted)),
    }
}

/// A decision as it is typed, with the option that it needs.
fn typed(decision: HumanDecision) -> String {
    match decision {
        HumanDecision::Escalate => format!("{decision} --to NAME"),
        _ => decision.to_string(),
    }
}

/// The response that an answer to a decision means. Exit 5 where it has not the one choice that
/// `approve` or `deny` means.
pub(crate) fn of_decision(
    global: &Global,
    decision: &str,
    answer: Answer,
) -> Result<Response, Failure> {
    let is_no = match answer {
        Answer::Choice(word) => return Ok(Response::option(&word)),
        Answer::Text(words) => return Ok(Response::Text(words.into())),
        Answer::Guidance(words) => return Ok(Response::Guidance(words.into())),
        Answer::Approve => false,
        Answer::Deny => true,
    };
    let state = read(global)?;
    let Question::Decision(point) = state.find(decision)? else {
        return Err(Act::Choose.not_of_a_hold(decision));
    };
    let options = &point.terms.proposal.options;
    let chosen: Vec<_> = options.iter().filter(|option| option.reject == is_no).collect();
    let has_a_no = options.iter().any(|option| option.reject);
    match chosen.as_slice() {
        [only] if has_a_no => Ok(Response::Option(only.id.clone())),
        _ => {
            let (verb, meaning) = match is_no {
                true => ("deny", "that rejects"),
                false => ("approve", "that does not reject, beside one that does"),
            };
            let ids: Vec<String> = options.iter().map(|option| named(&option.id)).collect();
            let id = visible(&point.decision_id);
            let (choices, answer) = match ids.as_slice() {
                [] => ("it has none".to_string(), "--text TEXT"),
                _ => (format!("its choices are {}", ids.join(", ")), "CHOICE"),
            };
            let message = format!(
                "`{verb}` takes the only choice {meaning}, and {id} has no such one: {choices}\n  \
                 holdpoint decision respond {id} {answer}"
            );
            Err(Failure::new(Exit::REFUSED, "ambiguous_choice", message))
        }
    }
}

fn read(global: &Global) -> Result<LiveState, Failure> {
    let directory = Directory::open(global)?;
    let state = LiveState::read(&directory, false, Tells::Questions)?;
    state.expect_log(&directory)?;
    Ok(state)
}
