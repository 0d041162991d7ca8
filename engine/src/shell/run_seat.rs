//! What a run holds on the disk from before its loop is initialized until its end is on the log:
//! its own file, whose lock says that its recorder lives, and room for its ending.
//!
//! After the command began, all that its recorder says goes through one door: to the log where its
//! lock is free soon and its disk has room, else to the run's own file, from which the next writer
//! takes it up.
//!
//! # Invariants
//!
//! - Once something waits in the file, what is said later follows it there, or is decided behind it
//!   in a turn that takes it up first.
//! - What is on the log without a sync is synced before anything goes to the file behind it.
//! - The private key of an attempt is in the memory of its recorder and its guard alone.

use super::conditions::Conditions;
use super::engine::Core;
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::origin::Origin;
use super::rebuild::LiveState;
use super::receipt::Submitted;
use super::starts::Start;
use super::submit::{Answer, By, begin_around, come_up_to_date, with_turn};
use super::take_up::{NotTakenUp, Taker, take_up};
use super::unsynced_turn::UnsyncedTurn;
use crate::executor::{CommandSpec, LastWord};
use crate::log::{AppendError, Room, RunFile, Storage, WriteTransaction, is_full};
use crate::sync::Mutex;
use holdpoint_domain::core::actor::Proof;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::execution_loop::{
    AwaitResponse, ExecutionLoopCommand, ExecutionLoopEvent, OnFull,
};
use holdpoint_domain::world::waiting::WaitingCommand;
use holdpoint_domain::{Command, Event, Refusal, World};
use holdpoint_log_format::{ChainPosition, EntryKind, RunKey, RunStart, names};
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io;
use std::time::Duration;

/// So many loops are known at most to be recorded by nobody: they are looked at again.
const UNRECORDED_MAX: usize = 128;

/// How long whoever records a command that began waits for the log's lock.
const AT_DOOR: Duration = Duration::from_millis(200);

/// Who records the runs of loops, as far as this engine knows.
#[derive(Default)]
pub(super) struct Recorders {
    /// The loops of the runs that this engine records.
    here: BTreeSet<String>,
    /// Loops whose runs have no file, and get none but here: files are made in turns, and nobody
    /// else has one while this engine keeps the lock.
    unrecorded: BTreeSet<String>,
}

impl Recorders {
    /// This engine makes the file of a run.
    fn begin(&mut self, loop_id: &str) {
        self.unrecorded.remove(loop_id);
        self.here.insert(loop_id.to_string());
    }

    /// A run has no file, and every other process waits for this engine to give the lock back.
    fn has_no_file(&mut self, loop_id: &str) {
        if self.unrecorded.len() >= UNRECORDED_MAX {
            self.unrecorded.clear();
        }
        self.unrecorded.insert(loop_id.to_string());
    }

    /// Whether it is known without a look that nobody else records a run.
    fn excludes_others(&self, loop_id: &str) -> bool {
        self.here.contains(loop_id) || self.unrecorded.contains(loop_id)
    }

    /// Whether this engine records a run.
    pub(super) fn is_here(&self, loop_id: &str) -> bool {
        self.here.contains(loop_id)
    }
}

/// What became of something that a recorder said.
pub(super) enum Recorded {
    /// It is on the log, behind what waited.
    OnLog {
        /// What became of what waited, but for evidence.
        before: Vec<Submitted>,
        submitted: Submitted,
    },
    /// It waits in the run's own file, durably.
    InFile,
}

/// When a step of a run is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// When it is recorded.
    Now,
    /// Once [`RunSeat::acknowledge`] was called, or a later step is durable: for a step that
    /// nobody is told of before.
    Later,
}

/// What is said once the command began.
#[derive(Default)]
struct Door {
    /// What signs for the attempt under way, once its start is on the log.
    signing: Option<(RunKey, Start)>,
    /// The number of the newest entry.
    number: u64,
    /// Whether an entry waits.
    is_waiting: bool,
    /// Whether something went to the file because the log's disk was full.
    is_full: bool,
}

