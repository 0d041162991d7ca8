//! `thread show --rows`: the audit rows of one thread: committed, refused, and of what ended by
//! no turn.

use crate::args::{Global, lock_wait};
use crate::log::open::failed;
use crate::log::thread_reading::{Name, Reading};
use crate::log::verdict::exit_of;
use crate::log::{ArchiveArgs, Directory, coverage, warn};
use crate::questions::open::open;
use crate::ui::text::{actor, aligned};
use crate::ui::{Exit, Failure, Output, complain, moment};
use crate::verbs::thread::view::{title, turn_or_plan};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::interruption_thread::{
    DecidedBy, Directive, InterruptionThreadCommand, InterruptionThreadEvent, OutcomeRow,
    PendingState, ReasonCode, Remainder, ResumePolicy, RowCommitted, RowEventType, RowPayload,
    RowRefused, Severity, ThreadCommand, TtsControl,
};
use holdpoint_domain::registration::WorkOrderStatus;
use holdpoint_domain::{ActorId, Command, Event, Time};
use holdpoint_engine::shell::{Origin, Submitted, user_name};
use holdpoint_replay::{Committed, Reach, Until};
use serde::Serialize;

/// Options of `thread show --rows`.
#[derive(Debug, clap::Args)]
pub(crate) struct RowsArgs {
    /// Show its audit rows, committed and refused.
    #[arg(long, group = "form")]
    pub(super) rows: bool,
    /// Put on record that the rows are read. Whoever reads needs the capability for it.
    #[arg(long, requires = "rows")]
    diagnostic: bool,
    /// Who reads, with --diagnostic; else this user, as AUTOMATION.
    #[arg(long = "as", value_name = "KIND:ID", value_parser = parse_actor, requires = "diagnostic")]
    reader: Option<ActorId>,
    #[command(flatten)]
    turn: lock_wait::LockWaitArgs,
}

/// Shows the rows. Only the diagnostic mode writes, and first: the rows shown are then those before
/// the record that says so, and none where that cannot be recorded.
pub(super) fn rows(
    global: &Global,
    name: &Name,
    args: &RowsArgs,
    archives: &ArchiveArgs,
) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, archives)?;
    let mut reading = Reading::of(&directory, Until::End, &name.correlation)?;
    directory.expect_log(&reading.rebuilt.report)?;
    if args.diagnostic {
        let (tenant, _) = reading.thread(&directory, name)?;
        let sequence = record_reading(global, name, args, tenant)?;
        let until = Until::Sequence(sequence);
        reading = Reading::of(&directory, until, &name.correlation)?;
    }
    let (tenant, records) = reading.thread(&directory, name)?;
    let reach = &reading.rebuilt.report.reach;
    let rows = records.into_iter().flat_map(Row::of).map(|row| row.within(reach));
    let rows: Vec<Row<'_>> = rows.collect();
    let missing = reading.missing(&directory, &tenant, &name.correlation);
    let mut out = Output::stdout().folding();
    if global.json {
        out.json(&rows);
        missing.iter().for_each(|missing| complain(missing));
    } else {
        out.line(title(&tenant, &name.correlation));
        missing.iter().for_each(|missing| out.line(format_args!("not here: {missing}")));
        show(&mut out, &rows);
    }
    out.finish()?;
    coverage::tell(
        global,
        &reading.rebuilt.report,
        rows.last().map_or(0, |row| row.audit_event_id),
    );
    warn(&reading.rebuilt.report);
    Ok(exit_of(&reading.rebuilt.report))
}

