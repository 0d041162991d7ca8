//! `holdpoint decision wait --follow`: what happens to questions, as it happens.

use crate::args::Global;
use crate::log::Question;
use crate::log::current_state::{InDoubt, tell_lost, tell_unproven};
use crate::log::question::resolve;
use crate::questions::following::Following;
use crate::ui::text::doer;
use crate::ui::{Exit, Failure, Output, moment};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::{ActorId, Event, Proof, Time, World};
use holdpoint_engine::shell::Delivered;
use holdpoint_replay::question::known_decisions;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Which questions are followed, and from where on.
pub(super) struct Followed<'a> {
    /// The first record, 0 for the log's first; `None`: the next one that is written.
    pub(super) from: Option<u64>,
    /// Decisions of this issue.
    pub(super) issue: Option<&'a str>,
    /// This question, in all its rounds.
    pub(super) id: Option<&'a str>,
}

/// Writes one line for each event of a question, each at once when it is durable, until Ctrl-C or
/// until nobody reads any more; with `--json` as JSON Lines. Never writes to the log.
pub(super) fn follow(global: &Global, followed: &Followed<'_>) -> Result<Exit, Failure> {
    // A stream of values ends where it fails, and stderr says why.
    stream(global, followed).or_else(|failure| Ok(failure.tell()))
}

fn stream(global: &Global, followed: &Followed<'_>) -> Result<Exit, Failure> {
    let mut following = Following::of_records(global, followed.from)?;
    let mut filter = Filter::of(following.world(), followed)?;
    let mut out = Output::stdout();
    tell_unproven(following.world());
    tell_lost(following.world());
    loop {
        following.catch_up(&mut |delivered, world| {
            if let Some(line) = filter.line(delivered, world) {
                if global.json {
                    out.json_line(&line)
                } else {
                    out.line(line.of_person())
                }
                out.flush();
            }
        })?;
        if !out.has_reader() {
            break;
        }
        following.block(Duration::MAX);
    }
    out.finish()?;
    Ok(Exit::DONE)
}

/// One event.
#[derive(Serialize)]
struct Line<'a> {
    sequence: u64,
    time: Time,
    kind: &'static str,
    actor: &'a ActorId,
    proof: Option<Proof>,
    decision_id: &'a str,
    event: &'a Event,
    #[serde(flatten)]
    doubt: InDoubt,
}

impl Line<'_> {
    fn of_person(&self) -> String {
        let doubt = self.doubt.doubt.map(|doubt| format!("  {doubt}, and permits nothing"));
        format!(
            "{:>8}  {}  {:<30}  {:<24}  {}{}",
            self.sequence,
            moment(self.time),
            self.kind,
            doer(self.actor, self.proof),
            visible(self.decision_id),
            doubt.unwrap_or_default()
        )
    }
}

/// The questions that are followed.
struct Filter {
    issue: Option<String>,
    /// `None`: every one.
    ids: Option<BTreeSet<String>>,
}

impl Filter {
    /// What is asked for, as far as it is there already.
    fn of(world: &World, followed: &Followed<'_>) -> Result<Self, Failure> {
        let issue = followed.issue;
        let of_issue = |question: &Question<'_>| question.issue() == issue;
        let ids = match (followed.id, issue) {
            (Some(id), _) => Some(rounds(world, resolve(world, id)?)),
            (None, Some(_)) => {
                let questions = Question::all(world).filter(of_issue);
                Some(questions.map(|question| question.id().to_string()).collect())
            }
            (None, None) => None,
        };
        Ok(Self { issue: issue.map(String::from), ids })
    }

    /// The line of a record, where it is about one of them.
    fn line<'a>(&mut self, delivered: &'a Delivered, world: &World) -> Option<Line<'a>> {
        let Delivered { sequence, at, envelope, .. } = delivered;
        let event = &envelope.event;
        let decision_id = event.question()?;
        self.note_new(event, decision_id);
        let is_followed = self.ids.as_ref().is_none_or(|ids| ids.contains(decision_id));
        let doubt = || Question::find(world, decision_id)?.doubt(world);
        is_followed.then(|| Line {
            sequence: *sequence,
            time: *at,
            kind: event.kind().name,
            actor: &envelope.actor,
            proof: envelope.proof,
            decision_id,
            event,
            doubt: InDoubt::of(doubt()),
        })
    }

    /// A question of the issue is followed from now on, and so is what takes the place of one: the
    /// next round, or the request to somebody else.
    fn note_new(&mut self, event: &Event, id: &str) {
        let Some(ids) = &mut self.ids else { return };
        let is_followed = match event {
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(created)) => {
                self.issue.is_some() && created.terms.issue_id.as_deref() == self.issue.as_deref()
            }
            Event::DecisionPoint(DecisionPointEvent::RoundOpened(opened)) => {
                ids.contains(opened.prior_id.as_str())
            }
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(asked)) => {
                asked.context.escalated_from.as_deref().is_some_and(|before| ids.contains(before))
            }
            _ => false,
        };
        if is_followed {
            ids.insert(id.to_string());
        }
    }
}

/// The ids of all rounds of a question.
fn rounds(world: &World, question: Question<'_>) -> BTreeSet<String> {
    match question {
        Question::Hold(..) => {
            let next = std::iter::successors(Some(question), |it| it.passed_on(world));
            next.map(|question| question.id().to_string()).collect()
        }
        Question::Decision(point) => {
            let rounds = known_decisions(world).filter(|round| round.chain_id == point.chain_id);
            rounds.map(|round| round.decision_id.to_string()).collect()
        }
    }
}
