//! What waits in a run's own file, decided anew and put on the log, once and in order.
//!
//! # Invariants
//!
//! - An entry counts only where its file belongs to the run's recorder and the key in the record of
//!   the start signed it.
//! - Each command has a key of its own on the log: whoever comes upon it again is told that it was
//!   taken up.
//! - A command that the rules refuse by now is settled by that, as it would have been at once.

use super::conditions::{Conditions, IdempotencyKey};
use super::engine::Core;
use super::error::SubmitError;
use super::rebuild::{LiveState, recorded};
use super::submit::{Answer, Asked, By, Origin, carry_out, moment_of_next};
use crate::log::{Storage, WriteTransaction};
use holdpoint_domain::core::actor::Proof;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::human_decision::HumanDecisionCommand;
use holdpoint_domain::world::waiting::{KEY_ENGINE, KEY_TENANT, WaitingCommand, key_of_entry};
use holdpoint_domain::{Command, Event};
use holdpoint_log_files::{FollowError, Follower, LogReader, RunEntries, RunFileFault};
use holdpoint_log_format::{EntryFault, EntryKind, GuardFacts, Link, RunStart};
use std::ops::ControlFlow;

/// The start of an attempt: what its entries are tied to, who records it, and what signs for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Start {
    pub(super) place: RunStart,
    /// The public half of the recorder's key.
    pub(super) public: [u8; 32],
    /// The recorder's user number.
    pub(super) user: u32,
}

/// What taking up came to.
#[derive(Default)]
pub(super) struct TakenUp {
    /// What each command came to, but for evidence.
    pub(super) answers: Vec<Answer>,
    /// What the guard saw of the command's end.
    pub(super) guard: Option<GuardFacts>,
    /// Whether the recorder left a question open.
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
    engine: &Core<S>,
    hot: &mut LiveState,
    turn: &mut WriteTransaction<'_, S>,
    loop_id: &str,
    mut entries: RunEntries,
    known: Option<Start>,
) -> Result<Result<TakenUp, NotTakenUp>, SubmitError> {
    let mut taken = TakenUp::default();
    let start = match first_start(engine, turn, loop_id, &entries, known.as_ref())? {
        Ok(Some(start)) => start,
        Ok(None) => return Ok(Ok(taken)),
        Err(none) => {
            return guarded(engine, (hot, turn), (loop_id, &entries), known, none).map(Err);
        }
    };
    loop {
        match entries.next(&start.place, &start.public) {
            Ok(Some(entry)) if entry.kind == EntryKind::GuardFacts => {
                // How an attempt ended says nothing of the next one.
                if is_under_way(hot, loop_id, &start) {
                    taken.guard = GuardFacts::decode(&entry.payload);
                }
            }
            Ok(Some(entry)) => {
                let Ok(waiting) = serde_json::from_slice(&entry.payload) else {
                    let fault = unreadable(entry.number, &entries);
                    taken.guard = word_of_guard(hot, loop_id, &entries, &start);
                    return Ok(Err(NotTakenUp::Fault(fault, taken)));
                };
                taken.decide(engine, hot, turn, (loop_id, &start, entry.number), waiting)?;
            }
            Ok(None) => return Ok(Ok(taken)),
            Err(fault) => {
                taken.guard = taken.guard.or_else(|| word_of_guard(hot, loop_id, &entries, &start));
                return Ok(Err(NotTakenUp::Fault(fault, taken)));
            }
        }
    }
}

/// The start that the first entry names, proven; `None` where there is no entry.
fn first_start<S: Storage>(
    engine: &Core<S>,
    turn: &WriteTransaction<'_, S>,
    loop_id: &str,
    entries: &RunEntries,
    known: Option<&Start>,
) -> Result<Result<Option<Start>, NotTakenUp>, SubmitError> {
    let fault = |fault| Ok(Err(NotTakenUp::Fault(fault, TakenUp::default())));
    match entries.claimed_start() {
        Ok(Some(claimed)) => {
            let start = proven_start(engine, turn, (loop_id, entries), known, &claimed)?;
            Ok(start.map(Some))
        }
        Ok(None) => Ok(Ok(None)),
        Err(found) => fault(found),
    }
}

/// The start that entries name, where it is one and the file its recorder's.
fn proven_start<S: Storage>(
    engine: &Core<S>,
    turn: &WriteTransaction<'_, S>,
    (loop_id, entries): (&str, &RunEntries),
    known: Option<&Start>,
    claimed: &RunStart,
) -> Result<Result<Start, NotTakenUp>, SubmitError> {
    let start = match known.filter(|known| known.place == *claimed) {
        Some(known) => known.clone(),
        None => match find_start(engine, turn, loop_id, claimed)? {
            Ok(found) => found,
            Err(none) => return Ok(Err(none)),
        },
    };
    let owner = check_owner(engine, entries, &start);
    Ok(owner.map(|()| start).map_err(|fault| NotTakenUp::Fault(fault, TakenUp::default())))
}

