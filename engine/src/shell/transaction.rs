//! Several commands as one batch: all of what they decide is recorded, or none of it.

use super::append::{
    append_made, asked_for, cause_escalations, envelope, labels_last, rules_first,
};
use super::clock::Reading;
use super::conditions::{Conditions, DoneBefore, KeyLookup, check_cause, receipt_of};
use super::engine::{Core, Engine};
use super::error::SubmitError;
use super::recall;
use super::submit::{
    Answer, Begun, By, CommandRequest, Origin, Submitted, Turn, check, come_up_to_date, demanded,
    done_before, moment_of_next, receipt, record_refusal,
};
use crate::floors::Floors;
use crate::log::{Level, Storage};
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::hash::{Digest, HashBuilder};
use holdpoint_domain::core::refusal::{CommonRefusal, Malformed};
use holdpoint_domain::log::LogCommand;
use holdpoint_domain::{Command, Envelope, Event, Idempotency, Proof, Refusal, World};

/// Most members of a transaction.
pub const MAX_MEMBERS: usize = 1_024;

/// Commands that are carried out together, in their order, or not at all. It is a value: nothing is
/// locked and nothing is decided before it is [committed](crate::Engine::commit).
///
/// Each member is decided on the state after those before it. They have one time, and one key: what
/// is asked for under it is all of them, in their order.
///
/// ```
/// # use holdpoint_domain::application::RecordEvent;
/// # use holdpoint_engine::{Engine, Origin};
/// # use holdpoint_engine::shell::Transaction;
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let placed = RecordEvent::new("order-1", "order.placed", "42");
/// let taken = RecordEvent::new("stock", "stock.taken", "1");
/// // The order is a new one: its stream has no event yet.
/// let both = Transaction::new().record(placed).expecting(0).record(taken);
/// let first = engine.commit(&Origin::automation("shop"), (), &both)?.accepted()?;
/// assert_eq!(first.last_sequence, first.first_sequence + 1);
///
/// let again = engine.commit(&Origin::automation("shop"), (), &both)?.accepted();
/// assert_eq!(again.expect_err("it is there by now").code(), "STALE_VERSION");
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    members: Vec<Member>,
    /// A version that was expected before there was a member to expect it.
    expected_of_none: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    command: Command,
    expected_version: Option<u64>,
}

impl Transaction {
    /// Nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { members: Vec::new(), expected_of_none: None }
    }

    /// With a command behind the others. One that brings a key of its own, as turns and rows of
    /// threads do, goes alone, and so does the spending of an approval.
    #[must_use]
    pub fn submit(mut self, command: impl Into<Command>) -> Self {
        self.members.push(Member { command: command.into(), expected_version: None });
        self
    }

    /// With an event of the application.
    #[must_use]
    pub fn record(self, event: RecordEvent) -> Self {
        self.submit(event)
    }

    /// Expects that what the last member is about still has this version, in the state before all
    /// of them: see [`Conditions::expected_version`]. Before any member it makes the transaction
    /// malformed: it is refused when it is committed.
    #[must_use]
    pub fn expecting(mut self, version: u64) -> Self {
        match self.members.last_mut() {
            Some(last) => last.expected_version = Some(version),
            None => self.expected_of_none = Some(version),
        }
        self
    }

    /// Counts the members it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Returns whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns what is asked for under one key.
    fn content(&self, origin: &Origin) -> Digest {
        let count = u64::try_from(self.members.len()).unwrap_or(u64::MAX);
        let start = HashBuilder::new("holdpoint.transaction-content", 1).number(count);
        let digests = self.members.iter().map(|member| member.command.content_by(&origin.actor));
        digests.fold(start, |hash, digest| hash.digest(&digest)).finish()
    }

    fn check(&self, origin: &Origin, conditions: &Conditions) -> Result<(), Refusal> {
        if self.members.is_empty() || self.members.len() > MAX_MEMBERS {
            let found = format!("{}", self.members.len());
            let expected = "1 to 1024 members";
            return Err(Malformed { field: "members", expected, found }.into());
        }
        let expected_of_all = [
            (conditions.expected_version, "none: each member expects its own"),
            (self.expected_of_none, "behind the member that expects it"),
        ];
        for (version, expected) in expected_of_all {
            if let Some(version) = version {
                let (field, found) = ("expected_version", version.to_string());
                return Err(Malformed { field, expected, found }.into());
            }
        }
        self.members.iter().try_for_each(|Member { command, .. }| {
            check(origin, conditions, command)?;
            command.check_form()?;
            goes_with_others(command)
        })
    }
}