/// The place of a run. Without a word its file stays, unlocked: then the recorder is lost.
pub(super) struct RunSeat<'a, S: Storage> {
    core: &'a Core<Measured<S>>,
    loop_id: String,
    /// `None` on a disk that keeps no such files.
    file: Option<RunFile>,
    door: Mutex<Door>,
    /// The turns whose sync was left to a later step: as many as an attempt has steps.
    unsynced: Mutex<Vec<UnsyncedTurn<'a, Measured<S>>>>,
}

impl<'a, S: Storage> RunSeat<'a, S> {
    /// Takes the place of a run that is to begin.
    pub(super) fn take(core: &'a Core<Measured<S>>, loop_id: String) -> Result<Self, SubmitError> {
        core.recorders.lock().begin(&loop_id);
        let file = begin(core, &loop_id).inspect_err(|_| forget(core, &loop_id))?;
        let seat = Self { core, loop_id, file, door: Mutex::default(), unsynced: Mutex::default() };
        match seat.persist() {
            Ok(()) => Ok(seat),
            Err(error) => {
                seat.leave();
                Err(error)
            }
        }
    }

    /// Makes the run's file durable and reserves the room for its end. Outside of the turn: others
    /// wait for no disk meanwhile.
    fn persist(&self) -> Result<(), SubmitError> {
        let persisted = self.file.as_ref().map_or(Ok(()), RunFile::persist);
        persisted.map_err(|source| file_error(self.core, source))?;
        Ok(self.reserve_room()?)
    }

    /// Sees to it that there is room for the ending of one attempt.
    pub(super) fn reserve_room(&self) -> Result<(), AppendError> {
        match &self.file {
            Some(_) => self.core.log.reserve_room(&self.loop_id),
            None => Ok(()),
        }
    }

    /// The command, whose guard holds the run's file as well: as long as one of both lives, nobody
    /// takes the run for lost.
    pub(super) fn guarded(&self, command: &CommandSpec) -> CommandSpec {
        let mut command = command.clone();
        let Some(file) = &self.file else { return command };
        let last_word = self.door.lock().signing.as_ref().map(|(key, start)| LastWord {
            file: file.descriptor(),
            directory: file.directory(),
            key: key.clone(),
            start: start.place,
        });
        command.guard = command.guard.map(|guard| match last_word {
            Some(last_word) => guard.with_last_word(last_word),
            None => guard.holding(file.descriptor()),
        });
        if let Some(lock) = file.recording_lock() {
            command.guard = command.guard.map(|guard| guard.holding(lock));
        }
        command
    }

    /// Records a step before the command starts, ahead of its sync.
    pub(super) fn ahead(
        &self,
        origin: &Origin,
        conditions: &Conditions,
        command: &Command,
    ) -> Result<Submitted, SubmitError> {
        let (submitted, turn) = self.core.begin(origin, conditions, command)?.ahead()?;
        self.unsynced.lock().extend(turn);
        Ok(submitted)
    }

    /// Waits until every step is durable whose sync was left for later.
    pub(super) fn acknowledge(&self) -> Result<(), SubmitError> {
        let turns = std::mem::take(&mut *self.unsynced.lock());
        // The newest first: its sync covers those before it.
        turns.into_iter().rev().try_for_each(UnsyncedTurn::wait)
    }

    /// Puts the start of an attempt on the log, with a new key. From here on what is recorded may
    /// wait in the run's own file.
    pub(super) fn start(&self, origin: &Origin, on_full: OnFull) -> Result<Submitted, SubmitError> {
        let core = self.core;
        let mut door = self.door.lock();
        let key = self.new_key()?;
        let public = key.as_ref().map(RunKey::public);
        let command = Command::ExecutionLoop(ExecutionLoopCommand::AwaitResponse(AwaitResponse {
            loop_id: self.loop_id.clone(),
            entropy: core.entropy()?,
            recorder_key: public.map(Digest::from_bytes),
            on_full: Some(on_full),
        }));
        let proof = core.identity.proof_of(&origin.actor);
        let by = By { origin, proof: Some(proof) };
        let Ok(begun) =
            begin_around(core, by, &Conditions::default(), &command, None, |_, _, _| {
                Ok(Ok::<(), Infallible>(()))
            })?;
        let newest = begun.newest;
        let submitted = begun.acknowledged()?;
        self.acknowledge()?;
        let place = newest.and_then(|ChainPosition { sequence, link, .. }| {
            let attempt = awaited(&submitted, sequence)?;
            let loop_digits = RunStart::digits_of(&self.loop_id)?;
            Some(RunStart { log: core.log_id, loop_digits, attempt, sequence, link })
        });
        *door = Door::default();
        if let (Some(key), Some(public), Some(place)) = (key, public, place) {
            let start = Start { place, public, user: proof.user };
            door.signing = Some((key, start));
        }
        Ok(submitted)
    }

