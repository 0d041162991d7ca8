//! `holdpoint decision watch`: what happens to decisions, as it happens.

use crate::args::Global;
use crate::log::current_state::{InDoubt, tell_lost, tell_unproven};
use crate::log::decision_id::{all, resolve};
use crate::questions::following::Following;
use crate::ui::text::doer;
use crate::ui::{Exit, Failure, Output, moment};
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointEvent};
use holdpoint_domain::{ActorId, Event, Proof, Time, World};
use holdpoint_engine::shell::Delivered;
use serde::Serialize;
use std::collections::BTreeSet;
use std::time::Duration;

/// Options of `decision watch`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Begin with this record, 0 for the log's first; else with the next one that is written.
    #[arg(long, value_name = "SEQ")]
    from: Option<u64>,
    /// Only decisions of this issue.
    #[arg(long, value_name = "ISSUE", conflicts_with = "id")]
    issue: Option<String>,
    /// Only this question, in all its rounds: its id, the beginning of it, or its issue.
    #[arg(long, value_name = "ID")]
    id: Option<String>,
}

/// Writes one line for each event of a decision, each at once when it is durable, until Ctrl-C or
/// until nobody reads any more; with `--json` as JSON Lines. Never writes to the log.
pub(super) fn watch(global: &Global, args: &Args) -> Result<Exit, Failure> {
    // A stream of values ends where it fails, and stderr says why.
    follow(global, args).or_else(|failure| Ok(failure.tell()))
}

fn follow(global: &Global, args: &Args) -> Result<Exit, Failure> {
    let mut following = Following::of_records(global, args.from)?;
    let mut wanted = Wanted::of(following.world(), args)?;
    let mut out = Output::stdout();
    tell_unproven(following.world());
    tell_lost(following.world());
    loop {
        following.catch_up(&mut |delivered, world| {
            if let Some(line) = wanted.line(delivered, world) {
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

/// Which decisions are watched.
struct Wanted {
    issue: Option<String>,
    /// `None`: every one.
    ids: Option<BTreeSet<String>>,
}

impl Wanted {
    /// What is asked for, as far as it is there already.
    fn of(world: &World, args: &Args) -> Result<Self, Failure> {
        let issue = args.issue.clone();
        let ids = |is_wanted: &dyn Fn(&DecisionPoint) -> bool| {
            let points = all(world).filter(|point| is_wanted(point));
            Some(points.map(|point| point.decision_id.to_string()).collect())
        };
        let ids = match (&args.id, &issue) {
            (Some(id), _) => {
                let chain_id = &resolve(world, id)?.chain_id;
                ids(&|point| point.chain_id == *chain_id)
            }
            (None, Some(_)) => ids(&|point| point.terms.issue_id.as_deref() == issue.as_deref()),
            (None, None) => None,
        };
        Ok(Self { issue, ids })
    }

    /// The line of a record, where it is wanted.
    fn line<'a>(&mut self, delivered: &'a Delivered, world: &World) -> Option<Line<'a>> {
        let Delivered { sequence, at, envelope, .. } = delivered;
        let event = &envelope.event;
        let decision_id = event.decision_point()?;
        self.note_new(event, decision_id);
        let is_wanted = self.ids.as_ref().is_none_or(|ids| ids.contains(decision_id));
        let doubt = || world.doubt_of_point(world.decision_point(decision_id)?);
        is_wanted.then(|| Line {
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

    /// A question of the issue is wanted from now on, and so is another round of a wanted one.
    fn note_new(&mut self, event: &Event, decision_id: &str) {
        let Some(ids) = &mut self.ids else { return };
        let is_wanted = match event {
            Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(created)) => {
                self.issue.is_some() && created.terms.issue_id.as_deref() == self.issue.as_deref()
            }
            Event::DecisionPoint(DecisionPointEvent::RoundOpened(opened)) => {
                ids.contains(opened.prior_id.as_str())
            }
            _ => false,
        };
        if is_wanted {
            ids.insert(decision_id.to_string());
        }
    }
}
