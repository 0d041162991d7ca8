//! Answers to holds: a person decides. The first answer counts, and says so.

use crate::args::Global;
use crate::log::configuration::hides_output;
use crate::log::question::like_request;
use crate::log::verdict::{and_permits, warn_permits_nothing};
use crate::questions::confirm::{self, Offer};
use crate::questions::decision_session::{DecisionSession, unproven};
use crate::questions::hold_view::{outcome_line, outcome_words, output_of};
use crate::questions::reason::check_reason;
use crate::questions::respond::{Reply, Terms};
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
use holdpoint_engine::shell::{self, Receipt, Submitted, TypedLine, user_name, user_number};
use serde::Serialize;

const TOO_LATE: &str = "the answer came too late: it is kept, and does not count";

/// The standing of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Standing {
    /// It counts.
    Recorded,
    /// It was recorded before, and counts.
    Repeated,
    /// It came too late: kept, and does not count.
    Late,
    /// Somebody decided otherwise before.
    Conflict,
}

/// An answer, as programs read it.
#[derive(Serialize)]
struct AnswerOutput<'a> {
    request_id: &'a str,
    answer: Standing,
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

/// The outcome of an answer.
pub(crate) struct HoldAnswer {
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

impl HoldAnswer {
    /// Hands an answer in.
    pub(crate) fn hand_in(
        global: &Global,
        reply: Reply,
        decision: HumanDecision,
        terms: &Terms,
    ) -> Result<Self, Failure> {
        reply.reason.as_deref().map_or(Ok(()), check_reason)?;
        confirm::refuse_yes(terms.yes)?;
        let session = DecisionSession::open(global, &terms.by.turn, false)?;
        let found = session.find_request(&reply.id)?;
        // One that nobody knows is handed in as well: the refusal goes on record.
        let like = match found {
            Some(_) => None,
            None => session.look(|world| like_request(world, &reply.id))?,
        };
        let request_id = found.unwrap_or_else(|| reply.id.clone());
        let line = match terms.yes {
            true => None,
            false => typed(global, &session, &request_id, (&reply, decision))?,
        };
        let command = command(&session, &request_id, (reply, decision), line.as_ref())?;
        let by = ActorId { kind: Actor::Human, id: user_name() };
        let submitted = session.submit_to_hold(&request_id, by, &command, line)?;
        let is_hidden = hides_output(global);
        let end = session.look(|world| {
            let place = world.find_request(&request_id)?;
            let output = output_of(&program(&global.log), place.held(), is_hidden);
            Some((place.held().outcome.clone(), world.doubt_of_request(place), output))
        });
        let end = end.map_err(|failure| failure.behind_any(session.recorded().as_ref()))?;
        session.close()?;
        let (outcome, doubt, output) = match end {
            Some((outcome, doubt, output)) => (outcome, doubt, Some(output)),
            None => (None, None, None),
        };
        Ok(Self { request_id, submitted, outcome, doubt, like, output })
    }

    /// Puts it into words. A failure where it does not count.
    pub(crate) fn words(&self) -> Result<String, Failure> {
        let counts = self.outcome.as_ref().map(outcome_words).unwrap_or_default();
        match self.standing()? {
            (Standing::Recorded | Standing::Repeated, _) => Ok(and_permits(&counts, self.doubt)),
            (Standing::Late | Standing::Conflict, why) => {
                Err(Failure::new(Exit::CONFLICT, "late", format!("{why}; {counts}")))
            }
        }
    }

    /// Shows it. Exit 4 where another answer counts.
    pub(crate) fn show(&self, global: &Global) -> Result<Exit, Failure> {
        let (answer, why) = self.standing().map_err(|failure| match &self.output {
            Some(output) => failure.adding(&format!("; {output}")),
            None => failure,
        })?;
        if !why.is_empty() {
            complain(&why);
        }
        self.put(global, answer)?;
        warn_permits_nothing(self.doubt, "the decision");
        Ok(match answer {
            Standing::Recorded | Standing::Repeated => Exit::DONE,
            Standing::Late | Standing::Conflict => Exit::CONFLICT,
        })
    }

