//! What `run` says when it is over: nothing to a person when all went well, and one JSON object to
//! a program.

use super::behind::Behind;
use crate::args::Global;
use crate::ui::program::program;
use crate::ui::screen::{columns_of_stderr, folded};
use crate::ui::{Exit, Failure, Output, complain, streams};
use anstream::{AutoStream, ColorChoice};
use anstyle::Style;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::HaltReason;
use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionRecord};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, SandboxDecision};
use holdpoint_domain::world::MAX_OPEN_ESCALATIONS;
use holdpoint_engine::executor::{CapturedOutput, ExecutionReport, command_line};
use holdpoint_engine::shell::{
    EXIT_LEFT_WAITING, EndWaits, FaultOutcome, HeldRun, LeftOpen, RunReport,
};
use holdpoint_replay::words::code_in_words;
use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;
use std::io::IsTerminal;

/// What is said where the disk had no room for what was printed.
const EVIDENCE_DROPPED: &str = "the disk is full: some of what the command printed is not on the \
    log; its length, its digest and how it ended are";

/// The status that a run ends with as far as it went well, and its id. Where its end waits, that is
/// the command's own, unless a person is to be asked or another attempt was due.
pub(super) fn status_and_id(run: &HeldRun) -> (u8, &str) {
    let status = match run {
        HeldRun::Ended(report) => report.exit_status,
        HeldRun::EndWaits(end) if !end.may_be_asked && !end.is_cut_short => end.exit_status,
        HeldRun::LeftOpen(_) | HeldRun::EndWaits(_) => EXIT_LEFT_WAITING,
    };
    (status, &run.summary().loop_id)
}

/// Tells what came of a run, on stderr to a person, on stdout with `--json`.
pub(super) fn tell_run(global: &Global, run: &HeldRun, behind: &Behind) -> Result<(), Failure> {
    tell_left_behind(run.summary().execution.as_ref());
    if global.json {
        behind.complain();
        let mut out = Output::stdout();
        out.json(&OutcomeDocument::of(global, run, behind));
        return out.finish();
    }
    match run {
        HeldRun::Ended(report) => tell(global, report),
        HeldRun::LeftOpen(open) => tell_open(open),
        HeldRun::EndWaits(end) => complain(&waiting(end)),
    }
    behind.complain();
    Ok(())
}

/// Tells a person how a run ended.
fn tell(global: &Global, report: &RunReport) {
    if report.summary.is_evidence_dropped {
        complain(EVIDENCE_DROPPED);
    }
    if let Some(remark) = remark(global, report) {
        complain(&remark);
    }
    if std::io::stderr().is_terminal() && !streams::is_stuck() {
        let is_plain = AutoStream::choice(&std::io::stderr()) == ColorChoice::Never;
        let dim = if is_plain { Style::new() } else { Style::new().dimmed() };
        let (id, place) = (&report.summary.loop_id, place(global));
        let told = format!("holdpoint: recorded as {id} in {place}");
        let told = folded(&told, ("", "  "), columns_of_stderr()).join("\n");
        // Where stderr is closed there is nobody to tell.
        let _ = streams::mention(&format!("{dim}{told}{dim:#}"));
    }
}

/// Tells a person what else than the open question the attempt came to.
fn tell_open(open: &LeftOpen) {
    if open.summary.is_evidence_dropped {
        complain(EVIDENCE_DROPPED);
    }
    if let Some(needed) = open.summary.fault.as_ref().and_then(needed) {
        complain(&needed);
    }
}

/// Says at a terminal how a command gets one, where the run ended other than well without.
pub(super) fn hint(is_tty: bool, exit: Exit) {
    let at_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if at_terminal && !is_tty && exit != Exit::DONE {
        complain("a command that needs a terminal gets one of its own by --tty");
    }
}

/// One line about an end that is safe, and not on the log yet.
fn waiting(end: &EndWaits) -> String {
    let then = match (end.may_be_asked, end.summary.is_evidence_dropped) {
        (true, false) => "then a person is asked, if the hold applies",
        (true, true) => "then a person is asked, if the hold applies; of the output a part is lost",
        (false, false) => "no data is lost",
        (false, true) => "of the output a part is lost: its length and its digest are kept",
    };
    let (why, who) = match (&end.log_failure, end.waits_for_room) {
        (Some(failure), _) => (failure.as_str(), ", and the next writer puts it on the log"),
        (None, true) => (
            "the log's disk is full",
            "; once there is room (`df`), `holdpoint decision expire` puts it on the log, or \
             whoever writes next",
        ),
        (None, false) => {
            ("another process keeps the log locked", ", and the next writer puts it on the log")
        }
    };
    let cut_short = match end.is_cut_short {
        true => "; another attempt was due, and none is made: the run ends as it stands",
        false => "",
    };
    let why = visible(why);
    format!(
        "{why}: how the command ended (status {}) is safe in runs/{}{who}; {then}{cut_short}",
        end.exit_status, end.summary.loop_id
    )
}

