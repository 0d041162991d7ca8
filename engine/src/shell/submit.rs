//! One turn, in order: what is due, command, decide, encode, append, evolve, sync, receipt.

use super::append::{append, append_labelled, check_readable};
use super::callback::{Callback, pass_on_panic};
use super::clock::Reading;
use super::conditions::{Conditions, DoneBefore, KeyLookup, check_cause, check_story};
use super::engine::{Core, system_actor};
use super::error::SubmitError;
use super::fingerprint;
use super::lookup::Scope;
use super::lost;
pub use super::origin::Origin;
use super::owner::check_owner;
use super::rebuild::{LiveState, first_kept, read_events};
use super::recall::{self, FoundRecord};
pub use super::receipt::{Receipt, Submitted};
use super::recorders::check_recorder;
use super::snapshot;
use super::unsynced_turn::UnsyncedTurn;
use super::writers_own::{note_clock_step, note_recoveries, record_in_turn};
use crate::floors::Floors;
use crate::log::{Appended, Level, Storage, WriteTransaction};
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::text::check_legible;
use holdpoint_domain::evidence_capture::EvidenceCaptureCommand;
use holdpoint_domain::world::{Due, Recalled, Term};
use holdpoint_domain::{Command, Event, Proof, Refusal, Time, World, WriterCommand, decide};
use holdpoint_log_format::ChainPosition;
use std::borrow::Cow;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Actor within a story, and the proof of it.
#[derive(Clone, Copy)]
pub(super) struct By<'a> {
    pub(super) origin: &'a Origin,
    /// `None`: Holdpoint itself.
    pub(super) proof: Option<Proof>,
}

impl<'a> By<'a> {
    /// Returns the actor of what Holdpoint does by itself, which needs no proof.
    pub(super) const fn holdpoint(origin: &'a Origin) -> Self {
        Self { origin, proof: None }
    }
}

/// A turn of an engine: the state goes ahead with what is appended to the log.
pub(super) struct Turn<'a, 't, S: Storage> {
    pub(super) engine: &'a Core<S>,
    pub(super) hot: &'a mut LiveState,
    pub(super) log: &'a mut WriteTransaction<'t, S>,
}

/// Outcome of a turn.
pub(super) enum Answer {
    Accepted(Receipt),
    DoneBefore(DoneBefore),
    /// The same, with its records at hand.
    Repeated(Receipt),
    Refused(Refusal),
}

/// A command whose turn is over, and whose answer waits for what it depends on to be durable.
pub(super) struct Begun<'a, S: Storage> {
    engine: &'a Core<S>,
    answer: Answer,
    /// The newest record behind the command's own.
    pub(super) newest: Option<ChainPosition>,
    /// `None` where nothing of the state is in the answer.
    pending: Option<UnsyncedTurn<'a, S>>,
}

/// Carries out a command in a turn of its own; nothing of it may leave before it is acknowledged.
pub(super) fn begin<'a, S: Storage>(
    engine: &'a Core<S>,
    origin: &Origin,
    proof: Proof,
    conditions: &Conditions,
    command: &Command,
) -> Result<Begun<'a, S>, SubmitError> {
    let begun =
        begin_where(engine, origin, proof, conditions, command, |_| Ok::<(), Infallible>(()));
    begun.map(|Ok(begun)| begun)
}

/// Does the same as [`begin`], where the state of the same turn, behind what was due, has to pass a
/// check of the caller's: what that check says is given where nothing was carried out.
pub(super) fn begin_where<'a, S: Storage, E>(
    engine: &'a Core<S>,
    origin: &Origin,
    proof: Proof,
    conditions: &Conditions,
    command: &Command,
    is_allowed: impl FnOnce(&World) -> Result<(), E>,
) -> Result<Result<Begun<'a, S>, E>, SubmitError> {
    let by = By { origin, proof: Some(proof) };
    begin_around(engine, by, conditions, command, None, |turn| Ok(is_allowed(&turn.hot.world)))
}