    /// A key of an attempt, and a file without entries of the attempt before: the log has them.
    fn new_key(&self) -> Result<Option<RunKey>, SubmitError> {
        let Some(file) = &self.file else { return Ok(None) };
        let path = || self.core.caches.root().join(names::RUNS);
        file.clear().map_err(|source| SubmitError::RunFile { path: path(), source })?;
        let mut seed = [0; 32];
        let drawn = getrandom::fill(&mut seed);
        drawn.map_err(|error| SubmitError::Entropy(error.to_string()))?;
        Ok(Some(RunKey::from_seed(&seed)))
    }

    /// Records what a recorder says once its command began: on the log where its lock is free
    /// within 200 ms and its disk has room, else in the run's own file. From any thread.
    ///
    /// # Errors
    /// As [`Engine::submit`](super::Engine::submit). Where neither the log's lock is to be had
    /// within the log's own wait, or room on its disk, nor the file takes the entry, that error.
    pub(super) fn record(
        &self,
        origin: &Origin,
        proof: Proof,
        command: &Command,
        sync: Sync,
    ) -> Result<Recorded, SubmitError> {
        self.record_in(Room::Reserved, (origin, proof), command, sync)
    }

    /// As [`RunSeat::record`], of output: the room that the run's file holds for the end stays.
    ///
    /// # Errors
    /// As [`RunSeat::record`]. [`AppendError::NoSpace`] also where the log's lock is not to be had
    /// and the file has no room: to wait for the lock would let the command print on.
    pub(super) fn record_piece(
        &self,
        origin: &Origin,
        proof: Proof,
        command: &Command,
        sync: Sync,
    ) -> Result<Recorded, SubmitError> {
        self.record_in(Room::BesideReserved, (origin, proof), command, sync)
    }

    fn record_in(
        &self,
        room: Room,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        sync: Sync,
    ) -> Result<Recorded, SubmitError> {
        let mut door = self.door.lock();
        let may_wait = self.file.is_some() && door.signing.is_some();
        let told =
            self.on_log(&mut door, (origin, proof), command, may_wait.then_some(AT_DOOR), sync);
        let is_no_room = told.as_ref().is_err_and(SubmitError::is_full);
        // Output that finds no room is given up: the end of the run needs what the file has left.
        let is_to_wait = is_locked(&told) || (is_no_room && room == Room::Reserved);
        if !may_wait || !is_to_wait {
            return told;
        }
        match self.in_file(&mut door, (origin, proof), command, room) {
            Ok(_) => {
                door.is_full |= is_no_room;
                Ok(Recorded::InFile)
            }
            Err(_) if is_no_room => told,
            Err(error) if room == Room::BesideReserved && is_full(&error) => {
                Err(AppendError::NoSpace { needed: 0 }.into())
            }
            Err(_) => self.on_log(&mut door, (origin, proof), command, None, sync),
        }
    }

    /// Lets something wait in the run's own file, behind what waits there, without a look at the
    /// log's lock.
    pub(super) fn record_behind(
        &self,
        origin: &Origin,
        proof: Proof,
        command: &Command,
    ) -> io::Result<u64> {
        self.in_file(&mut self.door.lock(), (origin, proof), command, Room::Reserved)
    }