/// Puts the reading on record, and says so. Gives the sequence of the record.
fn record_reading(
    global: &Global,
    name: &Name,
    args: &RowsArgs,
    tenant_id: String,
) -> Result<u64, Failure> {
    let engine = open(global, &args.turn)?;
    let correlation_id = name.correlation.clone();
    let default = || ActorId { kind: Actor::Automation, id: user_name() };
    let reader = args.reader.clone().unwrap_or_else(default);
    let shown = actor(&reader);
    let origin = Origin { actor: reader, correlation: correlation_id.clone(), causation: None };
    let command =
        Command::InterruptionThread(InterruptionThreadCommand::ReadAuditRows(ThreadCommand {
            tenant_id,
            correlation_id,
        }));
    let submitted = engine.submit(&origin, &command).map_err(|e| failed(global, e))?;
    engine.close().map_err(|error| failed(global, error))?;
    match submitted {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => {
            let sequence = receipt.last_sequence;
            complain(&format!("record {sequence} says that {shown} reads the rows"));
            Ok(sequence)
        }
        Submitted::Refused(refusal) => {
            Err(Failure::new(Exit::REFUSED, refusal.code(), visible(&refusal.to_string())))
        }
    }
}

/// `HUMAN:ada`, `AGENT:planner`, `AUTOMATION:ci`.
fn parse_actor(text: &str) -> Result<ActorId, String> {
    let advice = "write it as HUMAN:ada, AGENT:planner or AUTOMATION:ci";
    let (kind, id) = text.split_once(':').ok_or(advice)?;
    let kind = Actor::from_name(kind).filter(|kind| *kind != Actor::System).ok_or(advice)?;
    if id.is_empty() {
        return Err(advice.into());
    }
    Ok(ActorId { kind, id: id.into() })
}

/// A row as a program reads it: absent is what says nothing.
#[derive(Serialize)]
struct Row<'a> {
    /// The sequence of the row's record.
    audit_event_id: u64,
    time: Time,
    tenant_id: String,
    correlation_id: String,
    /// Of a row of what ended: the turn that left the words unsaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_id: Option<&'a str>,
    reason_code: ReasonCode,
    reason_number: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(flatten)]
    outcome: Outcome<'a>,
    /// What is proven of its record, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<&'static str>,
}

/// Whether the row was committed.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome<'a> {
    Committed {
        event_type: RowEventType,
        severity: Severity,
        #[serde(skip_serializing_if = "Option::is_none")]
        issue_fingerprint: Option<&'a str>,
        decided_by: DecidedBy,
        #[serde(skip_serializing_if = "Option::is_none")]
        dropped_pending: Option<PendingState>,
        /// What becomes of the words that the turn touches.
        #[serde(skip_serializing_if = "<[Remainder]>::is_empty")]
        remainders: &'a [Remainder],
        payload: Payload<'a>,
    },
    Refused {
        refused: Refused<'a>,
    },
    Ended {
        ended: Ended,
    },
}

/// What ended by no turn and no caller.
#[derive(Serialize)]
struct Ended {
    /// The answer that the words belong to.
    #[serde(skip_serializing_if = "Option::is_none")]
    answer_id: Option<u64>,
    interrupt_resume_policy: ResumePolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_fingerprint: Option<String>,
    /// The turn under which the words of a plan go on, where another plan or turn interrupts the
    /// same.
    #[serde(skip_serializing_if = "Option::is_none")]
    passed_to_turn: Option<u64>,
    /// The request that the thread waits for no more; NONE where that was a return check.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_state: Option<PendingState>,
}

/// What was refused, and why.
#[derive(Serialize)]
struct Refused<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    directive: Option<&'static str>,
    class: RefusalClass,
    message: &'a str,
    /// What the turn left unsaid: lost with it, or kept by the thread or its open plan.
    #[serde(skip_serializing_if = "<[Remainder]>::is_empty")]
    remainders: &'a [Remainder],
    /// What becomes of these words.
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt_resume_policy: Option<ResumePolicy>,
    /// What happens to speech that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    tts_control: Option<TtsControl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue_fingerprint: Option<&'a str>,
}

