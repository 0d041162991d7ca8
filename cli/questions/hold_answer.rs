//! Answers to holds: a person decides. The first answer counts, and says so.

use crate::args::{Global, LockWaitArgs};
use crate::log::Question;
use crate::log::configuration::hides_output;
use crate::log::open::{failed, not_submitted};
use crate::log::receipt::Recorded;
use crate::log::verdict::{and_permits, warn_permits_nothing};
use crate::questions::confirm::{self, Offer};
use crate::questions::decision_session::unproven;
use crate::questions::hold_view::{outcome_line, outcome_words, output_of};
use crate::questions::reason::check_reason;
use crate::questions::request_id::find;
use crate::ui::program::program;
use crate::ui::{Exit, Failure, Output, complain, named, screen};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::governed::{HumanDecisionView, LoopRefusal, RequestPlace};
use holdpoint_domain::human_decision::{
    AnswerChannel, AnswerHumanDecision, AnswerMeans, HumanDecision, HumanDecisionCommand,
    HumanDecisionEvent, HumanDecisionRefusal, RequestOutcome,
};
use holdpoint_domain::{ActorId, Command, Event, Refusal, Time};
use holdpoint_engine::shell::{
    Conditions, Origin, Receipt, SubmitError, Submitted, SubscriptionError, TypedLine, user_name,
    user_number,
};
use holdpoint_engine::{Engine, shell};
use holdpoint_log_files::FollowError;
use serde::Serialize;

/// An answer to a hold.
#[derive(Debug)]
pub(crate) struct HoldAnswer {
    /// The request, or the beginning of its id.
    pub(crate) request: String,
    pub(crate) decision: HumanDecision,
    /// Why, in one line. RETRY and ESCALATE need a reason.
    pub(crate) reason: Option<String>,
    /// Who is asked instead. ESCALATE needs one of the hold's targets.
    pub(crate) to: Option<String>,
    /// True if it is given without a terminal, as another user than the one who asks.
    pub(crate) yes: bool,
    pub(crate) turn: LockWaitArgs,
}

const TOO_LATE: &str = "the answer came too late: it is kept, and does not count";

/// How an answer fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Fate {
    /// It counts.
    Recorded,
    /// It was recorded before, and counts.
    Repeated,
    /// It came too late: kept, and does not count.
    Late,
    /// Somebody decided otherwise before.
    Conflict,
}

/// What a program is told.
#[derive(Serialize)]
struct Told<'a> {
    request_id: &'a str,
    answer: Fate,
    /// The records of the answer; none for a conflict.
    records: Option<Records>,
    /// The decision that counts.
    decision: Option<HumanDecisionView<'a>>,
}

/// The sequences of the first and the last record, and their time. Where they were moved to an
/// archive, the time is not known, nor may the last one be: then it is the first.
#[derive(Serialize)]
struct Records {
    first: u64,
    last: u64,
    at: Option<Time>,
}

/// What an answer came to.
struct Given {
    request_id: String,
    submitted: Submitted,
    outcome: Option<RequestOutcome>,
    /// Why the decision permits nothing, where it is in doubt.
    doubt: Option<Doubt>,
    /// The request that is most like one that nobody knows.
    like: Option<String>,
    /// The command that shows what the attempt printed, in a sentence.
    output: Option<String>,
}

impl Given {
    /// A failure to find the request says which one may have been meant.
    fn advised(&self, failure: Failure) -> Failure {
        match self.like.as_deref().filter(|_| failure.exit == Exit::NOT_FOUND) {
            Some(like) => failure.adding(&format!("; did you mean {}?", visible(like))),
            None => failure,
        }
    }
}

/// Hands the answer in. Exit 4 where another one counts, 5 where a rule says no.
pub(crate) fn answer(global: &Global, args: HoldAnswer) -> Result<Exit, Failure> {
    let given = hand_in(global, args)?;
    let exit = tell(global, &given).map_err(|failure| given.advised(failure))?;
    warn_permits_nothing(given.doubt, "the decision");
    Ok(exit)
}

/// The same, and prints nothing: what it came to, in words. A failure where it does not count.
pub(crate) fn give(global: &Global, args: HoldAnswer) -> Result<String, Failure> {
    let given = hand_in(global, args)?;
    let counts = given.outcome.as_ref().map(outcome_words).unwrap_or_default();
    let late = |why: &str| Err(Failure::new(Exit::CONFLICT, "late", format!("{why}; {counts}")));
    match &given.submitted {
        Submitted::Refused(refusal) if is_conflict(refusal) => {
            late(&visible(&refusal.to_string()).to_string())
        }
        Submitted::Refused(refusal) => Err(given.advised(refused(refusal))),
        Submitted::Accepted(receipt) if is_late(receipt) => late(TOO_LATE),
        Submitted::Accepted(_) | Submitted::Repeated(_) => Ok(and_permits(&counts, given.doubt)),
    }
}

