//! Entries that wait in a run's own file, decided anew and put on the log, once and in order.
//!
//! # Invariants
//!
//! - An entry counts only where its file belongs to the run's recorder and the key in the record of
//!   the start signed it.
//! - Each command has a key of its own on the log: whoever comes upon it again is told that it was
//!   taken up.
//! - A command that the rules refuse by now is settled by that, as it would have been at once.

use super::conditions::{Conditions, DoneBefore, IdempotencyKey, receipt_of};
use super::engine::Core;
use super::error::SubmitError;
use super::rebuild::LiveState;
use super::recall::recall;
use super::starts::{Start, each_between, newest_start, start_in};
use super::submit::{
    Answer, By, CommandRequest, Origin, Turn, carry_out, done_before, moment_of_next,
};
use crate::log::Storage;
use holdpoint_domain::Command;
use holdpoint_domain::core::actor::Proof;
use holdpoint_domain::execution_loop::{ExecutionLoopCommand, ExecutionLoopState};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::HumanDecisionCommand;
use holdpoint_domain::sandbox_fault::SandboxFaultCommand;
use holdpoint_domain::world::waiting::{KEY_ENGINE, KEY_TENANT, WaitingCommand, key_of_entry};
use holdpoint_log_files::{RunEntries, RunFileFault};
use holdpoint_log_format::{EntryFault, EntryKind, GuardFacts, RunStart};
use std::ops::ControlFlow;

/// Writer that takes up what waits for a run.
#[derive(Clone, Copy)]
pub(super) enum Taker<'a> {
    /// Its recorder, which learns what became of all that it left waiting, whoever took it up.
    Recorder { start: &'a Start, origin: &'a Origin },
    /// Anybody else who writes to the log.
    Other,
}

impl<'a> Taker<'a> {
    const fn known(self) -> Option<&'a Start> {
        match self {
            Self::Recorder { start, .. } => Some(start),
            Self::Other => None,
        }
    }
}

/// Outcome of taking up.
#[derive(Default)]
pub(super) struct TakenUp {
    /// Outcome of each command, but for evidence.
    pub(super) answers: Vec<Answer>,
    /// Facts that the guard saw of the command's end.
    pub(super) guard: Option<GuardFacts>,
    /// True if the recorder left a question open.
    pub(super) is_left_open: bool,
}

/// Why nothing was taken up.
pub(super) enum NotTakenUp {
    /// The file is not the recorder's, or holds something that is not: what precedes that counts.
    Fault(RunFileFault, TakenUp),
    /// The record of the start is in an archive: nothing can be said here.
    StartArchived,
}

/// Takes up what waits in the file of a loop, in a turn.
pub(super) fn take_up<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    loop_id: &str,
    mut entries: RunEntries,
    by: Taker<'_>,
) -> Result<Result<TakenUp, NotTakenUp>, SubmitError> {
    let mut taken = TakenUp::default();
    let start = match first_start(turn, loop_id, &entries, by.known())? {
        Ok(Some(start)) => start,
        Ok(None) => return Ok(Ok(taken)),
        Err(NotTakenUp::Fault(fault, _)) => {
            taken.guard = word_of_guard(turn.engine, turn.hot, (loop_id, &entries), by)?;
            return Ok(Err(NotTakenUp::Fault(fault, taken)));
        }
        Err(none) => return Ok(Err(none)),
    };
    loop {
        match entries.next(&start.place, &start.public) {
            Ok(Some(entry)) if entry.kind == EntryKind::GuardFacts => {
                // How an attempt ended says nothing of the next one.
                if is_under_way(turn.hot, loop_id, &start) {
                    taken.guard = GuardFacts::decode(&entry.payload);
                }
            }
            Ok(Some(entry)) => {
                let Ok(waiting) = serde_json::from_slice(&entry.payload) else {
                    let fault = unreadable(entry.number, &entries);
                    taken.guard = word_of_guard(turn.engine, turn.hot, (loop_id, &entries), by)?;
                    return Ok(Err(NotTakenUp::Fault(fault, taken)));
                };
                taken.decide(turn, (loop_id, &start, entry.number), (waiting, by))?;
            }
            Ok(None) => return Ok(Ok(taken)),
            Err(fault) => {
                if taken.guard.is_none() {
                    taken.guard = word_of_guard(turn.engine, turn.hot, (loop_id, &entries), by)?;
                }
                return Ok(Err(NotTakenUp::Fault(fault, taken)));
            }
        }
    }
}

/// The start that the first entry names, proven; `None` where there is no entry.
fn first_start<S: Storage>(
    turn: &Turn<'_, '_, S>,
    loop_id: &str,
    entries: &RunEntries,
    known: Option<&Start>,
) -> Result<Result<Option<Start>, NotTakenUp>, SubmitError> {
    let fault = |fault| Ok(Err(NotTakenUp::Fault(fault, TakenUp::default())));
    match entries.claimed_start() {
        Ok(Some(claimed)) => {
            let start = proven_start(turn, (loop_id, entries), known, &claimed)?;
            Ok(start.map(Some))
        }
        Ok(None) => Ok(Ok(None)),
        Err(found) => fault(found),
    }
}