    /// The standing of the answer, and why it does not count. A failure to find the request says
    /// which one may have been meant.
    fn standing(&self) -> Result<(Standing, String), Failure> {
        Ok(match &self.submitted {
            Submitted::Refused(refusal) if is_conflict(refusal) => {
                (Standing::Conflict, visible(&refusal.to_string()).to_string())
            }
            Submitted::Refused(refusal) => return Err(self.refused(refusal)),
            Submitted::Repeated(_) => (Standing::Repeated, String::new()),
            Submitted::Accepted(receipt) if is_late(receipt) => {
                (Standing::Late, TOO_LATE.to_string())
            }
            Submitted::Accepted(_) => (Standing::Recorded, String::new()),
        })
    }

    fn refused(&self, refusal: &Refusal) -> Failure {
        use HumanDecisionRefusal::UnknownRequest;
        let exit = match refusal {
            Refusal::Loop(LoopRefusal::HumanDecision(UnknownRequest { .. })) => Exit::NOT_FOUND,
            _ => Exit::REFUSED,
        };
        let failure = Failure::new(exit, refusal.code(), visible(&refusal.to_string()));
        let failure = failure.adding(&unproven(refusal));
        match self.like.as_deref().filter(|_| exit == Exit::NOT_FOUND) {
            Some(like) => failure.adding(&format!("; did you mean {}?", visible(like))),
            None => failure,
        }
    }

    fn put(&self, global: &Global, answer: Standing) -> Result<(), Failure> {
        let (request_id, outcome) = (self.request_id.as_str(), self.outcome.as_ref());
        let mut out = Output::stdout();
        if global.json {
            let decision = match outcome {
                Some(RequestOutcome::Decided(decided)) => Some(decided.view()),
                _ => None,
            };
            let records = match &self.submitted {
                Submitted::Refused(_) => None,
                Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => Some(Records {
                    first: receipt.first_sequence,
                    last: receipt.last_sequence,
                    at: receipt.at,
                }),
            };
            out.json(&AnswerOutput { request_id, answer, records, decision });
        } else {
            let request = format!("request         {}", named(request_id));
            let lines = std::iter::once(request).chain(outcome.map(outcome_line));
            let lines = lines.chain(self.output.clone());
            lines.flat_map(|line| screen::told(&line)).for_each(|line| out.line(line));
        }
        out.finish()
    }
}

/// The word by which a person answers a question that is open; an answer to another one is handed
/// in to be refused by the rules.
fn typed(
    global: &Global,
    session: &DecisionSession<'_>,
    request_id: &str,
    (reply, decision): (&Reply, HumanDecision),
) -> Result<Option<TypedLine>, Failure> {
    let open = session.look(|world| match world.find_request(request_id)? {
        RequestPlace::Live(entity, held) if held.outcome.is_none() => {
            Some(shell::Question::of(entity, held).asked_in(world))
        }
        RequestPlace::Live(..) | RequestPlace::Closed(_) => None,
    })?;
    let Some(question) = open else { return Ok(None) };
    let beside = (reply.reason.as_deref(), reply.to.as_deref());
    let line = Offer::of_hold(global, &question, decision.name(), beside).typed()?;
    line.map(Some).ok_or_else(|| {
        let message = "a person answers at a terminal, and there is none here: answer at one; \
                       another user than the one who asks may do without, by --yes, which goes \
                       on record";
        Failure::new(Exit::REFUSED, "no_terminal", message)
    })
}

/// The command, with the means by which the answer is given: at a terminal, or without one. The
/// engine records what it can prove of that.
fn command(
    session: &DecisionSession<'_>,
    request_id: &str,
    (reply, decision): (Reply, HumanDecision),
    line: Option<&TypedLine>,
) -> Result<Command, Failure> {
    let (channel, what) = match line {
        Some(line) => (AnswerChannel::Terminal, line.terminal()),
        None => (AnswerChannel::YesFlag, "no terminal"),
    };
    let detail = format!("{what}, uid {}", user_number()).into();
    let answer = AnswerHumanDecision {
        request_id: request_id.to_string(),
        loop_id: None,
        entropy: session.entropy()?,
        actor: Actor::Human,
        human_id: user_name(),
        decision,
        reason: reply.reason,
        escalation_target: reply.to,
        means: AnswerMeans { channel, detail },
    };
    Ok(Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(answer)))
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