/// Does the same as [`begin_where`], where the log's lock is waited for no longer than `wait`, and
/// `before` may do more in the same turn than look.
pub(super) fn begin_around<'a, S: Storage, E>(
    engine: &'a Core<S>,
    by: By<'_>,
    conditions: &Conditions,
    command: &Command,
    wait: Option<Duration>,
    before: impl FnOnce(&mut Turn<'_, '_, S>) -> Result<Result<(), E>, SubmitError>,
) -> Result<Result<Begun<'a, S>, E>, SubmitError> {
    if let Err(refusal) = check(by.origin, conditions, command) {
        return Ok(Ok(Begun::refused(engine, refusal)));
    }
    // Files are read before the turn, and users looked up: nobody waits for them.
    let command = &*engine.with_numbers(Cow::Borrowed(command))?;
    let floors = engine.floors_for(command)?;
    if let Err(refusal) = engine.check_adopted(command)? {
        return Ok(Ok(Begun::refused(engine, refusal)));
    }
    let level = engine.level_of(command);
    let (answer, pending) = in_turn(engine, level, wait, |turn| {
        let now = come_up_to_date(turn)?;
        if let Err(objection) = before(turn)? {
            return Ok(Err(objection));
        }
        let now = moment_of_next(now, turn);
        let asked = CommandRequest { by, command, floors: &floors, is_taken_up: false };
        let answer = carry_out(turn, asked, conditions, now)?;
        Ok(Ok((answer, Some(turn.log.position()))))
    })?;
    match answer {
        Ok((answer, newest)) => Ok(Ok(Begun { engine, answer, newest, pending: Some(pending) })),
        Err(objection) => pending.wait().map(|()| Err(objection)),
    }
}

impl<'a, S: Storage> Begun<'a, S> {
    /// Refused without a look at the state.
    pub(super) const fn refused(engine: &'a Core<S>, refusal: Refusal) -> Self {
        Self { engine, answer: Answer::Refused(refusal), newest: None, pending: None }
    }

    /// Returns what a turn came to.
    pub(super) fn in_turn(
        engine: &'a Core<S>,
        level: Level,
        work: impl FnOnce(&mut Turn<'_, '_, S>) -> Result<Answer, SubmitError>,
    ) -> Result<Self, SubmitError> {
        let (answer, pending) = in_turn(engine, level, None, work)?;
        Ok(Self { engine, answer, newest: None, pending: Some(pending) })
    }

    /// The answer ahead of its acknowledgement, for the steps of a run: whoever takes it tells
    /// nobody before the acknowledgement, or that of a later turn, was waited for. What was not
    /// accepted is given as [`Begun::acknowledged`] gives it.
    pub(super) fn ahead(self) -> Result<(Submitted, Option<UnsyncedTurn<'a, S>>), SubmitError> {
        match (self.answer, self.pending) {
            (Answer::Accepted(receipt), pending) => Ok((Submitted::Accepted(receipt), pending)),
            (answer, pending) => {
                pending.map_or(Ok(()), UnsyncedTurn::wait)?;
                Ok((answer.submitted(self.engine)?, None))
            }
        }
    }

    /// The commit point. A crash before the sync inside returns loses or tears what the turn wrote,
    /// and nobody was told of it; a crash after finds it whole. Whatever the answer is, it tells of
    /// the state, so what the state depends on is synced before it leaves.
    pub(super) fn acknowledged(self) -> Result<Submitted, SubmitError> {
        self.pending.map_or(Ok(()), UnsyncedTurn::wait)?;
        self.answer.submitted(self.engine)
    }
}

impl Answer {
    /// The answer as its caller gets it, once what it depends on is durable.
    pub(super) fn submitted<S: Storage>(self, engine: &Core<S>) -> Result<Submitted, SubmitError> {
        Ok(match self {
            Self::Accepted(receipt) => Submitted::Accepted(receipt),
            Self::Repeated(receipt) => Submitted::Repeated(receipt),
            Self::Refused(refusal) => Submitted::Refused(refusal),
            Self::DoneBefore(done) => Submitted::Repeated(receipt_again(engine, done)?),
        })
    }
}

/// A command, by whom, under which conditions, and what the machine demands of it.
#[derive(Clone, Copy)]
pub(super) struct CommandRequest<'a> {
    pub(super) by: By<'a>,
    pub(super) command: &'a Command,
    pub(super) floors: &'a Floors,
    /// True if it waited in a run's own file: whoever takes it up is not the run's recorder.
    pub(super) is_taken_up: bool,
}