/// Why nothing was taken up, with the word of a guard that stands behind what somebody else wrote
/// into the file.
fn guarded<S: Storage>(
    engine: &Core<S>,
    (hot, turn): (&LiveState, &WriteTransaction<'_, S>),
    (loop_id, entries): (&str, &RunEntries),
    known: Option<Start>,
    none: NotTakenUp,
) -> Result<NotTakenUp, SubmitError> {
    let NotTakenUp::Fault(fault, mut taken) = none else { return Ok(none) };
    if let Ok(Some(claimed)) = entries.claimed_by_guard()
        && let Ok(start) = proven_start(engine, turn, (loop_id, entries), known.as_ref(), &claimed)?
    {
        taken.guard = word_of_guard(hot, loop_id, entries, &start);
    }
    Ok(NotTakenUp::Fault(fault, taken))
}

/// What a guard wrote behind a part of the file that is no entry.
fn word_of_guard(
    hot: &LiveState,
    loop_id: &str,
    entries: &RunEntries,
    start: &Start,
) -> Option<GuardFacts> {
    let word = entries.word_of_guard(&start.place, &start.public).ok()??;
    // How an attempt ended says nothing of the next one.
    GuardFacts::decode(&word.payload).filter(|_| is_under_way(hot, loop_id, start))
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

/// Whether the log is this user's: root's files in it are, too.
pub(super) fn owns_log<S: Storage>(engine: &Core<S>, user: u32) -> bool {
    let log = std::fs::metadata(engine.caches.root());
    log.is_ok_and(|log| std::os::unix::fs::MetadataExt::uid(&log) == user)
}

impl TakenUp {
    /// Decides one command with the recorder's origin.
    fn decide<S: Storage>(
        &mut self,
        engine: &Core<S>,
        hot: &mut LiveState,
        turn: &mut WriteTransaction<'_, S>,
        (loop_id, start, number): (&str, &Start, u64),
        waiting: WaitingCommand,
    ) -> Result<(), SubmitError> {
        let WaitingCommand { actor, proven_by, command } = waiting;
        let Some(entity) = hot.world.live_loop(loop_id) else { return Ok(()) };
        if !is_about(&command, loop_id) || !is_under_way(hot, loop_id, start) {
            return Ok(());
        }
        let (correlation, causation) = (entity.correlation.clone(), Some(entity.version));
        let origin = Origin { actor, correlation, causation };
        let key = key_of_entry(loop_id, start.place.attempt, number);
        let key = IdempotencyKey::new(KEY_TENANT, KEY_ENGINE, key);
        let conditions = Conditions::once(key);
        let floors = engine.floors_for(&command)?;
        let by = By { origin: &origin, proof: Some(Proof { user: start.user, by: proven_by }) };
        let now = moment_of_next(engine.now(), turn);
        let asked = Asked { by, command: &command, floors: &floors, is_taken_up: true };
        let answer = carry_out(engine, hot, turn, asked, &conditions, now)?;
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

/// Whether the attempt of a start is the newest of its loop, which lives.
fn is_under_way(hot: &LiveState, loop_id: &str, start: &Start) -> bool {
    let entity = hot.world.live_loop(loop_id);
    entity.is_some_and(|entity| entity.attempt_count() == start.place.attempt)
}

/// Whether a command is one by which a recorder of this loop says what came of its attempt.
fn is_about(command: &Command, loop_id: &str) -> bool {
    command.driven_loop() == Some(loop_id)
}

/// The record that entries name as their start, where it is one: of this loop, with a key.
fn find_start<S: Storage>(
    engine: &Core<S>,
    turn: &WriteTransaction<'_, S>,
    loop_id: &str,
    claimed: &RunStart,
) -> Result<Result<Start, NotTakenUp>, SubmitError> {
    let sequence = claimed.sequence;
    let fault = || NotTakenUp::Fault(RunFileFault::Start { sequence }, TakenUp::default());
    let is_there = (1..=turn.position().sequence).contains(&sequence);
    if !is_there || claimed.log != engine.log_id {
        return Ok(Err(fault()));
    }
    let storage = &*engine.caches;
    let reader = LogReader::of(storage).map_err(FollowError::from)?;
    let holding = reader.holding(sequence).and_then(|at| reader.firsts().get(at).copied());
    let Some(first) = holding else { return Ok(Err(NotTakenUp::StartArchived)) };
    let mut follower = Follower::at_segment(storage, first)?;
    let mut found = None;
    follower.catch_up_while(storage, &mut |_, _, record| {
        if record.header.sequence < sequence {
            return ControlFlow::Continue(());
        }
        if record.header.sequence == sequence {
            found = Some((record.header.link, recorded(record)));
        }
        ControlFlow::Break(())
    })?;
    let Some((link, event)) = found else { return Ok(Err(fault())) };
    Ok(start_of(claimed, loop_id, link, event?).ok_or_else(fault))
}

fn start_of(
    claimed: &RunStart,
    loop_id: &str,
    link: Link,
    record: Option<super::rebuild::Recorded>,
) -> Option<Start> {
    let envelope = record?.envelope;
    let Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) = envelope.event else {
        return None;
    };
    let place = RunStart {
        log: claimed.log,
        loop_digits: RunStart::digits_of(&body.loop_id)?,
        attempt: body.attempt,
        sequence: claimed.sequence,
        link,
    };
    let (key, proof) = (body.recorder_key?, envelope.proof?);
    let is_it = *body.loop_id == *loop_id && place == *claimed;
    is_it.then(|| Start { place, public: *key.as_bytes(), user: proof.user })
}
