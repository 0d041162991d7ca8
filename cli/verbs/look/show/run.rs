//! A run on one screen: what happened in plain words first, codes and hashes where they are asked
//! for.

use super::relations::{Relations, ShownRelations};
use crate::args::labels::HOST;
use crate::log::captured_output::{LAST_LINES, length as length_of, missing};
use crate::log::run_facts::{
    NOT_ENDED, REASON_MAX, UNSEEN, approved, asked, command_name, commands, directory, length,
    marked, outcome, proven, reason_of, reason_of_approval, seen,
};
use crate::log::run_records::UNFINISHED;
use crate::log::{recorders, snapshots};
use crate::questions::hold_view::HIDDEN;
use crate::ui::screen::{quoted_up_to, seen_lines};
use crate::ui::time_format::Clock;
use crate::ui::{Output, Page, named};
use anstyle::{AnsiColor, Style};
use holdpoint_domain::core::actor::Principal;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::evidence_capture::{OutputStream, ResourceSnapshot};
use holdpoint_domain::execution_loop::OnFull;
use holdpoint_domain::governed::{ExecutionLoop, LoopView};
use holdpoint_domain::{ActorId, Proof};
use holdpoint_replay::merged_output::last_lines;
use holdpoint_replay::waiting::WaitingRun;
use holdpoint_replay::{CapturedOutput, CommandClaims, Doer, Reach, Run, RunOutcome, TerminalSize};
use serde::Serialize;
use std::collections::BTreeMap;

/// So many of the last entries that wait are shown.
const WAITING_SHOWN_MAX: usize = 8;

/// How a run is shown: a screen follows from the run and from this alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'v> {
    /// How wide lines may be.
    pub(crate) columns: usize,
    /// Time when it is looked at, and how moments are told.
    pub(crate) clock: &'v Clock,
    /// Show codes and hashes too.
    pub(crate) is_verbose: bool,
    /// What went wrong stands out.
    pub(crate) is_coloured: bool,
    /// It is called running, and nobody records it any more.
    pub(crate) is_unfinished: bool,
    /// Hides what it printed.
    pub(crate) hides_output: bool,
    /// What waits in its file.
    pub(crate) waiting: Option<&'v WaitingRun>,
}

impl<'v> View<'v> {
    /// So wide and by this clock, with nothing more.
    pub(super) const fn plain(columns: usize, clock: &'v Clock) -> Self {
        Self {
            columns,
            clock,
            is_verbose: false,
            is_coloured: false,
            is_unfinished: false,
            hides_output: false,
            waiting: None,
        }
    }

    /// The same, where something is written to.
    pub(super) fn of(columns: usize, clock: &'v Clock, out: &Output) -> Self {
        Self { is_coloured: out.is_coloured(), ..Self::plain(columns, clock) }
    }
}

/// What a program is shown of a run.
#[derive(Serialize)]
pub(crate) struct RunDocument<'r> {
    run: &'r str,
    outcome: RunOutcome,
    /// The first and the last record about it.
    first_record: u64,
    last_record: u64,
    /// What is proven of the weakest of its records, and of its approval's.
    standing: &'static str,
    began_by: Option<Who<'r>>,
    directory: Option<String>,
    labels: &'r BTreeMap<String, String>,
    /// The decision point whose approval was spent for the start.
    approval: Option<&'r str>,
    approved_by: Option<&'r Principal>,
    execution_loop: LoopView<'r>,
    #[serde(flatten)]
    claims: CommandClaims<'r>,
    /// The command of its first attempt and of each that was given another one, where one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<&'r BTreeMap<u8, String>>,
    outputs: Vec<OutputDocument<'r>>,
    /// Its processes while it ran, first to last.
    snapshots: Vec<&'r ResourceSnapshot>,
    /// The size of the terminal of each attempt that had one of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    terminals: &'r BTreeMap<u8, TerminalSize>,
    /// The most that each attempt ran, in nanoseconds, whose end nobody saw when it came.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    ran_at_most: &'r BTreeMap<u8, u64>,
    /// What a full disk was to do to the command of each attempt, where its recorder said so.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    on_full: &'r BTreeMap<u8, OnFull>,
    /// What waits in its file for the next writer, unproven.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<&'r WaitingRun>,
    /// The open decision that asks a person about an escalation.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_person: Option<&'r str>,
    /// Records of it that cannot be read.
    unread_records: &'r [u64],
    #[serde(flatten)]
    relations: ShownRelations<'r>,
    /// How far the reading reached.
    reach: &'r Reach,
}