/// A [`Transaction`] that is being written down for an engine. Dropped, it was never anything.
///
/// ```
/// # use holdpoint_domain::application::RecordEvent;
/// # use holdpoint_engine::{Engine, Origin};
/// # use holdpoint_engine::shell::Conditions;
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let origin = Origin::automation("shop");
/// let paid = engine
///     .transaction(&origin)
///     .record(RecordEvent::new("order-1", "order.paid", "42"))
///     .expecting(0)
///     .record(RecordEvent::new("stock", "stock.taken", "1"))
///     .commit(Conditions::once("payment-7"))?;
/// assert_eq!(paid.receipt().map(|receipt| receipt.events.len()), Some(2));
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is recorded before it is committed"]
pub struct TransactionDraft<'a, S: Storage> {
    engine: &'a Engine<S>,
    origin: &'a Origin,
    transaction: Transaction,
}

impl<'a, S: Storage> TransactionDraft<'a, S> {
    pub(super) const fn new(engine: &'a Engine<S>, origin: &'a Origin) -> Self {
        Self { engine, origin, transaction: Transaction::new() }
    }

    /// See [`Transaction::submit`].
    pub fn submit(self, command: impl Into<Command>) -> Self {
        Self { transaction: self.transaction.submit(command), ..self }
    }

    /// See [`Transaction::record`].
    pub fn record(self, event: RecordEvent) -> Self {
        Self { transaction: self.transaction.record(event), ..self }
    }

    /// See [`Transaction::expecting`].
    pub fn expecting(self, version: u64) -> Self {
        Self { transaction: self.transaction.expecting(version), ..self }
    }

    /// See [`Engine::commit`].
    ///
    /// # Errors
    /// As [`Engine::commit`].
    pub fn commit(self, conditions: impl Into<Conditions>) -> Result<Submitted, SubmitError> {
        self.engine.commit(self.origin, conditions, &self.transaction)
    }
}

/// Refuses a command with a key of its own: it is carried out once for it, whatever is around it.
fn goes_with_others(command: &Command) -> Result<(), Refusal> {
    if command.own_key().is_none() {
        return Ok(());
    }
    let expected = "commands without a key of their own: submit this one alone";
    Err(Malformed { field: "members", expected, found: command.name().to_string() }.into())
}

/// Carries a transaction out in a turn of its own.
pub(super) fn begin<'a, S: Storage>(
    engine: &'a Core<S>,
    origin: &Origin,
    proof: Proof,
    conditions: &Conditions,
    transaction: &Transaction,
) -> Result<Begun<'a, S>, SubmitError> {
    if let Err(refusal) = transaction.check(origin, conditions) {
        return Ok(Begun::refused(engine, refusal));
    }
    // Files are read before the turn: nobody waits for them.
    let ready = |member: &Member| {
        let command = engine.identity.proven(&member.command, proof);
        let command = engine.with_numbers(command)?.into_owned();
        let floors = engine.floors_for(&command)?;
        Ok(Ready { command, floors, expected_version: member.expected_version })
    };
    let members = transaction.members.iter().map(ready);
    let members = members.collect::<Result<Vec<Ready>, SubmitError>>()?;
    for member in &members {
        if let Err(refusal) = engine.check_adopted(&member.command)? {
            return Ok(Begun::refused(engine, refusal));
        }
    }
    let idempotency = conditions.key.as_ref().map(|key| Idempotency {
        tenant: key.tenant.clone(),
        engine: key.engine.clone(),
        key: key.key.clone(),
        content: transaction.content(origin),
    });
    let by = By { origin, proof: Some(proof) };
    let idempotency = idempotency.as_ref();
    let batch = Batch { by, idempotency, conditions, members: &members };
    Begun::in_turn(engine, batch.level(engine), |turn| {
        let now = come_up_to_date(turn)?;
        batch.carry_out(turn, now)
    })
}

