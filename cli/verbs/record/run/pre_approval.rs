//! Asking before the start: what the question came to, and what is said where nothing starts.

use super::approve::StartPerson;
use super::behind::Behind;
use super::{RunRequest, not_started, unrecorded};
use crate::args::Global;
use crate::log::decision_id::is_by_beginning;
use crate::log::question::resolve;
use crate::log::{Question, ids};
use crate::questions::decision_view::outcome_with_reason;
use crate::ui::program::program;
use crate::ui::text::{beginning, visible_once};
use crate::ui::{Exit, Failure, Output, complain};
use crate::verbs::record::run::hold_args::StartArgs;
use crate::verbs::record::run::rerun_hint;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointState};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionTimeout};
use holdpoint_engine::executor::{CommandSpec, SignalSource, Signals};
use holdpoint_engine::shell::{
    APPROVE, ApprovalKeys, ApprovalOutcome, AskBefore, Bound, DENY, EXIT_ABORTED,
    EXIT_LEFT_WAITING, EXIT_NOBODY_ANSWERED, StartError,
};
use serde::Serialize;
use serde_json::Value;

/// What a signal adds to its number to make a status.
const OF_SIGNAL: i32 = 128;

/// A run that was asked about, and not started.
#[derive(Clone, Debug)]
pub(super) struct NotStarted {
    /// The question.
    point: DecisionPoint,
    /// Why, for programs.
    outcome: &'static str,
    /// Why, for people.
    said: String,
    /// The command that spends the approval once it is given, where the question is left open.
    spending: Option<String>,
    /// The status to exit with.
    pub(super) exit_status: u8,
}

/// What a program is told.
#[derive(Serialize)]
struct ApprovalDocument<'a> {
    decision_id: &'a str,
    /// Why nothing was started; `pending`: the approval can be spent later.
    outcome: &'static str,
    exit_status: Exit,
    details: &'a str,
    /// What failed behind the record of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// Everything that the start is bound to.
pub(super) fn bind(
    carried: &RunRequest<'_>,
    start: &StartArgs,
    signals: &mut Signals,
) -> Result<Bound, Failure> {
    let keys = ApprovalKeys::of_user().map_err(|error| failure(carried.global, error))?;
    let signals = signals as &mut dyn SignalSource;
    let bound = Bound::take(&carried.run, start.binding(), keys, signals);
    bound.map_err(|error| failure(carried.global, error))
}

/// The decision that is meant. What nothing is called is for the rules to refuse.
pub(super) fn find(carried: &RunRequest<'_>, wanted: &str) -> Result<String, Failure> {
    let ambiguous =
        |failure: Failure| not_started("ambiguous_decision", failure.message().to_string());
    let found = carried.engine.query(|world| match resolve(world, wanted) {
        Ok(Question::Decision(point)) => {
            Ok((point.decision_id.to_string(), is_by_beginning(point, wanted)))
        }
        Err(failure) if failure.exit != Exit::NOT_FOUND => Err(ambiguous(failure)),
        Ok(Question::Hold(..)) | Err(_) => Ok((beginning(wanted).to_string(), false)),
    });
    let found = found.map_err(|error| unrecorded(carried.global, error.into()))?;
    let (id, is_by_beginning) = found?;
    if is_by_beginning {
        ids::expect_only(carried.global, wanted, &id).map_err(ambiguous)?;
    }
    Ok(id)
}

/// Asks, and waits. The approved question, or why nothing is started.
pub(super) fn ask(
    carried: &RunRequest<'_>,
    bound: &Bound,
    signals: &mut Signals,
) -> Result<Result<String, Box<NotStarted>>, Failure> {
    let (global, in_force) = (carried.global, carried.in_force);
    let ask = AskBefore {
        policy: in_force.approval.clone(),
        separation: in_force.gate.separation,
        timeout: in_force.approval_timeout.unwrap_or(match carried.hold.no_wait {
            true => HumanDecisionTimeout::UNATTENDED,
            false => HumanDecisionTimeout::DEFAULT,
        }),
    };
    let mut person = StartPerson::new(global, carried.hold.no_wait);
    let asked =
        carried.engine.ask_before(&carried.origin, &carried.run, bound, &ask, &mut person, signals);
    Ok(match asked.map_err(|error| failure(global, error))? {
        ApprovalOutcome::Approved(point) => Ok(point.decision_id.to_string()),
        ApprovalOutcome::Ended(point) => Err(NotStarted::ended(*point)),
        ApprovalOutcome::LeftOpen(point) => {
            let asks_after = in_force.hold.policy != HoldPolicy::Never;
            Err(NotStarted::left_open(*point, asks_after, &carried.run.command))
        }
        ApprovalOutcome::Interrupted { signal, question } => {
            Err(NotStarted::interrupted(*question, signal))
        }
    })
}