#[derive(Serialize)]
struct Who<'r> {
    actor: &'r ActorId,
    proof: Option<Proof>,
}

#[derive(Serialize)]
struct OutputDocument<'r> {
    attempt: u8,
    stream: OutputStream,
    length: u64,
    kept: usize,
    sha256: Option<&'r holdpoint_domain::core::hash::Digest>,
    record: u64,
    standing: &'static str,
}

impl<'r> RunDocument<'r> {
    pub(crate) fn of((run, relations): (&'r Run, &'r Relations), reach: &'r Reach) -> Self {
        let kept = |output: &'r CapturedOutput| OutputDocument {
            attempt: output.attempt,
            stream: output.stream,
            length: output.length(),
            kept: output.bytes.len(),
            sha256: output.whole_sha256(),
            record: output.sequence,
            standing: output.standing.name(),
        };
        let approval = run.approval.as_deref();
        Self {
            run: run.entity.loop_id(),
            outcome: RunOutcome::of(&run.entity),
            first_record: run.first,
            last_record: run.last,
            standing: run.standing().name(),
            began_by: begun_by(run).map(|Doer { actor, proof, .. }| Who { actor, proof: *proof }),
            directory: directory(run),
            labels: &run.labels,
            approval: approval.map(|point| point.decision_id.as_str()),
            approved_by: approval.and_then(approver),
            execution_loop: run.entity.view(),
            claims: run.command_claims(),
            commands: Some(&run.commands).filter(|commands| commands.len() > 1),
            outputs: run.outputs.iter().map(kept).collect(),
            snapshots: snapshots(&run.entity).collect(),
            terminals: &run.terminals,
            ran_at_most: &run.ran_at_most,
            on_full: &run.on_full,
            waiting: None,
            needs_person: None,
            unread_records: &run.unread,
            relations: relations.shown(),
            reach,
        }
    }

    /// With what waits in its file.
    pub(crate) const fn waiting(mut self, waiting: Option<&'r WaitingRun>) -> Self {
        self.waiting = waiting;
        self
    }

    /// With the open decision that asks a person about an escalation.
    pub(super) const fn needing(mut self, needs_person: Option<&'r str>) -> Self {
        self.needs_person = needs_person;
        self
    }
}

/// The screen. `program` is how this one is called for the log.
pub(crate) fn lines(
    (run, relations): (&Run, &Relations),
    view: &View,
    program: &str,
) -> Vec<String> {
    let mut page = Page::new(view.columns);
    let id = run.entity.loop_id();
    page.row("run", id);
    commands(run).iter().for_each(|(name, command)| page.recorded(name, command));
    let outcome = match RunOutcome::of(&run.entity) {
        RunOutcome::Lost => format!("recorder {}", outcome(run)),
        _ => outcome(run),
    };
    let rest = outcome.strip_prefix(RunOutcome::Running.name()).filter(|_| view.is_unfinished);
    page.row("outcome", &rest.map_or(outcome.clone(), |rest| format!("{UNFINISHED}{rest}")));
    if let Some(waiting) = view.waiting {
        put_waiting(&mut page, waiting);
    }
    page.row("began", &began(run, view));
    page.row("by", &begun_by(run).map_or_else(|| "nobody knows".to_string(), doer));
    relations.put_before(&mut page);
    if let Some(host) = run.labels.get(HOST) {
        page.row("host", &format!("{} (not proven)", named(host)));
    }
    if let Some(directory) = directory(run) {
        page.row("in", &named(&directory));
    }
    if let Some(labels) = labels(run) {
        page.row("labels", &labels);
    }
    if let Some(point) = run.approval.as_deref() {
        page.row("approved", &approved(point, |at| view.clock.told(at)));
        reason_of_approval(point).iter().for_each(|reason| page.foreign("reason", reason));
    }
    for held in &run.entity.decisions.requests {
        page.row("asked", &asked(run, held, |at| view.clock.told(at)));
        reason_of(held).iter().for_each(|reason| page.foreign("reason", reason));
    }
    relations.put_later(&mut page, run, view.clock);
    attempts(&mut page, run, view.columns);
    let last = run.outputs.iter().filter(|it| it.attempt == run.entity.attempt_count());
    last.for_each(|output| put_output(&mut page, &run.entity, output, view.hides_output));
    relations.put_records(&mut page, view.clock);
    if view.is_verbose {
        codes(&mut page, run);
    }
    if !run.outputs.is_empty() && !view.hides_output {
        page.sentence(&format!("`{program} output {id}` has all that was kept of its output"));
    }
    page.sentence(&format!("`{program} log loop={id}` has its records"));
    painted(page.lines(), RunOutcome::of(&run.entity), view.is_coloured)
}

