//! What `run` says when it is over: nothing to a person when all went well, and one JSON object to
//! a program.

use crate::arguments::{DEFAULT_LOG, Global};
use crate::exit::{Exit, Failure, complain};
use crate::output::Output;
use anstyle::Style;
use holdpoint_domain::event::HaltReason;
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, SandboxDecision};
use holdpoint_engine::executor::{CapturedOutput, command_line};
use holdpoint_engine::shell::RunReport;
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::Path;

/// Tells how a run ended, on stderr to a person, on stdout with `--json`.
pub(super) fn tell(global: &Global, report: &RunReport, exit: Exit) -> Result<(), Failure> {
    if global.json {
        let mut out = Output::stdout();
        out.json(&Told::of(global, report, exit));
        return out.finish();
    }
    if let Some(remark) = remark(global, report) {
        complain(&remark);
    }
    if std::io::stderr().is_terminal() {
        let dim = Style::new().dimmed();
        let said = format_args!("holdpoint: recorded as {} in {}", report.loop_id, place(global));
        // Where stderr is closed there is nobody to tell.
        let _ = writeln!(anstream::stderr().lock(), "{dim}{said}{dim:#}");
    }
    Ok(())
}

/// One line when anything but an answer of the command ended the loop.
fn remark(global: &Global, report: &RunReport) -> Option<String> {
    let halted = &report.halted;
    let (name, code) = match (halted.reason, halted.stop_condition, &report.fault) {
        (HaltReason::Completed | HaltReason::ResponseRejected, _, _) => return None,
        (_, Some(condition), _) => (condition.name(), String::new()),
        (_, None, Some(fault)) => {
            let code = format!(" ({} {})", fault.code, fault.sandbox_decision);
            (fault.fault_type.name(), code)
        }
        (reason, None, None) => (reason.name(), String::new()),
    };
    let details = report.details.as_ref().map(|details| format!(": {details}")).unwrap_or_default();
    Some(format!("{name}{details}{code}; see `{}`", replay(global, &report.loop_id)))
}

/// The command that shows the whole story.
fn replay(global: &Global, loop_id: &str) -> String {
    let log = match global.log == Path::new(DEFAULT_LOG) {
        true => String::new(),
        false => format!("--log {} ", place(global)),
    };
    format!("holdpoint {log}replay --loop {loop_id}")
}

/// The log's directory as a shell would need it.
fn place(global: &Global) -> String {
    command_line(global.log.as_os_str(), &[])
}

/// What a program is told.
#[derive(Serialize)]
struct Told<'a> {
    loop_id: &'a str,
    exit_status: Exit,
    reason: HaltReason,
    stop_condition: Option<StopCondition>,
    fault_type: Option<ExecutionFaultType>,
    fault_code: Option<&'a str>,
    sandbox_decision: Option<SandboxDecision>,
    details: Option<&'a str>,
    attempts: u8,
    records: Records,
    wall_ms: u64,
    stdout: Option<Stream>,
    stderr: Option<Stream>,
    log: String,
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
}

impl<'a> Told<'a> {
    fn of(global: &Global, report: &'a RunReport, exit: Exit) -> Self {
        let (fault, execution) = (report.fault.as_ref(), report.execution.as_ref());
        let log = std::path::absolute(&global.log).unwrap_or_else(|_| global.log.clone());
        Self {
            loop_id: &report.loop_id,
            exit_status: exit,
            reason: report.halted.reason,
            stop_condition: report.halted.stop_condition,
            fault_type: fault.map(|fault| fault.fault_type),
            fault_code: fault.map(|fault| fault.code.as_str()),
            sandbox_decision: fault.map(|fault| fault.sandbox_decision),
            details: report.details.as_deref(),
            attempts: report.attempts,
            records: Records { first: report.first_sequence, last: report.last_sequence },
            wall_ms: u64::try_from(report.wall.as_millis()).unwrap_or(u64::MAX),
            stdout: execution.map(|execution| Stream::of(&execution.stdout)),
            stderr: execution.map(|execution| Stream::of(&execution.stderr)),
            log: log.to_string_lossy().into_owned(),
        }
    }
}

impl Stream {
    fn of(captured: &CapturedOutput) -> Self {
        Self { length: captured.true_length, captured: captured.bytes.len() as u64 }
    }
}