/// The seed's payload keys, and no other.
#[derive(Serialize)]
struct Payload<'a> {
    directive: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    what_is_missing: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clarification_unit_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dispatch_target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_kind: Option<&'a str>,
    work_order_id: &'a str,
    work_order_status_snapshot: WorkOrderStatus,
    pending_state: PendingState,
    #[serde(skip_serializing_if = "Option::is_none")]
    lease_token_hash: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interrupt_resume_policy: Option<ResumePolicy>,
}

impl<'a> Row<'a> {
    fn of(record: &'a Committed) -> Vec<Self> {
        let envelope = record.envelope();
        let Some(Event::InterruptionThread(event)) = envelope.map(|envelope| &envelope.event)
        else {
            return Vec::new();
        };
        match event {
            InterruptionThreadEvent::RowCommitted(row) => vec![Self::committed(record, row)],
            InterruptionThreadEvent::RowRefused(row) => vec![Self::refused(record, row)],
            other => {
                let rows = other.outcome_rows().into_iter();
                rows.map(|row| Self::ended(record, row)).collect()
            }
        }
    }

    fn within(self, reach: &Reach) -> Self {
        let standing = reach.standing(self.audit_event_id, false);
        Self { standing: Some(standing.name()), ..self }
    }

    fn committed(record: &Committed, row: &'a RowCommitted) -> Self {
        Self {
            audit_event_id: record.header.sequence,
            time: record.time(),
            tenant_id: row.tenant_id.to_string(),
            correlation_id: row.correlation_id.to_string(),
            turn_id: Some(row.turn_id),
            session_id: row.session_id.as_ref().map(|session| session.to_string()),
            user_id: Some(row.user_id.to_string()),
            device_id: Some(&row.device_id),
            reason_code: row.reason_code,
            reason_number: row.reason_code.number(),
            idempotency_key: Some(&row.idempotency_key),
            outcome: Outcome::Committed {
                event_type: row.event_type,
                severity: row.severity,
                issue_fingerprint: row.issue_fingerprint.as_deref(),
                decided_by: row.decided_by,
                dropped_pending: row.dropped_pending,
                remainders: &row.remainders,
                payload: Payload::of(&row.payload),
            },
            standing: None,
        }
    }

    fn refused(record: &Committed, row: &'a RowRefused) -> Self {
        Self {
            audit_event_id: record.header.sequence,
            time: record.time(),
            tenant_id: row.tenant_id.to_string(),
            correlation_id: row.correlation_id.to_string(),
            turn_id: Some(row.turn_id),
            session_id: None,
            user_id: Some(row.user_id.to_string()),
            device_id: Some(&row.device_id),
            reason_code: row.reason_code,
            reason_number: row.reason_code.number(),
            idempotency_key: Some(&row.idempotency_key),
            outcome: Outcome::Refused {
                refused: Refused {
                    command: &row.command,
                    directive: row.directive.map(Directive::payload_value),
                    class: row.class,
                    message: &row.message,
                    remainders: &row.remainders,
                    interrupt_resume_policy: policy_of(&row.remainders),
                    tts_control: row.tts_control,
                    issue_fingerprint: row.issue_fingerprint.as_deref(),
                },
            },
            standing: None,
        }
    }

    fn ended(record: &Committed, row: OutcomeRow) -> Self {
        Self {
            audit_event_id: record.header.sequence,
            time: record.time(),
            tenant_id: row.tenant_id.to_string(),
            correlation_id: row.correlation_id.to_string(),
            turn_id: row.turn_id,
            session_id: row.session_id.map(|session| session.to_string()),
            user_id: row.user_id.map(|user| user.to_string()),
            device_id: None,
            reason_code: row.reason_code,
            reason_number: row.reason_code.number(),
            idempotency_key: None,
            outcome: Outcome::Ended {
                ended: Ended {
                    answer_id: row.answer_id,
                    interrupt_resume_policy: row.interrupt_resume_policy,
                    issue_fingerprint: row.issue_fingerprint.map(|issue| issue.to_string()),
                    passed_to_turn: row.passed_to_turn,
                    pending_state: row.pending_state,
                },
            },
            standing: None,
        }
    }