/// The start that entries name, where it is one and the file its recorder's.
fn proven_start<S: Storage>(
    turn: &Turn<'_, '_, S>,
    (loop_id, entries): (&str, &RunEntries),
    known: Option<&Start>,
    claimed: &RunStart,
) -> Result<Result<Start, NotTakenUp>, SubmitError> {
    let start = match known.filter(|known| known.place == *claimed) {
        Some(known) => known.clone(),
        None => match find_start(turn, loop_id, claimed)? {
            Ok(found) => found,
            Err(none) => return Ok(Err(none)),
        },
    };
    let owner = check_owner(turn.engine, entries, &start);
    Ok(owner.map(|()| start).map_err(|fault| NotTakenUp::Fault(fault, TakenUp::default())))
}

/// Returns what a guard wrote, wherever it stands in a file of which a part is no entry: signed by
/// the key of the newest attempt, whatever start other parts of the file name.
fn word_of_guard<S: Storage>(
    engine: &Core<S>,
    hot: &LiveState,
    (loop_id, entries): (&str, &RunEntries),
    by: Taker<'_>,
) -> Result<Option<GuardFacts>, SubmitError> {
    let Some(entity) = hot.world.live_loop(loop_id) else { return Ok(None) };
    let start = match by.known() {
        Some(known) => Some(known.clone()),
        None => newest_start(engine, entity)?,
    };
    let Some(start) = start.filter(|start| is_under_way(hot, loop_id, start)) else {
        return Ok(None);
    };
    if check_owner(engine, entries, &start).is_err() {
        return Ok(None);
    }
    let word = entries.word_of_guard(&start.place, &start.public).ok().flatten();
    Ok(word.and_then(|word| GuardFacts::decode(&word.payload)))
}

/// Signed by the recorder, and no command that this program knows: a newer one wrote it.
fn unreadable(number: u64, entries: &RunEntries) -> RunFileFault {
    let source = EntryFault::Unreadable;
    RunFileFault::Entry { before: number.saturating_sub(1), offset: entries.offset(), source }
}

/// Root that records in another user's log makes the file as that user.
fn check_owner<S: Storage>(
    engine: &Core<S>,
    entries: &RunEntries,
    start: &Start,
) -> Result<(), RunFileFault> {
    let (expected, found) = (start.user, entries.owner());
    match found == expected || (expected == 0 && owns_log(engine, found)) {
        true => Ok(()),
        false => Err(RunFileFault::Owner { expected, found }),
    }
}

/// Returns whether the log is this user's: root's files in it are, too.
fn owns_log<S: Storage>(engine: &Core<S>, user: u32) -> bool {
    let log = std::fs::metadata(engine.caches.root());
    log.is_ok_and(|log| std::os::unix::fs::MetadataExt::uid(&log) == user)
}

impl TakenUp {
    /// Decides one command with the recorder's origin.
    fn decide<S: Storage>(
        &mut self,
        turn: &mut Turn<'_, '_, S>,
        (loop_id, start, number): (&str, &Start, u64),
        (waiting, taker): (WaitingCommand, Taker<'_>),
    ) -> Result<(), SubmitError> {
        let WaitingCommand { actor, proven_by, command } = waiting;
        if !is_about(&command, loop_id) {
            return Ok(());
        }
        let key = key_of_entry(loop_id, start.place.attempt, number);
        let key = IdempotencyKey::new(KEY_TENANT, KEY_ENGINE, key);
        let conditions = Conditions::once(key);
        let entity = turn.hot.world.live_loop(loop_id);
        let entity = entity.filter(|it| it.attempt_count() == start.place.attempt);
        let Some(entity) = entity.filter(|it| !is_end(&command) || is_awaited(it)) else {
            // Taken up by another process, or on the log although its recorder could not tell.
            if let Taker::Recorder { origin, .. } = taker
                && !matches!(command, Command::EvidenceCapture(_))
            {
                let origin = Origin { actor, ..origin.clone() };
                let done = done_under_key(turn, &origin, &command, &conditions)?;
                self.answers.extend(done);
            }
            return Ok(());
        };
        let (correlation, causation) = (entity.correlation.clone(), Some(entity.version));
        let origin = Origin { actor, correlation, causation };
        let floors = turn.engine.floors_for(&command)?;
        let by = By { origin: &origin, proof: Some(Proof { user: start.user, by: proven_by }) };
        let now = moment_of_next(turn.engine.now(), turn);
        let asked = CommandRequest { by, command: &command, floors: &floors, is_taken_up: true };
        let answer = carry_out(turn, asked, &conditions, now)?;
        let is_question = matches!(
            command,
            Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(_))
        );
        self.is_left_open |= is_question && !matches!(answer, Answer::Refused(_));
        if !matches!(command, Command::EvidenceCapture(_)) {
            self.answers.push(answer);
        }
        Ok(())
    }
}