    /// Takes up what waits, first, and gives what became of it.
    pub(super) fn settle(&self, origin: &Origin) -> Result<Vec<Submitted>, SubmitError> {
        let mut door = self.door.lock();
        if !door.is_waiting {
            return Ok(Vec::new());
        }
        let settled = with_turn(self.core, |core, hot, turn| {
            come_up_to_date(core, hot, turn)?;
            self.take_up_own(core, (&door, origin), hot, turn)
        });
        door.is_full |= settled.as_ref().is_err_and(SubmitError::is_full);
        let answers = settled?;
        self.is_taken_up(&mut door);
        answers.into_iter().map(|answer| answer.submitted(self.core)).collect()
    }

    /// Whether something waits in the run's own file.
    pub(super) fn is_waiting(&self) -> bool {
        self.door.lock().is_waiting
    }

    /// Whether something waits because the log's disk was full.
    pub(super) fn waits_for_room(&self) -> bool {
        let door = self.door.lock();
        door.is_waiting && door.is_full
    }

    /// That the next writer takes up what waits in the run's own file, as far as can be seen now.
    pub(super) fn check_reach(&self) -> Result<(), SubmitError> {
        match self.file.as_ref().filter(|_| self.is_waiting()) {
            Some(file) => file.check_reach().map_err(|source| SubmitError::OutOfReach { source }),
            None => Ok(()),
        }
    }

    fn on_log(
        &self,
        door: &mut Door,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        wait: Option<Duration>,
        sync: Sync,
    ) -> Result<Recorded, SubmitError> {
        let core = self.core;
        let command = &*core.identity.proven(command, proof);
        let by = By { origin, proof: Some(proof) };
        let mut answers = Vec::new();
        let state = &*door;
        let conditions = Conditions::default();
        let Ok(begun) = begin_around(core, by, &conditions, command, wait, |core, hot, turn| {
            if state.is_waiting {
                answers = self.take_up_own(core, (state, origin), hot, turn)?;
            }
            Ok(Ok::<(), Infallible>(()))
        })?;
        // What was taken up leaves the file, so it is durable first.
        let submitted = if sync == Sync::Later && !door.is_waiting {
            let (submitted, turn) = begun.ahead()?;
            self.unsynced.lock().extend(turn);
            submitted
        } else {
            begun.acknowledged()?
        };
        self.is_taken_up(door);
        let before: Result<Vec<_>, _> =
            answers.into_iter().map(|answer| answer.submitted(core)).collect();
        Ok(Recorded::OnLog { before: before?, submitted })
    }

    /// What waited is on the log: it is taken out of the file, so that nobody takes it for waiting.
    /// Where that fails, its keys on the log say so.
    fn is_taken_up(&self, door: &mut Door) {
        if std::mem::take(&mut door.is_waiting)
            && let Some(file) = &self.file
        {
            let _ = file.clear();
            door.is_full = false;
        }
    }

    fn take_up_own(
        &self,
        core: &Core<Measured<S>>,
        (door, origin): (&Door, &Origin),
        hot: &mut LiveState,
        turn: &mut WriteTransaction<'_, Measured<S>>,
    ) -> Result<Vec<Answer>, SubmitError> {
        let (Some(file), Some((_, start))) = (&self.file, &door.signing) else {
            return Ok(Vec::new());
        };
        let Ok(entries) = file.entries() else { return Ok(Vec::new()) };
        let by = Taker::Recorder { start, origin };
        // What somebody else wrote into it counts for nothing, and is told by who verifies the log.
        match take_up(core, hot, turn, &self.loop_id, entries, by)? {
            Ok(taken) | Err(NotTakenUp::Fault(_, taken)) => Ok(taken.answers),
            Err(NotTakenUp::StartArchived) => Ok(Vec::new()),
        }
    }