    /// The cells of a line.
    fn cells(&self) -> [String; 11] {
        let [directive, kind, work_order, pending, policy] = self.outcome.cells();
        [
            self.audit_event_id.to_string(),
            moment(self.time),
            self.turn_id.map_or(String::new(), |turn| turn.to_string()),
            directive,
            self.reason_code.to_string(),
            kind,
            work_order,
            pending,
            policy,
            visible(self.user_id.as_deref().unwrap_or_default()).to_string(),
            visible(self.idempotency_key.unwrap_or_default()).to_string(),
        ]
    }
}

/// What becomes of the words that a refused turn leaves unsaid: there is one remainder at most.
fn policy_of(remainders: &[Remainder]) -> Option<ResumePolicy> {
    remainders.first().map(|words| words.fate.policy())
}

impl Outcome<'_> {
    /// Directive, kind, work order, pending and policy.
    fn cells(&self) -> [String; 5] {
        match self {
            Self::Committed { payload, .. } => payload.cells(),
            Self::Refused { refused } => {
                let directive = refused.directive.unwrap_or(turn_or_plan(refused.command));
                let [none, also_none] = [const { String::new() }; 2];
                let class = refused.class.to_string();
                let policy = refused.interrupt_resume_policy.map(|policy| policy.to_string());
                let policy = policy.unwrap_or_default();
                [format!("refused: {directive}"), class, none, also_none, policy]
            }
            Self::Ended { ended } => {
                let [none, also_none, nor_this] = [const { String::new() }; 3];
                let policy = ended.interrupt_resume_policy.to_string();
                ["ended".into(), none, also_none, nor_this, policy]
            }
        }
    }
}

impl<'a> Payload<'a> {
    fn of(payload: &'a RowPayload) -> Self {
        Self {
            directive: payload.directive.payload_value(),
            confirm_kind: payload.confirm_kind.as_deref(),
            what_is_missing: payload.what_is_missing.as_deref(),
            clarification_unit_id: payload.clarification_unit_id.as_deref(),
            response_kind: payload.response_kind.as_deref(),
            dispatch_target: payload.dispatch_target.as_deref(),
            wait_kind: payload.wait_kind.as_deref(),
            work_order_id: &payload.work_order_id,
            work_order_status_snapshot: payload.work_order_status_snapshot,
            pending_state: payload.pending_state,
            lease_token_hash: payload.lease_token_hash,
            interrupt_resume_policy: payload.interrupt_resume_policy,
        }
    }

    fn cells(&self) -> [String; 5] {
        let kinds = [
            self.confirm_kind,
            self.what_is_missing,
            self.response_kind,
            self.dispatch_target,
            self.wait_kind,
        ];
        let kind = kinds.into_iter().flatten().next().unwrap_or("");
        let (order, status) = (self.work_order_id, self.work_order_status_snapshot);
        [
            self.directive.to_string(),
            visible(kind).to_string(),
            format!("{} {status}", visible(order)),
            self.pending_state.to_string(),
            self.interrupt_resume_policy.map_or(String::new(), |policy| policy.to_string()),
        ]
    }
}

fn show(out: &mut Output, rows: &[Row<'_>]) {
    let header = [
        "row",
        "time",
        "turn",
        "directive",
        "reason",
        "kind",
        "work order",
        "pending",
        "policy",
        "user",
        "key",
    ];
    let header = header.map(String::from);
    let cells: Vec<_> = std::iter::once(header).chain(rows.iter().map(Row::cells)).collect();
    aligned(&cells).iter().for_each(|line| out.line(line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_a_kind_and_an_id() {
        let reader = parse_actor("AGENT:a:b").unwrap();
        assert_eq!((reader.kind, reader.id.as_str()), (Actor::Agent, "a:b"));
        for text in ["", "ada", "human:ada", "SYSTEM:holdpoint", "HUMAN:"] {
            assert!(parse_actor(text).is_err(), "{text}");
        }
    }
}