/// What waits in the file of the run, the last entries of it: no record yet.
fn put_waiting(page: &mut Page, waiting: &WaitingRun) {
    page.row("unproven", &recorders::told(waiting));
    let first = waiting.entries.len().saturating_sub(WAITING_SHOWN_MAX);
    for entry in waiting.entries.iter().skip(first) {
        page.row("", &format!("entry {} (unproven): {}", entry.number, entry.words));
    }
}

/// What did not end well stands out, where colours are shown.
fn painted(lines: Vec<String>, outcome: RunOutcome, is_coloured: bool) -> Vec<String> {
    let style: Style = match outcome {
        RunOutcome::Ok => AnsiColor::Green.on_default(),
        RunOutcome::Running | RunOutcome::Waiting => AnsiColor::Yellow.on_default(),
        _ => AnsiColor::Red.on_default().bold(),
    };
    let paint = |line: String| match is_coloured && line.starts_with("outcome ") {
        true => format!("{style}{line}{style:#}"),
        false => line,
    };
    lines.into_iter().map(paint).collect()
}

/// Returns when it began, and how long it took. Of one that nobody records that is not known.
fn began(run: &Run, View { clock, is_unfinished, .. }: &View<'_>) -> String {
    let begun = clock.told_with_moment(run.entity.started_at);
    match is_unfinished {
        true => begun,
        false => format!("{begun}, {}", length(run, clock.now())),
    }
}

fn begun_by(run: &Run) -> Option<&Doer> {
    run.doers.get(&run.entity.started_sequence)
}

fn doer(doer: &Doer) -> String {
    proven(&doer.actor, doer.proof)
}

/// Nothing proves labels: whoever began it gave them. The machine has a row of its own.
fn labels(run: &Run) -> Option<String> {
    let others = run.labels.iter().filter(|(name, _)| *name != HOST);
    let shown = others.map(|(name, value)| format!("{}={}", named(name), named(value)));
    let shown: Vec<_> = shown.collect();
    (!shown.is_empty()).then(|| format!("{} (not proven)", shown.join(", ")))
}

/// Who said yes, where somebody did.
fn approver(point: &DecisionPoint) -> Option<&Principal> {
    point.ending.as_ref()?.by.as_ref()
}

/// The processes of every attempt while it ran.
fn snapshots(entity: &ExecutionLoop) -> impl Iterator<Item = &ResourceSnapshot> {
    entity.attempts.iter().flat_map(|attempt| entity.snapshots(attempt.number))
}

fn attempts(page: &mut Page, run: &Run, columns: usize) {
    for attempt in &run.entity.attempts {
        let unseen = match RunOutcome::of(&run.entity) {
            RunOutcome::Lost => UNSEEN,
            _ => NOT_ENDED,
        };
        let is_at_most = run.ran_at_most.contains_key(&attempt.number);
        let ended = seen(attempt, is_at_most).unwrap_or_else(|| unseen.to_string());
        page.row(&format!("attempt {}", attempt.number), &ended);
        if let Some(command) = run.command_of(attempt.number).filter(|_| run.commands.len() > 1) {
            page.recorded(command_name(run, attempt.number), command);
        }
        if let Some(size) = run.terminals.get(&attempt.number) {
            page.row("terminal", &format!("{} columns, {} rows", size.columns, size.rows));
        }
        if let Some(on_full) = run.on_full.get(&attempt.number) {
            page.row("full disk", in_words(*on_full));
        }
        snapshots::put(page, columns, &run.entity, attempt.number);
    }
}

/// What a full disk was to do to a command.
const fn in_words(on_full: OnFull) -> &'static str {
    match on_full {
        OnFull::Stop => "stops the command (--on-full stop)",
        OnFull::Continue => "lets the command run on (--on-full continue)",
    }
}

fn put_output(page: &mut Page, entity: &ExecutionLoop, output: &CapturedOutput, is_hidden: bool) {
    let name = match output.stream {
        OutputStream::Stdout => "stdout",
        OutputStream::Stderr => "stderr",
        OutputStream::Payload => "answer",
    };
    if output.length() == 0 {
        return;
    }
    let attempt = entity.attempts.iter().find(|attempt| attempt.number == output.attempt);
    let length = format!("{}{}", length_of(output), missing(output));
    page.row(name, &marked(attempt, length));
    match is_hidden {
        true => page.sentence(HIDDEN),
        false => page.printed(&seen_lines(last_lines(&output.bytes, LAST_LINES))),
    }
}