    /// Appends an entry, durably; its number.
    fn in_file(
        &self,
        door: &mut Door,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        room: Room,
    ) -> io::Result<u64> {
        let (Some(file), Some((key, start))) = (&self.file, &door.signing) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        self.acknowledge().map_err(io::Error::other)?;
        let number = door.number.saturating_add(1);
        let (actor, command) = (origin.actor.clone(), command.clone());
        let waiting = WaitingCommand { actor, proven_by: proof.by, command };
        let payload = serde_json::to_vec(&waiting).map_err(io::Error::other)?;
        file.append(key, &start.place, (EntryKind::Command, number), &payload, room)?;
        (door.number, door.is_waiting) = (number, true);
        Ok(number)
    }

    /// The end is on the log, or the question is left to whoever answers.
    pub(super) fn leave(mut self) {
        if let Some(file) = self.file.take() {
            file.remove();
        }
    }
}

/// The log's lock is somebody else's.
fn is_locked<T>(told: &Result<T, SubmitError>) -> bool {
    told.as_ref().is_err_and(SubmitError::is_locked)
}

/// The attempt whose response is awaited by the record with this sequence.
fn awaited(submitted: &Submitted, sequence: u64) -> Option<u8> {
    let receipt = submitted.receipt().filter(|receipt| receipt.last_sequence == sequence)?;
    match receipt.events.last()? {
        Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) => Some(body.attempt),
        _ => None,
    }
}

impl<S: Storage> Drop for RunSeat<'_, S> {
    fn drop(&mut self) {
        self.core.log.give_back_room(&self.loop_id);
        forget(self.core, &self.loop_id);
    }
}

fn forget<S: Storage>(core: &Core<S>, loop_id: &str) {
    core.recorders.lock().here.remove(loop_id);
}

/// Whether somebody else records the run of the loop that the command would move on: its recorder
/// or guard holds a lock, its file's or the one that no change of that file releases. A file that
/// cannot be looked at speaks for a recorder.
pub(super) fn check_recorder<S: Storage>(
    engine: &Core<S>,
    world: &World,
    command: &Command,
) -> Result<(), Refusal> {
    // Only the ids of loops that live are names of files.
    let live = command.driven_loop().filter(|loop_id| world.live_loop(loop_id).is_some());
    let Some(loop_id) = live else { return Ok(()) };
    let mut recorders = engine.recorders.lock();
    if recorders.excludes_others(loop_id) {
        return Ok(());
    }
    let elsewhere = || Refusal::RecordedElsewhere { loop_id: loop_id.to_string() };
    if matches!(engine.caches.is_recorded(loop_id), Ok(Some(true))) {
        return Err(elsewhere());
    }
    if matches!(engine.caches.open(&names::run(loop_id)), Ok(None)) {
        if engine.log.keeps_its_lock() {
            recorders.has_no_file(loop_id);
        }
        return Ok(());
    }
    match engine.caches.take_run(loop_id) {
        Ok(Some(_)) => Ok(()),
        _ => Err(elsewhere()),
    }
}

/// Makes and locks the file of a run, in a turn: whoever looks for lost recorders does that in one.
fn begin<S: Storage>(
    core: &Core<Measured<S>>,
    loop_id: &str,
) -> Result<Option<RunFile>, SubmitError> {
    with_turn(core, |core, _, _| {
        core.caches.begin_run(loop_id).map_err(|source| file_error(core, source))
    })
}

fn file_error<S: Storage>(core: &Core<Measured<S>>, source: io::Error) -> SubmitError {
    SubmitError::RunFile { path: core.caches.root().join(names::RUNS), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_looked_at_again_when_it_was_recorded_here_and_when_many_others_came() {
        let mut recorders = Recorders::default();
        assert!(!recorders.excludes_others("LOOP-1"));
        recorders.has_no_file("LOOP-1");
        assert!(recorders.excludes_others("LOOP-1") && !recorders.excludes_others("LOOP-2"));
        recorders.begin("LOOP-1");
        assert!(recorders.excludes_others("LOOP-1"));
        // What is left of the run may have a guard that lives on.
        recorders.here.remove("LOOP-1");
        assert!(!recorders.excludes_others("LOOP-1"));
        for number in 0..10 * UNRECORDED_MAX {
            recorders.has_no_file(&format!("LOOP-{number}"));
            assert!(recorders.unrecorded.len() <= UNRECORDED_MAX);
        }
    }
}