/// Decides, and appends what was decided, or that the command was refused.
pub(super) fn carry_out<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    asked: CommandRequest<'_>,
    conditions: &Conditions,
    now: Moment,
) -> Result<Answer, SubmitError> {
    let CommandRequest { by, command, .. } = asked;
    let By { origin, proof } = by;
    let idempotency = conditions.idempotency(origin, command);
    let form = command.check_form().map_err(Refusal::from);
    if let Err(refusal) = form.and_then(|()| check_cause(origin, turn.log.position().sequence)) {
        return Ok(Answer::Refused(refusal));
    }
    let seen = conditions.seen(idempotency.as_ref());
    let recalled = recall::recall(turn, origin, seen, command)?;
    let known = KeyLookup { idempotency: idempotency.as_ref(), recalled: recalled.as_ref() };
    let admitted = conditions.admit(&turn.hot.world, origin, proof, command, known);
    let decided = match admitted.map_err(|refusal| turn.engine.identity.explain(refusal)) {
        Ok(Some(done)) => return done_before(turn, done),
        Ok(None) => match demanded(turn.engine, &turn.hot.world, asked, now.at) {
            Ok(()) => recall::decide_knowing(turn, command, now)?,
            Err(refusal) => Err(refusal),
        },
        Err(refusal) => Err(refusal),
    };
    // The ending of a run finds room where the disk has none.
    turn.log.may_take_room_of(command.subject().filter(|_| !is_piece(command)));
    match decided {
        Ok(events) => {
            let under = (idempotency.as_ref(), conditions);
            let (appended, events) = append_labelled(turn, by, under, events, now)?;
            Ok(Answer::Accepted(receipt(&appended, now.at, events)))
        }
        Err(refusal) => match refusal.done_before() {
            Some(first_sequence) => {
                done_before(turn, DoneBefore { first_sequence, last_sequence: None })
            }
            None => {
                record_refusal(turn, by, command, &refusal, now)?;
                Ok(Answer::Refused(refusal))
            }
        },
    }
}

/// Returns whether the command records what a command printed so far: the room of its ending is not
/// for that.
const fn is_piece(command: &Command) -> bool {
    matches!(command, Command::EvidenceCapture(EvidenceCaptureCommand::RecordOutput(_)))
}

/// Checks the demands of the machine, beside what the rules say.
pub(super) fn demanded<S: Storage>(
    engine: &Core<S>,
    world: &World,
    asked: CommandRequest<'_>,
    at: Time,
) -> Result<(), Refusal> {
    let log = engine.caches.root();
    asked.floors.check(world, log, asked.command, at)?;
    let of_files = asked.floors.open_bounds();
    let bounds = engine.open_bounds.map_or(of_files, |smaller| of_files.and(smaller));
    bounds.check(world, asked.command, asked.by.proof, at)?;
    check_owner(world, log, asked.command)?;
    engine.identity.check_another(world, &asked.by.origin.actor, asked.command)?;
    match asked.is_taken_up {
        true => Ok(()),
        false => check_recorder(engine, world, asked.command),
    }
}

/// The first receipt, where an index says where its records lie; else they are looked for when the
/// turn is over.
pub(super) fn done_before<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    done: DoneBefore,
) -> Result<Answer, SubmitError> {
    let mut receipt = Receipt::of(done);
    let is_known = recall::each_from(turn.engine, turn.hot, done.first_sequence, &mut |event| {
        receipt.take(event, done.last_sequence)
    })?;
    Ok(if is_known { Answer::Repeated(receipt) } else { Answer::DoneBefore(done) })
}

/// A refusal that is a fact of its own is recorded in the command's place. It does not take the
/// command's key, which stays free for a command that is accepted.
pub(super) fn record_refusal<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    by: By<'_>,
    command: &Command,
    refusal: &Refusal,
    now: Moment,
) -> Result<(), SubmitError> {
    let Some(event) = refusal.audit(&turn.hot.world, command) else { return Ok(()) };
    append(turn, by, None, [event], now).map(drop)
}

pub(super) fn receipt(appended: &Appended, at: Time, events: Vec<Event>) -> Receipt {
    let (first_sequence, last_sequence) = (appended.first_sequence, appended.last_sequence);
    Receipt { first_sequence, last_sequence, at: Some(at), events }
}