fn codes(page: &mut Page, run: &Run) {
    let entity = &run.entity;
    let halt = entity.halt.as_ref().map_or("none", |halt| halt.reason.name());
    page.row("state", &format!("{}, halt {halt}", entity.state()));
    if let Some(stop) = &entity.stop {
        page.row("stop", &quoted_up_to(REASON_MAX, &stop.details));
    }
    page.row("instruction", entity.context.instruction_envelope_hash());
    page.row("correlation", &named(&entity.correlation));
    page.row("records", &format!("{} to {}", run.first, run.last));
    if let Some(chain) = &entity.chain {
        page.row("evidence", &format!("{} {}", chain.head.chain_id, chain.head.injective_head));
    }
    for output in &run.outputs {
        let digest = output.whole_sha256();
        let digest = digest.map_or_else(|| "not known".to_string(), ToString::to_string);
        page.row("sha-256", &format!("{} {digest}", output.stream));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use crate::log::run_facts::used;
    use holdpoint_domain::evidence_capture::ResourceUsage;
    use holdpoint_domain::execution_loop::HaltReason;

    #[test]
    fn what_was_too_little_to_be_measured_is_not_told_as_nothing() {
        let nothing = ResourceUsage {
            wall_ns: 2_000_000,
            user_cpu_ns: 0,
            system_cpu_ns: 0,
            peak_memory_bytes: 0,
        };
        assert_eq!(used(&nothing, false), "took 2 ms, processor under 1 ms, memory not measured");
    }

    #[test]
    fn each_run_is_told_on_one_screen_at_every_width() {
        let sample = Sample::new();
        let clock = Clock::at(sample.now);
        for (run, name) in sample.whole().iter().zip(["ok", "crashed", "east-asian", "running"]) {
            for columns in golden::COLUMNS {
                let view = View::plain(columns, &clock);
                let shown = lines((run, &Relations::default()), &view, "holdpoint");
                golden::compare(&format!("show-{name}"), columns, &shown);
            }
        }
    }

    #[test]
    fn of_a_lost_run_nothing_is_told_that_its_recorder_did_not_see() {
        let sample = Sample::new();
        let clock = Clock::at(sample.now);
        let runs = sample.whole();
        let mut lost = runs[3].clone();
        let mut halt = runs[0].entity.halt.clone().unwrap();
        halt.reason = HaltReason::RecorderLost;
        lost.entity.halt = Some(halt);
        let view = View::plain(80, &clock);
        let shown = lines((&lost, &Relations::default()), &view, "holdpoint").join("\n");
        assert_eq!(shown.matches(UNSEEN).count(), 2, "{shown}");
        assert!(!shown.contains("took") && !shown.contains("waited"), "{shown}");
    }

    #[test]
    fn a_run_that_was_begun_again_and_the_one_before_it_name_each_other_at_every_width() {
        let sample = Sample::begun_again();
        let clock = Clock::at(sample.now);
        let runs = sample.listed();
        let (again, first) = (&runs[0], &runs[2]);
        let retry = sample.retries().remove(again.entity.loop_id());
        let ties = [
            (
                first,
                Relations { runs: vec![again.clone()], more: 3, ..Relations::default() },
                "retried",
            ),
            (again, Relations { retry, ..Relations::default() }, "again"),
        ];
        for (run, tied, name) in &ties {
            for columns in golden::COLUMNS {
                let view = View::plain(columns, &clock);
                let shown = lines((run, tied), &view, "holdpoint");
                golden::compare(&format!("show-{name}"), columns, &shown);
            }
        }
    }

    #[test]
    fn codes_are_shown_where_they_are_asked_for_and_failures_in_colour_where_there_is_one() {
        let sample = Sample::new();
        let clock = Clock::at(sample.now);
        let crashed = &sample.whole()[1];
        let plain = View::plain(80, &clock);
        let shown =
            |view: View<'_>| lines((crashed, &Relations::default()), &view, "holdpoint").join("\n");
        assert!(!shown(plain).contains("FAULT_") && !shown(plain).contains('\u{1b}'));
        assert!(shown(View { is_verbose: true, ..plain }).contains("FAULT_"));
        assert!(shown(View { is_coloured: true, ..plain }).contains("\u{1b}["));
    }
}