fn hand_in(global: &Global, args: HoldAnswer) -> Result<Given, Failure> {
    args.reason.as_deref().map_or(Ok(()), check_reason)?;
    confirm::refuse_yes(args.yes)?;
    let engine = crate::questions::open::open(global, &args.turn)?;
    let found = find(global, &engine, &args.request)?;
    // One that nobody knows is handed in as well: the refusal goes on record.
    let like = match found {
        Some(_) => None,
        None => {
            let like = engine.query(|world| Question::like_request(world, &args.request));
            like.map_err(|error| failed(global, error))?
        }
    };
    let request_id = found.unwrap_or_else(|| args.request.clone());
    let line = typed(global, &engine, &request_id, &args)?;
    let means = means(line.as_ref());
    let submitted = submit(global, &engine, &request_id, args, (means, line))?;
    let recorded = match &submitted {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => {
            Some(Recorded::new(receipt.last_sequence, Some(&request_id)))
        }
        Submitted::Refused(_) => None,
    };
    let failed = |error| failed(global, error).behind_any(recorded.as_ref());
    let outcome = outcome(&engine, &request_id).map_err(failed)?;
    let is_hidden = hides_output(global);
    let output = engine.query(|world| {
        let held = world.find_request(&request_id)?.held();
        Some(output_of(&program(&global.log), held, is_hidden))
    });
    let output = output.map_err(failed)?;
    let doubt = engine.query(|world| world.doubt_of_request(world.find_request(&request_id)?));
    let doubt = doubt.map_err(failed)?;
    let closed = engine.close().map_err(|error| crate::log::open::failed(global, error));
    closed.map_err(|failure| failure.behind_any(recorded.as_ref()))?;
    Ok(Given { request_id, submitted, outcome, doubt, like, output })
}

fn outcome(engine: &Engine, request_id: &str) -> Result<Option<RequestOutcome>, SubmitError> {
    engine.query(|world| world.find_request(request_id)?.held().outcome.clone())
}

/// The question while it is open; an answer to another one is handed in to be told of that.
fn open_question(
    global: &Global,
    engine: &Engine,
    request_id: &str,
) -> Result<Option<shell::Question>, Failure> {
    let open = engine.query(|world| match world.find_request(request_id)? {
        RequestPlace::Live(entity, held) if held.outcome.is_none() => {
            Some(shell::Question::of(entity, held).asked_in(world))
        }
        RequestPlace::Live(..) | RequestPlace::Closed(_) => None,
    });
    open.map_err(|error| failed(global, error))
}

/// The word by which a person answers; `None` where nobody is asked for it.
fn typed(
    global: &Global,
    engine: &Engine,
    request_id: &str,
    args: &HoldAnswer,
) -> Result<Option<TypedLine>, Failure> {
    let Some(question) = open_question(global, engine, request_id)?.filter(|_| !args.yes) else {
        return Ok(None);
    };
    let beside = (args.reason.as_deref(), args.to.as_deref());
    let offer = Offer::of_hold(global, &question, args.decision.name(), beside);
    let line = offer.typed()?;
    line.map(Some).ok_or_else(|| {
        let message = "a person answers at a terminal, and there is none here: answer at one; \
                       another user than the one who asks may do without, by --yes, which goes \
                       on record";
        Failure::new(Exit::REFUSED, "no_terminal", message)
    })
}

/// By what means the answer is given: at a terminal, or without one. The engine records what it can
/// prove of that.
fn means(line: Option<&TypedLine>) -> AnswerMeans {
    let (channel, what) = match line {
        Some(line) => (AnswerChannel::Terminal, line.terminal()),
        None => (AnswerChannel::YesFlag, "no terminal"),
    };
    AnswerMeans { channel, detail: format!("{what}, uid {}", user_number()).into() }
}

fn submit(
    global: &Global,
    engine: &Engine,
    request_id: &str,
    args: HoldAnswer,
    (means, line): (AnswerMeans, Option<TypedLine>),
) -> Result<Submitted, Failure> {
    let human_id = user_name();
    let command =
        Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
            request_id: request_id.to_string(),
            loop_id: None,
            entropy: engine.entropy().map_err(|error| failed(global, error))?,
            actor: Actor::Human,
            human_id: human_id.clone(),
            decision: args.decision,
            reason: args.reason,
            escalation_target: args.to,
            means,
        }));
    let origin = origin(global, engine, request_id, human_id)?;
    let submitted = match line {
        Some(line) => engine.submit_typed(&origin, &Conditions::default(), &command, line),
        None => engine.submit(&origin, &command),
    };
    submitted.map_err(|error| {
        not_submitted(global, &error, |_| {
            let outcome = outcome(engine, request_id).ok()??;
            let what = format!("request {}: {}", named(request_id), outcome_words(&outcome));
            Some((request_id.to_string(), what))
        })
    })
}