/// The first receipt again, from the records themselves; of records that were moved to an archive,
/// what the state remembers.
fn receipt_again<S: Storage>(engine: &Core<S>, done: DoneBefore) -> Result<Receipt, SubmitError> {
    let DoneBefore { first_sequence, last_sequence } = done;
    let mut receipt = Receipt::of(done);
    let read = read_events(engine, first_sequence, &mut |event| receipt.take(event, last_sequence));
    match read {
        Err(SubmitError::Follow(_)) if first_kept(engine)? > first_sequence => {
            let last_sequence = last_sequence.unwrap_or(first_sequence);
            Ok(Receipt { last_sequence, ..Receipt::of(done) })
        }
        read => read.map(|()| receipt),
    }
}

/// Before the log is closed: what indexes were built, and the state's fingerprint where one is
/// worth it. A state that was not brought up to the newest record is left as it is.
pub(super) fn before_close<S: Storage>(engine: &Core<S>) -> Result<(), SubmitError> {
    let is_worth_it = |hot: &LiveState| {
        let has_news = hot.lookup.indexer.has_built() || fingerprint::is_due_at_close(engine, hot);
        has_news && hot.is_behind(&engine.log)
    };
    if !engine.hot()?.as_deref().is_some_and(is_worth_it) {
        return Ok(());
    }
    let (snapshot, pending) = in_turn(engine, engine.level, None, fingerprint::record_at_close)?;
    pending.wait()?;
    engine.keep(snapshot);
    Ok(())
}

/// Records what is due and takes up what waits, and nothing else.
pub(super) fn expire<S: Storage>(engine: &Core<S>) -> Result<Vec<Receipt>, SubmitError> {
    with_turn(engine, |turn| {
        let now = note_clock_step(turn)?;
        let mut receipts = record_due(turn, now)?;
        receipts.extend(lost::record_lost(turn)?);
        receipts.extend(lost::record_lost_without_file(turn)?);
        lost::take_up_waiting(turn)?;
        Ok(receipts)
    })
}

/// Every writer first records what is due by now, warnings, timeouts and what threads kept for its
/// time, each in a batch of its own, in the story that it belongs to (property E4).
fn record_due<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
    reading: Reading,
) -> Result<Vec<Receipt>, SubmitError> {
    let now = moment_of_next(reading, turn);
    let mut receipts = Vec::new();
    for (due, now) in due_by_now(turn.engine, &turn.hot.world, (now, reading)) {
        let command = match due.command.entropy() {
            Some(_) => due.command.with_entropy(turn.engine.entropy()?),
            None => due.command,
        };
        let Ok(events) = decide(&turn.hot.world, &command, now) else { continue };
        let (correlation, causation) = (due.correlation, Some(due.caused_by));
        let origin = Origin { actor: system_actor(), correlation, causation };
        let (appended, events) = append(turn, By::holdpoint(&origin), None, events, now)?;
        receipts.push(receipt(&appended, now.at, events));
    }
    Ok(receipts)
}

/// Returns what is due by the log's time or the own clock, and what somebody waits for here and
/// only the monotonic clock says is over.
fn due_by_now<S: Storage>(
    engine: &Core<S>,
    world: &World,
    (now, reading): (Moment, Reading),
) -> Vec<(Due, Moment)> {
    let mut all: Vec<_> = world.due(now).into_iter().map(|due| (due, now)).collect();
    let waited = engine.waits.ids().into_iter().filter(|id| world.due_of(id, now).is_none());
    all.extend(waited.filter_map(|id| {
        let steady = Moment { steady: engine.waits.steady(&id, reading), ..now };
        Some((world.due_of(&id, steady)?, steady))
    }));
    all
}

pub(super) fn query<S: Storage, T>(
    engine: &Core<S>,
    answer: impl FnOnce(&World) -> T,
) -> Result<T, SubmitError> {
    // Nobody waits for whoever only asks, and the other way round, where nothing was appended.
    let answer = |world: &World| engine.id.call(Callback::Query, || answer(world));
    let mut held = engine.hot()?;
    if let Some(hot) = held.as_deref().filter(|hot| hot.is_newest(&engine.log)) {
        let answered = answer(&hot.world);
        let readable = check_readable(&hot.world);
        if readable.is_err() {
            *held = without_snapshots(engine).ok();
        }
        return readable.map(|()| answered);
    }
    drop(held);
    // It only looks: its panic leaves the turn as it is.
    let answered =
        with_turn(engine, |turn| Ok(catch_unwind(AssertUnwindSafe(|| answer(&turn.hot.world)))));
    answered?.or_else(|panic| resume_unwind(panic))
}