/// One line when anything but an answer of the command ended the loop.
fn remark(global: &Global, report: &RunReport) -> Option<String> {
    let (halted, summary) = (&report.halted, &report.summary);
    let (name, code) = match (halted.reason, halted.stop_condition, &summary.fault) {
        (HaltReason::Completed | HaltReason::ResponseRejected, _, _) => return None,
        (HaltReason::HumanDecisionTimedOut, _, _) => (halted.reason.name(), String::new()),
        (_, Some(condition), _) => (condition.name(), String::new()),
        (_, None, Some(fault)) => {
            let code = format!(", {} {}", fault.code, fault.sandbox_decision);
            (fault.fault_type.name(), code)
        }
        (reason, None, None) => (reason.name(), String::new()),
    };
    let said = report.details.clone().unwrap_or_else(|| code_in_words(name));
    let needed = summary.fault.as_ref().and_then(needed);
    let person = needed.map(|needed| format!(": {needed}")).unwrap_or_default();
    Some(format!("{said} ({name}{code}){person}; see `{}`", show(global, &summary.loop_id)))
}

/// Says that a person is needed, where Phase-21 escalates.
fn needed(fault: &FaultOutcome) -> Option<String> {
    match (fault.sandbox_decision, &fault.escalation) {
        (SandboxDecision::Escalate, Some(asked)) => Some(format!("a person is needed, {asked}")),
        (SandboxDecision::Escalate, None) => Some(unasked()),
        (SandboxDecision::Retry | SandboxDecision::Terminate, _) => None,
    }
}

/// Says that a person is needed whom no decision asks.
fn unasked() -> String {
    format!(
        "a person is needed, and no decision asks for one, for {MAX_OPEN_ESCALATIONS} such \
         decisions are open"
    )
}

/// What a person would be warned of, where a program is told.
fn warning(fault: Option<&FaultOutcome>, is_evidence_dropped: bool) -> Option<Cow<'static, str>> {
    let is_unasked = |fault: &&FaultOutcome| {
        fault.sandbox_decision == SandboxDecision::Escalate && fault.escalation.is_none()
    };
    match is_evidence_dropped {
        true => Some(EVIDENCE_DROPPED.into()),
        false => fault.filter(is_unasked).map(|_| unasked().into()),
    }
}

/// The command that shows the whole story.
fn show(global: &Global, loop_id: &str) -> String {
    format!("{} show {loop_id}", program(&global.log))
}

/// The log's directory as a shell would need it.
fn place(global: &Global) -> String {
    command_line(global.log.as_os_str(), &[])
}

/// What a program is told.
#[derive(Serialize)]
struct OutcomeDocument<'a> {
    loop_id: &'a str,
    exit_status: Exit,
    /// None: the loop waits for a person.
    reason: Option<HaltReason>,
    stop_condition: Option<StopCondition>,
    fault_type: Option<ExecutionFaultType>,
    fault_code: Option<&'a str>,
    sandbox_decision: Option<SandboxDecision>,
    /// The decision that asks a person about an escalation.
    escalation: Option<&'a str>,
    details: Option<&'a str>,
    /// The last decision that was asked for.
    decision: Option<Decision<'a>>,
    /// The question that was left open.
    request_id: Option<&'a str>,
    attempts: u8,
    records: Records,
    wall_ms: u64,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    /// The disk was full: of what the command printed only length and digest are on the log.
    evidence_dropped: bool,
    /// What would have ended with this program, of the last attempt.
    containment: Option<&'static str>,
    /// Whether the end waits in the run's own file: the next writer puts it on the log.
    end_waits: bool,
    /// What a person would be warned of.
    warning: Option<Cow<'static, str>>,
    /// Who lives on after the last attempt.
    left_behind: Vec<LeftBehind<'a>>,
    /// How many of them were to be stopped, and could not be.
    could_not_be_stopped: u32,
    log: String,
    /// What failed behind the record of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

/// A process that outlived the command.
#[derive(Serialize)]
struct LeftBehind<'a> {
    pid: i32,
    name: &'a str,
}