/// Nothing was started, and why.
pub(super) fn failure(global: &Global, error: StartError) -> Failure {
    let (code, said) = (error.code(), visible_once(&error.to_string()));
    match error {
        StartError::Run(error) => unrecorded(global, error),
        StartError::Submit(error) => unrecorded(global, error.into()),
        StartError::Program(refusal) => {
            let message = format!("{said}; the command was not started");
            Failure::new(Exit::of_command(refusal.exit_status()), code, message)
        }
        StartError::Interrupted { signal } => {
            let message = format!("{said}; the command was not started");
            Failure::new(Exit::of_command(of_signal(signal)), code, message)
        }
        _ => not_started(code, format!("{said} ({code})")),
    }
}

fn of_signal(signal: i32) -> u8 {
    u8::try_from(signal.saturating_add(OF_SIGNAL)).unwrap_or(u8::MAX)
}

impl NotStarted {
    fn ended(point: DecisionPoint) -> Box<Self> {
        let (outcome, exit_status) = match point.state {
            DecisionPointState::Cancelled => ("cancelled", EXIT_ABORTED),
            DecisionPointState::Superseded => ("superseded", EXIT_ABORTED),
            DecisionPointState::Aborted | DecisionPointState::Expired => {
                ("timed_out", EXIT_NOBODY_ANSWERED)
            }
            _ => ("denied", EXIT_ABORTED),
        };
        let said = outcome_with_reason(&point);
        Box::new(Self { point, outcome, said, spending: None, exit_status })
    }

    fn left_open(point: DecisionPoint, asks_after: bool, command: &CommandSpec) -> Box<Self> {
        let said = "no answer yet".to_string();
        let spending = Some(rerun_hint::spending(&point.decision_id, asks_after, command));
        let exit_status = EXIT_LEFT_WAITING;
        Box::new(Self { point, outcome: "pending", said, spending, exit_status })
    }

    fn interrupted(point: DecisionPoint, signal: i32) -> Box<Self> {
        let said = format!(
            "interrupted by signal {signal}, {}",
            crate::questions::decision_view::outcome(&point)
        );
        let exit_status = of_signal(signal);
        Box::new(Self { point, outcome: "interrupted", said, spending: None, exit_status })
    }

    /// The question.
    pub(super) fn decision_id(&self) -> &str {
        &self.point.decision_id
    }

    /// Its newest record.
    pub(super) const fn version(&self) -> u64 {
        self.point.version
    }

    /// Tells that nothing was started: on stderr to a person, on stdout with `--json`. The id of a
    /// question that was left open stands on stdout alone.
    pub(super) fn tell(&self, global: &Global, behind: &Behind) -> Result<(), Failure> {
        let id = &*self.point.decision_id;
        let mut out = Output::stdout();
        if global.json {
            let (outcome, details) = (self.outcome, &*self.said);
            let (exit_status, error) = (behind.exit, behind.error());
            out.json(&ApprovalDocument { decision_id: id, outcome, exit_status, details, error });
        } else if let Some(spending) = &self.spending {
            out.line(id);
            let program = program(&global.log);
            complain(&format!(
                "a person decides by the first command, or {DENY}; the second spends the \
                 approval\n  {program} {APPROVE} {id}\n  {program} {spending}"
            ));
        } else {
            complain(&format!("{id}: {}; the command was not started", self.said));
        }
        behind.complain();
        out.finish()
    }
}