/// Every record that holds a term, in their order.
pub(super) fn records_with<S: Storage>(
    engine: &Core<S>,
    term: &Term<'_>,
) -> Result<Vec<FoundRecord>, SubmitError> {
    with_turn(engine, |turn| recall::records_with(turn, term))
}

/// Asks the state, and which record is its newest, on behalf of somebody who may give `command`,
/// which is not carried out. That somebody may not is on record like any other refusal.
pub(super) fn permitted<S: Storage, T>(
    engine: &Core<S>,
    origin: &Origin,
    command: &Command,
    answer: impl FnOnce(&World, u64) -> T,
) -> Result<Result<T, Refusal>, SubmitError> {
    with_turn(engine, |turn| {
        let Err(refusal) = turn.hot.world.check_caller(&origin.actor, command) else {
            return Ok(Ok(answer(&turn.hot.world, turn.hot.place.run.chain.sequence)));
        };
        let now = note_clock_step(turn)?;
        record_due(turn, now)?;
        let now = moment_of_next(now, turn);
        let proof = Some(turn.engine.identity.proof_of(&origin.actor));
        record_refusal(turn, By { origin, proof }, command, &refusal, now)?;
        Ok(Err(refusal))
    })
}

/// A turn whose result is given when what it depends on is as durable as the engine's level asks.
pub(super) fn with_turn<S: Storage, T>(
    engine: &Core<S>,
    work: impl FnOnce(&mut Turn<'_, '_, S>) -> Result<T, SubmitError>,
) -> Result<T, SubmitError> {
    let (result, pending) = in_turn(engine, engine.level, None, work)?;
    pending.wait()?;
    Ok(result)
}

/// Takes the turn, brings the state up to the newest record, and leaves with the state evolved.
/// After a failure the state is discarded: it may be ahead of what the disk holds. Where the
/// failure comes while others go on, the log is poisoned, and the next turn discards it.
///
/// Without a `wait` of its own it waits for the log's lock as long as the log's options say.
fn in_turn<'a, S: Storage, T>(
    engine: &'a Core<S>,
    level: Level,
    wait: Option<Duration>,
    work: impl FnOnce(&mut Turn<'_, '_, S>) -> Result<T, SubmitError>,
) -> Result<(T, UnsyncedTurn<'a, S>), SubmitError> {
    // Before anything that waits, or that ends by waiting.
    engine.id.expect_outside()?;
    let mut watch = engine.meter.turn();
    let coming = engine.log.coming();
    let mut held = match wait {
        Some(wait) => engine.hot_within(wait)?,
        None => engine.hot()?,
    };
    watch.has_thread();
    // Taken out meanwhile: a panic leaves no state behind that may be half evolved.
    let mut hot = held.take().map_or_else(|| behind_panic(engine), Ok)?;
    engine.is_in_turn.store(true, Ordering::Relaxed);
    let before = hot.place.run.chain.sequence;
    let result = hot.begin_turn(&engine.log, wait).and_then(|mut turn| {
        coming.has_come();
        watch.began();
        hot.catch_up(&turn)?;
        if hot.place.run.chain.sequence != before {
            engine.drawn.lock().written_behind(before);
        }
        let mut within = Turn { engine, hot: &mut hot, log: &mut turn };
        note_recoveries(&mut within)?;
        let result = work(&mut within)?;
        within.hot.world.recall(Recalled::default());
        tend_indexes(&mut within)?;
        let snapshot = fingerprint::record_if_due(&mut within)?;
        check_readable(&hot.world)?;
        Ok((result, snapshot, turn.leave(level)?))
    });
    let newest = hot.place.run.chain.sequence;
    engine.is_in_turn.store(false, Ordering::Relaxed);
    *held = match &result {
        Ok(_) => Some(hot),
        Err(error) => {
            watch.failed(engine.log.poison());
            match error {
                SubmitError::UnreadableSnapshot => without_snapshots(engine).ok(),
                error => changes_nothing(engine, error).then_some(hot),
            }
        }
    };
    drop(held);
    if result.is_err() {
        pass_on_panic();
    }
    let (result, snapshot, acknowledgement) = result?;
    Ok((result, UnsyncedTurn { engine, watch, acknowledgement, snapshot, newest, level }))
}