/// The answer belongs to the story of the question, which caused it.
fn origin(
    global: &Global,
    engine: &Engine,
    request_id: &str,
    human_id: String,
) -> Result<Origin, Failure> {
    let actor = ActorId { kind: Actor::Human, id: human_id };
    let asked = engine.query(|world| world.find_request(request_id).map(Asked::of));
    let asked = asked.map_err(|error| failed(global, error))?;
    let story = match asked {
        None => None,
        Some(asked) => story_of(engine, asked).map_err(|error| failed(global, error))?,
    };
    let correlation = match story {
        Some(correlation) => correlation,
        None => engine.entropy().map_err(|error| failed(global, error))?.to_string(),
    };
    Ok(Origin { actor, correlation, causation: None })
}

/// Where a question stands.
struct Asked {
    /// Sequence of its record.
    sequence: u64,
    /// The story of its loop, while that lives.
    correlation: Option<String>,
}

impl Asked {
    fn of(place: RequestPlace<'_>) -> Self {
        let correlation = match place {
            RequestPlace::Live(entity, _) => Some(entity.correlation.clone()),
            RequestPlace::Closed(_) => None,
        };
        Self { sequence: place.held().requested_sequence, correlation }
    }
}

/// The story that the question was asked in; where its record was moved to an archive, that of its
/// loop, as far as it is known.
fn story_of(engine: &Engine, asked: Asked) -> Result<Option<String>, SubscriptionError> {
    let read = engine.subscribe(asked.sequence).and_then(|mut records| records.try_next());
    match read {
        Ok(Some(record)) if record.sequence == asked.sequence => {
            Ok(Some(record.envelope.correlation))
        }
        Ok(_)
        | Err(
            SubscriptionError::Before { .. } | SubscriptionError::Follow(FollowError::Gone { .. }),
        ) => Ok(asked.correlation),
        Err(error) => Err(error),
    }
}

fn tell(global: &Global, given: &Given) -> Result<Exit, Failure> {
    let (fate, receipt) = match &given.submitted {
        Submitted::Refused(refusal) if is_conflict(refusal) => {
            complain(&visible(&refusal.to_string()).to_string());
            (Fate::Conflict, None)
        }
        Submitted::Refused(refusal) => {
            let output = given.output.iter().map(|output| format!("; {output}"));
            return Err(refused(refusal).adding(&output.collect::<String>()));
        }
        Submitted::Repeated(receipt) => (Fate::Repeated, Some(receipt)),
        Submitted::Accepted(receipt) if is_late(receipt) => {
            complain(TOO_LATE);
            (Fate::Late, Some(receipt))
        }
        Submitted::Accepted(receipt) => (Fate::Recorded, Some(receipt)),
    };
    show(global, given, fate, receipt)?;
    Ok(match fate {
        Fate::Recorded | Fate::Repeated => Exit::DONE,
        Fate::Late | Fate::Conflict => Exit::CONFLICT,
    })
}

fn show(
    global: &Global,
    given: &Given,
    answer: Fate,
    receipt: Option<&Receipt>,
) -> Result<(), Failure> {
    let (request_id, outcome) = (given.request_id.as_str(), given.outcome.as_ref());
    let mut out = Output::stdout();
    if global.json {
        let decision = match outcome {
            Some(RequestOutcome::Decided(decided)) => Some(decided.view()),
            _ => None,
        };
        let records = receipt.map(|receipt| Records {
            first: receipt.first_sequence,
            last: receipt.last_sequence,
            at: receipt.at,
        });
        out.json(&Told { request_id, answer, records, decision });
    } else {
        let request = format!("request         {}", named(request_id));
        let lines = std::iter::once(request).chain(outcome.map(outcome_line));
        let lines = lines.chain(given.output.clone());
        lines.flat_map(|line| screen::told(&line)).for_each(|line| out.line(line));
    }
    out.finish()
}

fn is_conflict(refusal: &Refusal) -> bool {
    use HumanDecisionRefusal::{AlreadyAnswered, Withdrawn};
    matches!(
        refusal,
        Refusal::Loop(LoopRefusal::HumanDecision(AlreadyAnswered { .. } | Withdrawn { .. }))
            | Refusal::StaleVersion { .. }
            | Refusal::IdempotencyConflict { .. }
    )
}

fn is_late(receipt: &Receipt) -> bool {
    receipt.events.iter().any(|event| {
        matches!(event, Event::HumanDecision(HumanDecisionEvent::LateAnswerRecorded(_)))
    })
}

fn refused(refusal: &Refusal) -> Failure {
    let is_unknown = matches!(
        refusal,
        Refusal::Loop(LoopRefusal::HumanDecision(HumanDecisionRefusal::UnknownRequest { .. }))
    );
    let exit = if is_unknown { Exit::NOT_FOUND } else { Exit::REFUSED };
    Failure::new(exit, refusal.code(), visible(&refusal.to_string())).adding(&unproven(refusal))
}