/// Who decided what, and why.
#[derive(Serialize)]
struct Decision<'a> {
    request_id: &'a str,
    decision: HumanDecision,
    human_id: &'a str,
    reason: Option<&'a str>,
}

/// The sequences of the run's first and last record.
#[derive(Serialize)]
struct Records {
    first: u64,
    last: u64,
}

/// How much a stream of the last attempt had, and how much of it is on the log.
#[derive(Serialize)]
struct Stream {
    length: u64,
    captured: u64,
    /// How much of that is the stream's beginning; the rest is its end.
    head: u64,
    /// How much is missing between the two.
    gap: u64,
}

impl<'a> OutcomeDocument<'a> {
    fn of(global: &Global, run: &'a HeldRun, behind: &Behind) -> Self {
        let summary = run.summary();
        let (fault, execution) = (summary.fault.as_ref(), summary.execution.as_ref());
        let common = Self {
            loop_id: &summary.loop_id,
            exit_status: behind.exit,
            reason: None,
            stop_condition: None,
            fault_type: fault.map(|fault| fault.fault_type),
            fault_code: fault.map(|fault| fault.code.as_str()),
            sandbox_decision: fault.map(|fault| fault.sandbox_decision),
            escalation: fault.and_then(|fault| fault.escalation.as_deref()),
            details: None,
            decision: None,
            request_id: None,
            attempts: summary.attempts,
            records: Records { first: summary.first_sequence, last: summary.last_sequence },
            wall_ms: u64::try_from(summary.wall.as_millis()).unwrap_or(u64::MAX),
            stdout: execution.map(|execution| Stream::of(&execution.stdout)),
            stderr: execution.map(|execution| Stream::of(&execution.stderr)),
            evidence_dropped: summary.is_evidence_dropped,
            containment: execution.map(|execution| execution.containment.name()),
            end_waits: false,
            warning: warning(fault, summary.is_evidence_dropped),
            left_behind: left_behind(execution),
            could_not_be_stopped: beyond_reach(execution),
            log: absolute(global),
            error: behind.error(),
        };
        match run {
            HeldRun::Ended(report) => Self {
                reason: Some(report.halted.reason),
                stop_condition: report.halted.stop_condition,
                details: report.details.as_deref(),
                decision: report.decision.as_ref().map(Decision::of),
                ..common
            },
            HeldRun::LeftOpen(open) => {
                Self { request_id: Some(open.question.request_id()), ..common }
            }
            HeldRun::EndWaits(end) => Self {
                details: end.details.as_deref(),
                end_waits: true,
                warning: Some(waiting(end).into()),
                ..common
            },
        }
    }
}

impl<'a> Decision<'a> {
    fn of(record: &'a HumanDecisionRecord) -> Self {
        Self {
            request_id: &record.request_id,
            decision: record.decision,
            human_id: &record.human_id,
            reason: record.reason.as_deref(),
        }
    }
}

/// How many were to end with the command, and belong to another user.
fn beyond_reach(execution: Option<&ExecutionReport>) -> u32 {
    execution.map_or(0, |execution| execution.beyond_reach)
}

fn left_behind(execution: Option<&ExecutionReport>) -> Vec<LeftBehind<'_>> {
    let survivors = execution.into_iter().flat_map(|execution| &execution.survivors);
    survivors.map(|left| LeftBehind { pid: left.pid, name: &left.name }).collect()
}

/// Who lives on, if anybody does.
fn tell_left_behind(execution: Option<&ExecutionReport>) {
    let left = left_behind(execution);
    let named: Vec<String> =
        left.iter().map(|left| format!("{} ({})", left.pid, visible(left.name))).collect();
    if !named.is_empty() {
        complain(&format!("left behind by the command, and still running: {}", named.join(", ")));
    }
    let count = beyond_reach(execution);
    if count > 0 {
        let processes = if count == 1 { "process" } else { "processes" };
        complain(&format!(
            "{count} {processes} of the command could not be stopped, because another user's \
             rights keep this user from it; end what is left as that user or as root"
        ));
    }
}

fn absolute(global: &Global) -> String {
    let log = std::path::absolute(&global.log).unwrap_or_else(|_| global.log.clone());
    log.to_string_lossy().into_owned()
}

impl Stream {
    const fn of(captured: &CapturedOutput) -> Self {
        let (length, kept) = (captured.true_length, captured.kept_length);
        let gap = length.saturating_sub(kept);
        Self { length, captured: kept, head: captured.head_length, gap }
    }
}