/// A member as it is carried out: with what is proven of who gives it, and what the machine
/// demands.
struct Ready {
    command: Command,
    floors: Floors,
    expected_version: Option<u64>,
}

/// A transaction in its turn.
#[derive(Clone, Copy)]
struct Batch<'a> {
    by: By<'a>,
    idempotency: Option<&'a Idempotency>,
    conditions: &'a Conditions,
    members: &'a [Ready],
}

/// Records to append, and the number of those that are no member's.
struct BatchRecords {
    envelopes: Vec<Envelope>,
    adopts: usize,
}

/// A member that is refused, by its place, and why.
type Refused = (usize, Refusal);

impl Batch<'_> {
    /// Returns the level of durability of the member that asks for most.
    fn level<S: Storage>(&self, engine: &Core<S>) -> Level {
        let levels = self.members.iter().map(|member| engine.level_of(&member.command));
        levels.fold(engine.level, |most, level| match level {
            Level::Witnessed => level,
            _ => most,
        })
    }

    /// The state goes ahead member by member, and back again where nothing comes of it.
    fn carry_out<S: Storage>(
        &self,
        turn: &mut Turn<'_, '_, S>,
        now: Reading,
    ) -> Result<Answer, SubmitError> {
        let now = moment_of_next(now, turn);
        if let Err(refusal) = check_cause(self.by.origin, turn.log.position().sequence) {
            return Ok(Answer::Refused(refusal));
        }
        match self.look(turn)? {
            Ok(Some(done)) => return done_before(turn, done),
            Ok(None) => {}
            Err(refused) => return self.refuse(turn, refused, now),
        }
        // A copy of the state is the way back. No member looks at streams, but for a fingerprint.
        let streams = (!self.states_fingerprint()).then(|| turn.hot.world.take_streams());
        let before = turn.hot.world.clone();
        let appended = match self.decide(turn, now) {
            Ok(Ok(mut made)) => {
                let first = turn.log.position().sequence.saturating_add(1);
                cause_escalations(first, &mut made.envelopes);
                append_made(turn, &made.envelopes, now).map(|appended| Ok((appended, made)))
            }
            Ok(Err(refused)) => Ok(Err(refused)),
            Err(error) => Err(error),
        };
        let (first, batch) = match &appended {
            Ok(Ok((appended, made))) => (appended.first_sequence, made.envelopes.as_slice()),
            Ok(Err(_)) | Err(_) => {
                turn.hot.world = before;
                (0, &[][..])
            }
        };
        if let Some(streams) = streams {
            let meanwhile = (first..).zip(batch.iter().map(|made| &made.event));
            turn.hot.world.give_streams_back(streams, meanwhile);
        }
        match appended? {
            Ok((appended, BatchRecords { envelopes, adopts })) => {
                let (appended, events) = asked_for(appended, envelopes, adopts);
                Ok(Answer::Accepted(receipt(&appended, now.at, events)))
            }
            Err(refused) => self.refuse(turn, refused, now),
        }
    }

    fn states_fingerprint(&self) -> bool {
        let is_one =
            |it: &Ready| matches!(it.command, Command::Log(LogCommand::RecordFingerprint(_)));
        self.members.iter().any(is_one)
    }

    /// Checks whether it was carried out before under its key, and whether what its members are
    /// about is still as their caller saw it: in the state before all of them.
    fn look<S: Storage>(
        &self,
        turn: &mut Turn<'_, '_, S>,
    ) -> Result<Result<Option<DoneBefore>, Refused>, SubmitError> {
        let (origin, mut key) = (self.by.origin, self.idempotency);
        for (place, member) in self.members.iter().enumerate() {
            // What no condition asks is recalled where the member is decided.
            if key.is_none() && member.expected_version.is_none() {
                continue;
            }
            let expected_version = member.expected_version;
            let conditions = Conditions { expected_version, ..Conditions::default() };
            let seen = conditions.seen(key);
            let found = recall::recall(turn, origin, seen, &member.command)?;
            if let Some(key) = key.take() {
                match receipt_of(&turn.hot.world, origin, &member.command, key, found.as_ref()) {
                    Ok(Some(receipt)) => return Ok(Ok(Some(DoneBefore::of(receipt)))),
                    Ok(None) => {}
                    Err(refusal) => return Ok(Err((place, refusal))),
                }
            }
            if let Err(refusal) = conditions.check_version(&turn.hot.world, &member.command) {
                return Ok(Err((place, refusal)));
            }
        }
        Ok(Ok(None))
    }

    /// Returns what is to be recorded; the state is ahead by that.
    fn decide<S: Storage>(
        &self,
        turn: &mut Turn<'_, '_, S>,
        now: Moment,
    ) -> Result<Result<BatchRecords, Refused>, SubmitError> {
        let mut sequence = turn.log.position().sequence;
        let mut go_on = |world: &mut World, made: &Envelope| {
            sequence = sequence.saturating_add(1);
            world.evolve_decided(sequence, now.at, made);
        };
        let clocked = |made: Envelope| Envelope { clock: now.stated_clock(), ..made };
        let mut envelopes: Vec<Envelope> =
            rules_first(&turn.hot.world).into_iter().map(clocked).collect();
        let adopts = envelopes.len();
        envelopes.iter().for_each(|made| go_on(&mut turn.hot.world, made));
        for (place, member) in self.members.iter().enumerate() {
            let events = match self.decide_member(turn, member, now)? {
                Ok(events) => events,
                Err(refusal) => return Ok(Err((place, refusal))),
            };
            for event in events {
                let made = clocked(envelope(&turn.hot.world, self.by, self.idempotency, event));
                go_on(&mut turn.hot.world, &made);
                envelopes.push(made);
            }
        }
        if envelopes.len() > adopts {
            let labels =
                labels_last(&turn.hot.world, turn, self.by, self.conditions, (&envelopes, adopts));
            let labels: Vec<Envelope> = labels.into_iter().map(clocked).collect();
            labels.iter().for_each(|made| go_on(&mut turn.hot.world, made));
            envelopes.extend(labels);
        }
        Ok(Ok(BatchRecords { envelopes, adopts }))
    }

    fn decide_member<S: Storage>(
        &self,
        turn: &mut Turn<'_, '_, S>,
        member: &Ready,
        now: Moment,
    ) -> Result<Result<Vec<Event>, Refusal>, SubmitError> {
        let (By { origin, proof }, command) = (self.by, &member.command);
        let free = Conditions::default();
        recall::recall(turn, origin, free.seen(None), command)?;
        let known = KeyLookup { idempotency: None, recalled: None };
        let asked =
            CommandRequest { by: self.by, command, floors: &member.floors, is_taken_up: false };
        let admitted =
            free.admit(&turn.hot.world, origin, proof, command, known).and_then(|done| {
                let done = done.map(|DoneBefore { first_sequence: sequence, .. }| sequence);
                let done = done.map(|sequence| CommonRefusal::AlreadyDone { sequence }.into());
                done.map_or(Ok(()), Err)
            });
        let admitted = admitted.map_err(|refusal| turn.engine.identity.explain(refusal));
        match admitted.and_then(|()| demanded(turn.engine, &turn.hot.world, asked, now.at)) {
            Ok(()) => recall::decide_knowing(turn, command, now),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Nothing is recorded but that a member was refused, where that is a fact.
    fn refuse<S: Storage>(
        &self,
        turn: &mut Turn<'_, '_, S>,
        (place, refusal): Refused,
        now: Moment,
    ) -> Result<Answer, SubmitError> {
        if let Some(member) = self.members.get(place) {
            record_refusal(turn, self.by, &member.command, &refusal, now)?;
        }
        Ok(Answer::Refused(refusal))
    }
}