/// Returns what was recorded under the key of an entry, if anything.
fn done_under_key<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    origin: &Origin,
    command: &Command,
    conditions: &Conditions,
) -> Result<Option<Answer>, SubmitError> {
    let Some(key) = conditions.idempotency(origin, command) else { return Ok(None) };
    let recalled = recall(turn, origin, conditions.seen(Some(&key)), command)?;
    let receipt = receipt_of(&turn.hot.world, origin, command, &key, recalled.as_ref());
    let done = receipt.ok().flatten().map(DoneBefore::of);
    done.map(|done| done_before(turn, done)).transpose()
}

/// Returns whether the attempt of a start is the newest of its loop, which lives.
fn is_under_way(hot: &LiveState, loop_id: &str, start: &Start) -> bool {
    let entity = hot.world.live_loop(loop_id);
    entity.is_some_and(|entity| entity.attempt_count() == start.place.attempt)
}

/// Tells whether a command says how an attempt ended, which happens once.
const fn is_end(command: &Command) -> bool {
    matches!(
        command,
        Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(_))
            | Command::SandboxFault(SandboxFaultCommand::ReportFault(_))
    )
}

fn is_awaited(entity: &ExecutionLoop) -> bool {
    entity.state() == ExecutionLoopState::AwaitingResponse
}

/// Returns whether a command is one by which a recorder of this loop says what came of its attempt.
fn is_about(command: &Command, loop_id: &str) -> bool {
    command.driven_loop() == Some(loop_id)
}

/// The record that entries name as their start, where it is one: of this loop, with a key.
fn find_start<S: Storage>(
    turn: &Turn<'_, '_, S>,
    loop_id: &str,
    claimed: &RunStart,
) -> Result<Result<Start, NotTakenUp>, SubmitError> {
    let sequence = claimed.sequence;
    let fault = || NotTakenUp::Fault(RunFileFault::Start { sequence }, TakenUp::default());
    let is_there = (1..=turn.log.position().sequence).contains(&sequence);
    if !is_there || claimed.log != turn.engine.log_id {
        return Ok(Err(fault()));
    }
    let mut found = None;
    let is_kept = each_between(turn.engine, (sequence, sequence), &mut |link, record| {
        found = start_in(claimed.log, loop_id, (link, &record));
        ControlFlow::Break(())
    })?;
    match is_kept {
        true => Ok(found.filter(|start| start.place == *claimed).ok_or_else(fault)),
        false => Ok(Err(NotTakenUp::StartArchived)),
    }
}

/// Takes up what a hook claims of a tool call that it could not put on the log: the outcome waits
/// for a decision point, in a file of this name, which goes once that is durable. It proves nothing
/// and changes nothing of what was decided, and nobody signs it: the owner of the file tells whose
/// hook it was. One that no hook of its owner wrote stays, and counts for nothing. `false`: it was
/// not to be looked at now.
pub(super) fn take_up_outcome<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    (name, decision_id): (&str, &str),
) -> Result<bool, SubmitError> {
    // Who holds its lock still writes it.
    let Ok(Some(file)) = turn.engine.caches.take_run(name) else { return Ok(false) };
    // A torn one stays: its hook was killed before it had said that the outcome is kept, or
    // somebody cut it.
    let Ok((user, Some(payload))) = file.outcome() else { return Ok(true) };
    let waiting: Option<WaitingCommand> = serde_json::from_slice(&payload).ok();
    let claimed = waiting.and_then(|waiting| {
        let users = [Some(user), owns_log(turn.engine, user).then_some(0)];
        let user = users.into_iter().flatten();
        let mut user = user.filter(|user| waiting.is_outcome_of(decision_id, *user));
        user.next().map(|user| (waiting, user))
    });
    let Some((waiting, user)) = claimed else { return Ok(true) };
    let point = turn.hot.world.closed_decision_points().find(|it| *it.decision_id == *decision_id);
    let causation = point.and_then(|it| it.consumed.as_ref()).map(|spent| spent.sequence);
    let WaitingCommand { actor, proven_by, command } = waiting;
    let correlation = actor.id.clone();
    let origin = Origin { actor, correlation, causation };
    let key = IdempotencyKey::new(KEY_TENANT, KEY_ENGINE, format!("outcome {decision_id}"));
    let floors = turn.engine.floors_for(&command)?;
    let by = By { origin: &origin, proof: Some(Proof { user, by: proven_by }) };
    let asked = CommandRequest { by, command: &command, floors: &floors, is_taken_up: true };
    let now = moment_of_next(turn.engine.now(), turn);
    carry_out(turn, asked, &Conditions::once(key), now)?;
    turn.engine.settled.lock().push((turn.log.position().sequence, file));
    Ok(true)
}
