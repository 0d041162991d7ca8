//! Files that a run holds on the disk from before its loop is initialized until its end is on the
//! log: its own file, whose lock says that its recorder lives, and room for its ending.
//!
//! After the command began, all that its recorder says goes through one door: to the log where its
//! lock is free soon, its disk has room and it does not fail, else to the run's own file, from
//! which the next writer takes it up. Where a log failed, nobody knows what of it is there: what
//! waits in the file may be on the log as well, and whoever takes it up finds that it is.
//!
//! # Invariants
//!
//! - Once something waits in the file, what is said later follows it there, or is decided behind it
//!   in a turn that takes it up first.
//! - What is on the log without a sync is synced before anything goes to the file behind it; where
//!   that fails, it goes to the file too.
//! - The private key of an attempt is in the memory of its recorder and its guard alone.

use super::conditions::Conditions;
use super::engine::Core;
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::origin::Origin;
use super::receipt::Submitted;
use super::starts::Start;
use super::submit::{Answer, By, Turn, begin_around, come_up_to_date, with_turn};
use super::take_up::{NotTakenUp, Taker, take_up};
use super::unsynced_turn::UnsyncedTurn;
use crate::executor::{CommandSpec, LastWord};
use crate::log::{AppendError, Room, RunFile, Storage, is_full};
use crate::sync::Mutex;
use holdpoint_domain::core::actor::Proof;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::execution_loop::{
    AwaitResponse, ExecutionLoopCommand, ExecutionLoopEvent, OnFull,
};
use holdpoint_domain::world::waiting::WaitingCommand;
use holdpoint_domain::{Command, Event};
use holdpoint_log_format::limits::PAGE;
use holdpoint_log_format::{ChainPosition, EntryKind, RunKey, RunStart, names};
use std::convert::Infallible;
use std::io;
use std::time::Duration;

/// Time that whoever records a command that began waits for the log's lock.
const AT_DOOR: Duration = Duration::from_millis(200);

/// Outcome of something that a recorder said.
pub(super) enum StepOutcome {
    /// It is on the log, behind what waited.
    OnLog {
        /// Outcome of what waited, but for evidence.
        before: Vec<Submitted>,
        submitted: Submitted,
    },
    /// It waits in the run's own file, durably.
    InFile,
}

/// Time at which a step of a run is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    /// The time at which it is recorded.
    Now,
    /// Once [`RunSeat::acknowledge`] was called, or a later step is durable: for a step that
    /// nobody is told of before.
    Later,
}

/// Something that a recorder says.
struct Saying {
    origin: Origin,
    proof: Proof,
    command: Command,
}

/// A step on the log whose sync was left to a later one.
struct Unsynced<'a, S: Storage> {
    turn: UnsyncedTurn<'a, Measured<S>>,
    /// The step, once the command began: where the sync fails, it waits in the run's own file.
    saying: Option<Saying>,
}

/// State for what is said once the command began.
struct Door<'a, S: Storage> {
    /// Key and start that sign for the attempt under way, once its start is on the log.
    signing: Option<(RunKey, Start)>,
    /// The number of the newest entry.
    number: u64,
    /// True if an entry waits.
    is_waiting: bool,
    /// True if something went to the file because the log's disk was full.
    is_full: bool,
    /// True if the file refused something, and not for want of room.
    is_file_lost: bool,
    /// The failure of the log that something went to the file for.
    failure: Option<String>,
    /// The steps whose sync was left to a later one: as many as an attempt has.
    unsynced: Vec<Unsynced<'a, S>>,
}

impl<S: Storage> Default for Door<'_, S> {
    fn default() -> Self {
        Self {
            signing: None,
            number: 0,
            is_waiting: false,
            is_full: false,
            is_file_lost: false,
            failure: None,
            unsynced: Vec::new(),
        }
    }
}

/// The place of a run. Without a word its file stays, unlocked: then the recorder is lost.
pub(super) struct RunSeat<'a, S: Storage> {
    core: &'a Core<Measured<S>>,
    loop_id: String,
    /// `None` on a disk that keeps no such files.
    file: Option<RunFile>,
    door: Mutex<Door<'a, S>>,
}

impl<'a, S: Storage> RunSeat<'a, S> {
    /// Takes the place of a run that is to begin.
    pub(super) fn take(core: &'a Core<Measured<S>>, loop_id: String) -> Result<Self, SubmitError> {
        core.recorders.lock().begin(&loop_id);
        let file = begin(core, &loop_id).inspect_err(|_| forget(core, &loop_id))?;
        let seat = Self { core, loop_id, file, door: Mutex::default() };
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
        let unsynced = turn.map(|turn| Unsynced { turn, saying: None });
        self.door.lock().unsynced.extend(unsynced);
        Ok(submitted)
    }