/// The state from the records, and from a snapshot where one is of use. What was appended and not
/// acknowledged stays.
fn made_anew<S: Storage>(engine: &Core<S>) -> Result<Box<LiveState>, SubmitError> {
    // What is staged is in no file yet.
    engine.log.begin()?.sync()?;
    let newest = engine.log.position();
    let mut hot = match snapshot::newest_state(&*engine.caches, newest.sequence, &newest) {
        Ok(Some((hot, _))) => hot,
        Ok(None) | Err(_) => LiveState::open(&engine.log)?,
    };
    hot.catch_up(&engine.log.begin()?)?;
    Ok(Box::new(hot))
}

/// The state, from the records alone. The snapshots are removed: one of them is of no use, and
/// whoever opens next would begin with it again.
fn without_snapshots<S: Storage>(engine: &Core<S>) -> Result<Box<LiveState>, SubmitError> {
    snapshot::remove_all(&*engine.caches);
    made_anew(engine)
}

/// The log is told of the indexes that were built meanwhile, and those that are missing are built.
/// Where there is no room to tell it, the next engine does it all again.
fn tend_indexes<S: Storage>(turn: &mut Turn<'_, '_, S>) -> Result<(), SubmitError> {
    for built in turn.hot.lookup.indexer.take_built() {
        let told = record_in_turn(turn, &WriterCommand::SegmentIndexed(built));
        match told {
            Err(error) if !changes_nothing(turn.engine, &error) => return Err(error),
            _ => {}
        }
    }
    let LiveState { world, place, lookup, .. } = turn.hot;
    let scope = Scope { disk: &turn.engine.caches, known: world.segment_indexes(), newest: place };
    lookup.look_after(&scope);
    Ok(())
}

/// Errors that change nothing leave the state as it was; any other discards it.
pub(super) fn changes_nothing<S: Storage>(engine: &Core<S>, error: &SubmitError) -> bool {
    use crate::log::AppendError::{BatchTooLarge, Empty, Locked, NoSpace, PayloadTooLarge};
    let harmless = matches!(
        error,
        SubmitError::Append(
            BatchTooLarge { .. } | Empty | Locked { .. } | NoSpace { .. } | PayloadTooLarge { .. }
        ) | SubmitError::Contradicted(_)
            | SubmitError::Encode(_)
            | SubmitError::ArchiveUnread { .. }
            | SubmitError::RunFile { .. }
    );
    harmless && engine.log.poison().is_none()
}

/// The state anew, where a panic ended the turn that had it; else why there is none.
fn behind_panic<S: Storage>(engine: &Core<S>) -> Result<Box<LiveState>, SubmitError> {
    if engine.closed.is_given() {
        return Err(SubmitError::Closed);
    }
    match engine.log.poison() {
        Some(cause) => Err(SubmitError::Append(crate::log::AppendError::Poisoned(cause))),
        None if engine.is_in_turn.load(Ordering::Relaxed) => made_anew(engine),
        None => Err(SubmitError::Discarded),
    }
}

/// Returns what a writer records before anything of its own, where it has the rules in force. Gives
/// the time at which that was all that was due: what is asked for is recorded at no later one.
pub(super) fn come_up_to_date<S: Storage>(
    turn: &mut Turn<'_, '_, S>,
) -> Result<Reading, SubmitError> {
    let now = note_clock_step(turn)?;
    record_due(turn, now)?;
    lost::record_lost_once(turn)?;
    lost::take_up_waiting(turn)?;
    Ok(now)
}

/// The moment of the next record: its time, which is never before the newest one's, and the own
/// clock.
pub(super) fn moment_of_next<S: Storage>(now: Reading, turn: &Turn<'_, '_, S>) -> Moment {
    let at = now.wall_ns.max(turn.log.position().time);
    Moment::new(Time::from_nanoseconds(at), Time::from_nanoseconds(now.wall_ns))
}

/// The rules see events only, so the names in their envelopes are checked here.
pub(super) fn check(
    origin: &Origin,
    conditions: &Conditions,
    command: &Command,
) -> Result<(), Refusal> {
    origin.check_name()?;
    check_legible("correlation", &origin.correlation)?;
    check_story(origin, command)?;
    conditions.check(command)
}