    /// Waits until every step is durable whose sync was left for later: on the log, or, of a
    /// command that began, in the run's own file where the sync fails.
    pub(super) fn acknowledge(&self) -> Result<(), SubmitError> {
        self.acknowledge_in(&mut self.door.lock())
    }

    fn acknowledge_in(&self, door: &mut Door<'a, S>) -> Result<(), SubmitError> {
        let unsynced = std::mem::take(&mut door.unsynced);
        let (turns, sayings): (Vec<_>, Vec<_>) =
            unsynced.into_iter().map(|step| (step.turn, step.saying)).unzip();
        // The newest first: its sync covers those before it.
        let Err(error) = turns.into_iter().rev().try_for_each(UnsyncedTurn::wait) else {
            return Ok(());
        };
        let sayings: Option<Vec<Saying>> = sayings.into_iter().collect();
        let Some(sayings) = sayings.filter(|_| error.is_of_log()) else { return Err(error) };
        for Saying { origin, proof, command } in &sayings {
            if self.append(door, (origin, *proof), command, Room::Reserved).is_err() {
                return Err(error);
            }
        }
        door.failure.get_or_insert_with(|| error.to_string());
        Ok(())
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
        let Ok(begun) = begin_around(core, by, &Conditions::default(), &command, None, |_| {
            Ok(Ok::<(), Infallible>(()))
        })?;
        let newest = begun.newest;
        let submitted = begun.acknowledged()?;
        self.acknowledge_in(&mut door)?;
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
    /// within 200 ms, its disk has room and it does not fail, else in the run's own file. From any
    /// thread. Output is recorded [`Room::BesideReserved`]: the room that the run's file holds for
    /// the end stays.
    ///
    /// # Errors
    /// As [`Engine::submit`](super::Engine::submit). Where neither the log, whose lock is waited
    /// for as long as its options say, nor the file takes it, the log's error.
    /// [`AppendError::NoSpace`] of output also where the log is locked and the file has no room: to
    /// wait for the lock would let the command print on.
    pub(super) fn record(
        &self,
        room: Room,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        sync: Sync,
    ) -> Result<StepOutcome, SubmitError> {
        let mut door = self.door.lock();
        let may_wait = self.file.is_some() && door.signing.is_some();
        let wait = may_wait.then_some(AT_DOOR);
        let error = match self.on_log(&mut door, (origin, proof), command, wait, sync) {
            Err(error) if may_wait && error.is_of_log() => error,
            recorded => return recorded,
        };
        let is_piece = room == Room::BesideReserved;
        // Output that finds no room is given up: the end of the run needs what the file has left.
        if is_piece && error.is_full() {
            return Err(error);
        }
        match self.in_file(&mut door, (origin, proof), command, room) {
            Ok(_) => {
                door.is_full |= error.is_full();
                if !error.is_full() && !error.is_locked() {
                    door.failure.get_or_insert_with(|| error.to_string());
                }
                Ok(StepOutcome::InFile)
            }
            Err(refused) if is_piece && is_full(&refused) => {
                Err(AppendError::NoSpace { needed: 0, free: None }.into())
            }
            // A piece waits for the lock once: the command waits with it.
            Err(file) if error.is_locked() && !(is_piece && door.is_file_lost) => {
                door.is_file_lost = true;
                let recorded = self.on_log(&mut door, (origin, proof), command, None, sync);
                recorded.map_err(|error| if is_piece { error } else { nowhere(error, file) })
            }
            Err(_) if is_piece || error.is_full() => Err(error),
            Err(file) => Err(nowhere(error, file)),
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
        let settled = with_turn(self.core, |turn| {
            come_up_to_date(turn)?;
            self.take_up_own(&door, origin, turn)
        });
        door.is_full |= settled.as_ref().is_err_and(SubmitError::is_full);
        let answers = settled?;
        self.is_taken_up(&mut door);
        answers.into_iter().map(|answer| answer.submitted(self.core)).collect()
    }

    /// Returns whether something waits in the run's own file.
    pub(super) fn is_waiting(&self) -> bool {
        self.door.lock().is_waiting
    }

    /// The failure of the log that something waits for.
    pub(super) fn log_failure(&self) -> Option<String> {
        let door = self.door.lock();
        door.failure.clone().filter(|_| door.is_waiting)
    }

    /// Returns whether something waits because the log's disk was full.
    pub(super) fn waits_for_room(&self) -> bool {
        let door = self.door.lock();
        door.is_waiting && door.is_full
    }

    /// Checks that the next writer takes up what waits in the run's own file, as far as can be seen
    /// now.
    pub(super) fn check_reach(&self) -> Result<(), SubmitError> {
        match self.file.as_ref().filter(|_| self.is_waiting()) {
            Some(file) => file.check_reach().map_err(|source| SubmitError::OutOfReach { source }),
            None => Ok(()),
        }
    }

    fn on_log(
        &self,
        door: &mut Door<'a, S>,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        wait: Option<Duration>,
        sync: Sync,
    ) -> Result<StepOutcome, SubmitError> {
        let core = self.core;
        let command = &*core.identity.proven(command, proof);
        let by = By { origin, proof: Some(proof) };
        let mut answers = Vec::new();
        let state = &*door;
        let conditions = Conditions::default();
        let Ok(begun) = begin_around(core, by, &conditions, command, wait, |turn| {
            if state.is_waiting {
                answers = self.take_up_own(state, origin, turn)?;
            }
            Ok(Ok::<(), Infallible>(()))
        })?;
        // What was taken up leaves the file, so it is durable first.
        let submitted = if sync == Sync::Later && !door.is_waiting {
            let (submitted, turn) = begun.ahead()?;
            let saying = door.signing.as_ref().map(|_| {
                let (origin, command) = (origin.clone(), command.clone());
                Saying { origin, proof, command }
            });
            door.unsynced.extend(turn.map(|turn| Unsynced { turn, saying }));
            submitted
        } else {
            begun.acknowledged()?
        };
        self.is_taken_up(door);
        let before: Result<Vec<_>, _> =
            answers.into_iter().map(|answer| answer.submitted(core)).collect();
        Ok(StepOutcome::OnLog { before: before?, submitted })
    }

    /// Takes what waited out of the file, for it is on the log, so that nobody takes it for
    /// waiting. Where that fails, its keys on the log say so.
    fn is_taken_up(&self, door: &mut Door<'a, S>) {
        if std::mem::take(&mut door.is_waiting)
            && let Some(file) = &self.file
        {
            let _ = file.clear();
            (door.is_full, door.failure) = (false, None);
        }
    }

    fn take_up_own(
        &self,
        door: &Door<'a, S>,
        origin: &Origin,
        turn: &mut Turn<'_, '_, Measured<S>>,
    ) -> Result<Vec<Answer>, SubmitError> {
        let (Some(file), Some((_, start))) = (&self.file, &door.signing) else {
            return Ok(Vec::new());
        };
        let Ok(entries) = file.entries() else { return Ok(Vec::new()) };
        let by = Taker::Recorder { start, origin };
        // What somebody else wrote into it counts for nothing, and is told by who verifies the log.
        match take_up(turn, &self.loop_id, entries, by)? {
            Ok(taken) | Err(NotTakenUp::Fault(_, taken)) => Ok(taken.answers),
            Err(NotTakenUp::StartArchived) => Ok(Vec::new()),
        }
    }

    /// Appends an entry, durably, behind all that was said before; its number.
    fn in_file(
        &self,
        door: &mut Door<'a, S>,
        saying: (&Origin, Proof),
        command: &Command,
        room: Room,
    ) -> io::Result<u64> {
        self.acknowledge_in(door).map_err(io::Error::other)?;
        self.append(door, saying, command, room)
    }

    fn append(
        &self,
        door: &mut Door<'a, S>,
        (origin, proof): (&Origin, Proof),
        command: &Command,
        room: Room,
    ) -> io::Result<u64> {
        let (Some(file), Some((key, start))) = (&self.file, &door.signing) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
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

fn nowhere(error: SubmitError, file: io::Error) -> SubmitError {
    SubmitError::NowhereKept { source: Box::new(error), file }
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
    core.recorders.lock().end(loop_id);
}

/// Makes and locks the file of a run, in a turn: whoever looks for lost recorders does that in one.
fn begin<S: Storage>(
    core: &Core<Measured<S>>,
    loop_id: &str,
) -> Result<Option<RunFile>, SubmitError> {
    with_turn(core, |turn| {
        turn.engine.caches.begin_run(loop_id).map_err(|source| file_error(turn.engine, source))
    })
}

fn file_error<S: Storage>(core: &Core<Measured<S>>, source: io::Error) -> SubmitError {
    if is_full(&source) {
        return AppendError::NoSpace { needed: PAGE, free: core.caches.free() }.into();
    }
    SubmitError::RunFile { path: core.caches.root().join(names::RUNS), source }
}
