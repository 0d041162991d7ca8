//! Content of an index for a record. Its terms, by which it is looked up: what it is about, whose
//! it is, who did it, what kind it is of, what caused it, and under which idempotency key. And its
//! row, where it says something of a run or asks a question: rows tell which runs a list can want,
//! and which ids begin with some digits.
//!
//! An index knows a term by its canonical bytes alone, and believes that different terms have
//! different ones. So the first byte says which term it is, what varies in length is preceded by
//! its length, and everything else has a fixed width.
//!
//! A row is what one record says, and no more: whether the rules allow the record, and what became
//! of the run, its records tell. `log-format/index/INDEX.md`, section 8, has the rows.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use arrayvec::ArrayString;
use serde::{Deserialize, Serialize};

use crate::core::actor::Actor;
use crate::core::codec::{BodyWriter, read_first};
use crate::core::payload::{List, Text};
use crate::core::text::bounded;
use crate::decision_point::event::DecisionPointEvent;
use crate::evidence_capture::types::StopCondition;
use crate::execution_loop::event::ExecutionLoopEvent;
use crate::execution_loop::types::{Exit, HaltReason};
use crate::human_decision::event::HumanDecisionEvent;
use crate::human_decision::types::HumanDecision;
use crate::log::event::{Label, LogEvent, MAX_LABELS, RecordsLabelled};
use crate::registration::event::RegistrationEvent;
use crate::sandbox_fault::types::ExecutionFaultType;
use crate::world::envelope::{Envelope, decode};
use crate::world::event::Event;

/// Version of the rules by which records are given terms and rows. A change to [`terms_of`], to a
/// term's canonical bytes or to a [`RowFact`] raises it: indexes made by other rules are then built
/// again. The format of indexes is raised with it, for where the log states two indexes of one
/// segment in one format, neither is believed.
pub const TERMS_VERSION: u32 = 5;

/// Key that a record can be looked up by. Closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term<'a> {
    /// A loop, by its id.
    Loop(&'a str),
    /// A request to a person, by its id.
    Request(&'a str),
    /// A decision point, by its id.
    DecisionPoint(&'a str),
    /// An interruption thread.
    Thread {
        /// Its tenant.
        tenant: &'a str,
        /// Its correlation.
        correlation: &'a str,
    },
    /// A tenant whose users, devices, sessions, work orders or leases the record registers.
    Tenant(&'a str),
    /// A session, as it is registered.
    Session {
        /// Its tenant.
        tenant: &'a str,
        /// Its name.
        session: &'a str,
    },
    /// A work order, as it is registered.
    WorkOrder {
        /// Its tenant.
        tenant: &'a str,
        /// Its name.
        work_order: &'a str,
    },
    /// A stream of the application.
    Stream(&'a str),
    /// Subject of a command that was refused: the id of whatever it named.
    Refused(&'a str),
    /// The story that the record belongs to.
    Correlation(&'a str),
    /// Actor that did it.
    Actor {
        /// Kind of the actor.
        kind: Actor,
        /// The name.
        id: &'a str,
    },
    /// The kind of event, by its number in the registry.
    Kind(u16),
    /// The record that caused it.
    CausedBy(u64),
    /// An idempotency key, within its scope.
    Key {
        /// Tenant whose keys these are.
        tenant: &'a str,
        /// Engine that issued the command.
        engine: &'a str,
        /// The envelope's correlation.
        correlation: &'a str,
        /// The key itself.
        key: &'a str,
    },
}

impl Term<'_> {
    /// Appends the term's canonical bytes to `out`. No two terms have the same.
    pub fn write(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Loop(id) => put(out, 1, &[id]),
            Self::Request(id) => put(out, 2, &[id]),
            Self::DecisionPoint(id) => put(out, 3, &[id]),
            Self::Thread { tenant, correlation } => put(out, 4, &[tenant, correlation]),
            Self::Tenant(id) => put(out, 5, &[id]),
            Self::Refused(id) => put(out, 6, &[id]),
            Self::Correlation(correlation) => put(out, 7, &[correlation]),
            Self::Actor { kind, id } => put(out, 8, &[kind.name(), id]),
            Self::Kind(kind) => {
                out.push(9);
                out.extend_from_slice(&kind.to_le_bytes());
            }
            Self::Key { tenant, engine, correlation, key } => {
                put(out, 10, &[tenant, engine, correlation, key]);
            }
            Self::Session { tenant, session } => put(out, 11, &[tenant, session]),
            Self::WorkOrder { tenant, work_order } => put(out, 12, &[tenant, work_order]),
            Self::Stream(stream) => put(out, 13, &[stream]),
            Self::CausedBy(sequence) => {
                out.push(14);
                out.extend_from_slice(&sequence.to_le_bytes());
            }
        }
    }

    /// The term's canonical bytes.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes
    }

    /// Returns whether it is an idempotency key, which has an index of its own.
    #[must_use]
    pub const fn is_key(&self) -> bool {
        matches!(self, Self::Key { .. })
    }
}

/// A byte that says which term it is, then each text behind its length.
fn put(out: &mut Vec<u8>, tag: u8, texts: &[&str]) {
    out.push(tag);
    for text in texts {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
}

/// Every term of a record, in no particular order; one may come twice.
pub fn terms_of(envelope: &Envelope, each: &mut dyn FnMut(Term<'_>)) {
    let Envelope { actor, correlation, causation, event, .. } = envelope;
    entities_of(event, each);
    each(Term::Correlation(correlation));
    each(Term::Actor { kind: actor.kind, id: &actor.id });
    each(Term::Kind(event.kind().kind));
    if let Some(cause) = causation {
        each(Term::CausedBy(*cause));
    }
    if let Some(idempotency) = &envelope.idempotency {
        let (tenant, engine) = (&idempotency.tenant, &idempotency.engine);
        each(Term::Key { tenant, engine, correlation, key: &idempotency.key });
    }
}

/// [`terms_of`] a record as it lies in the log, each by its canonical bytes and whether it is an
/// idempotency key. What is opaque has its kind. A payload that this program cannot read has no
/// terms: there is nothing in it that could be looked up. One that was withheld must not be given.
pub fn terms_of_record(kind: u16, version: u8, payload: &[u8], each: &mut dyn FnMut(&[u8], bool)) {
    let mut canonical = Vec::new();
    let mut write = |term: Term<'_>| {
        canonical.clear();
        term.write(&mut canonical);
        each(&canonical, term.is_key());
    };
    match decode(kind, version, payload) {
        Ok(envelope) => terms_of(&envelope, &mut write),
        Err(unread) if unread.is_opaque() => write(Term::Kind(kind)),
        Err(_) => {}
    }
}

/// Passes to `each` what an event is about.
fn entities_of(event: &Event, each: &mut dyn FnMut(Term<'_>)) {
    if let Some(loop_id) = event.loop_id() {
        each(Term::Loop(loop_id));
    }
    if let Some(request_id) = request_of(event) {
        each(Term::Request(request_id));
    }
    if let Some(decision_id) = event.decision_point() {
        each(Term::DecisionPoint(decision_id));
    }
    if let Some(stream) = event.stream() {
        each(Term::Stream(stream));
    }
    if let Some((tenant, correlation)) = event.thread() {
        each(Term::Thread { tenant, correlation });
    }
    if let Event::Registration(event) = event {
        let tenant = event.tenant().map(Term::Tenant);
        tenant.into_iter().chain(term_of_registration(event)).for_each(&mut *each);
    }
    if let Event::Log(LogEvent::CommandRefused(body)) = event
        && let Some(subject) = &body.subject
    {
        each(Term::Refused(subject));
    }
}

/// The request to a person that an event is about.
#[must_use]
pub fn request_of(event: &Event) -> Option<&str> {
    let Event::HumanDecision(event) = event else { return None };
    Some(event.request_id())
}

/// The term of the loop, request or decision point that begins with an event, under an id that
/// nothing else ever has.
#[must_use]
pub fn term_of_new(event: &Event) -> Option<Term<'_>> {
    if let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = event {
        return Some(Term::Loop(&body.loop_id));
    }
    if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
        return Some(Term::Request(&body.request.request_id));
    }
    let Event::DecisionPoint(
        event @ (DecisionPointEvent::DecisionPointCreated(_) | DecisionPointEvent::RoundOpened(_)),
    ) = event
    else {
        return None;
    };
    Some(Term::DecisionPoint(event.decision_id()))
}

/// The id of the question that an event asks: of a round of a decision point, or of a request.
fn question_of(event: &Event) -> Option<&str> {
    match term_of_new(event) {
        Some(Term::DecisionPoint(id) | Term::Request(id)) => Some(id),
        _ => None,
    }
}

/// The term of the session or the work order that an event registers.
pub(crate) fn term_of_registration(event: &RegistrationEvent) -> Option<Term<'_>> {
    if let RegistrationEvent::SessionRegistered(body) = event {
        return Some(Term::Session { tenant: &body.tenant_id, session: &body.session_id });
    }
    let RegistrationEvent::WorkOrderRegistered(body) = event else { return None };
    Some(Term::WorkOrder { tenant: &body.tenant_id, work_order: &body.work_order_id })
}

/// Bytes of a command line that are kept at most.
pub const COMMAND_KEPT_BYTES: usize = 1_024;

/// The kinds of records that have a row.
const KINDS: [u16; 10] = [15, 32, 33, 35, 36, 128, 131, 192, 195, 197];

/// Returns whether records of a kind may begin a run or ask a question: no others have a row of
/// [`RowKind::Began`] or [`RowKind::Asked`].
#[must_use]
pub const fn kind_may_begin(kind: u16) -> bool {
    matches!(kind, 32 | 128 | 192 | 195)
}

/// Prefix of every id of a loop that a program of ours makes.
const LOOP: &str = "LOOP-";

/// Prefix of every id of a decision point that a program of ours makes.
const DECISION: &str = "DP-";

/// Prefix of every id of a request that a program of ours makes.
const REQUEST: &str = "REQ-";

/// The bits of an id that a program of ours made: they stand in it as 32 hexadecimal digits.
fn made(id: &str, beginning: &str) -> Option<[u8; 16]> {
    let digits = id.strip_prefix(beginning).filter(|digits| digits.len() == 32)?;
    let mut bits = [0; 16];
    base16ct::lower::decode(digits, &mut bits).ok()?.first_chunk().copied()
}

/// The id that a program of ours makes of bits.
fn id_of(beginning: &str, bits: &[u8; 16]) -> String {
    alloc::format!("{beginning}{}", base16ct::lower::encode_string(bits))
}

/// Looks at the id that a program of ours makes of the first bits of a row: it is put together for
/// very many rows of which hardly one is wanted.
fn of_bits<T>(beginning: &str, row: &[u8], look: impl FnOnce(&str) -> T) -> Option<T> {
    let bits: &[u8; 16] = row.first_chunk()?;
    let (mut digits, mut id) = ([0; 32], ArrayString::<40>::new());
    let digits = base16ct::lower::encode_str(bits, &mut digits).ok()?;
    id.try_push_str(beginning).ok()?;
    id.try_push_str(digits).ok()?;
    Some(look(&id))
}

/// One of these stands in the row of whatever has an id that begins in one of these ways.
#[must_use]
pub fn written_in_rows<'b>(beginnings: impl Iterator<Item = &'b str>) -> BTreeSet<Vec<u8>> {
    let mut written = BTreeSet::new();
    for beginning in beginnings {
        let known = [LOOP, DECISION, REQUEST];
        let all = known.iter().any(|prefix| prefix.starts_with(beginning)).then_some("");
        let behind = known.iter().find_map(|prefix| beginning.strip_prefix(prefix));
        let text = all.or(behind).unwrap_or(beginning);
        let bits = text.get(..text.len() & !1).and_then(|it| base16ct::lower::decode_vec(it).ok());
        written.extend(bits.into_iter().chain([text.as_bytes().to_vec()]));
    }
    written
}

/// A run, by the id of its loop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RunKey {
    /// `LOOP-` and these bits as 32 hexadecimal digits.
    Made([u8; 16]),
    /// Any other id.
    Named(Text),
}

impl RunKey {
    /// Makes the term of a loop's id.
    #[must_use]
    pub fn of(loop_id: &str) -> Self {
        match made(loop_id, LOOP) {
            Some(bits) => Self::Made(bits),
            None => Self::Named(loop_id.into()),
        }
    }

    /// The loop's id.
    #[must_use]
    pub fn loop_id(&self) -> String {
        match self {
            Self::Made(bits) => id_of(LOOP, bits),
            Self::Named(id) => id.as_str().into(),
        }
    }
}

/// A question to a person, by its id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum QuestionKey {
    /// A decision point: `DP-` and these bits as 32 hexadecimal digits.
    Decision([u8; 16]),
    /// A request: `REQ-` and these bits as 32 hexadecimal digits.
    Request([u8; 16]),
    /// Any other id.
    Named(Text),
}

impl QuestionKey {
    /// Makes the term of a decision point's id or a request's.
    #[must_use]
    pub fn of(id: &str) -> Self {
        let request = || made(id, REQUEST).map(Self::Request);
        let known = made(id, DECISION).map(Self::Decision).or_else(request);
        known.unwrap_or_else(|| Self::Named(id.into()))
    }

    /// The id.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Decision(bits) => id_of(DECISION, bits),
            Self::Request(bits) => id_of(REQUEST, bits),
            Self::Named(id) => id.as_str().into(),
        }
    }
}

/// Statement of one record about a run or the approval of one, or the question that it asks.
/// Closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowFact {
    /// It began.
    Began {
        /// Run that it is about.
        run: RunKey,
        /// Actor that began it.
        by: Text,
        /// The decision point whose approval it spends.
        approval: Option<Text>,
        /// The command, [`COMMAND_KEPT_BYTES`] of it at most.
        command: Text,
        /// True if there is more of it.
        is_cut: bool,
    },
    /// Another attempt began: how the process of the last one ended is not that of this one.
    Again {
        /// Run that it is about.
        run: RunKey,
    },
    /// The process of an attempt ended.
    Exited {
        /// Run that it is about.
        run: RunKey,
        /// End of its process.
        exit: Exit,
    },
    /// It halted.
    Halted {
        /// Run that it is about.
        run: RunKey,
        /// Why.
        reason: HaltReason,
        /// The stop condition, where that is the reason.
        stop_condition: Option<StopCondition>,
        /// The fault, where that is the reason.
        fault_type: Option<ExecutionFaultType>,
    },
    /// Somebody let it go on.
    Agreed {
        /// Run that it is about.
        run: RunKey,
        /// Actor that did it.
        by: Text,
    },
    /// It has labels.
    Labelled {
        /// Run that it is about.
        run: RunKey,
        /// [`label_hash`] of each.
        labels: List<u64, MAX_LABELS>,
    },
    /// Somebody answered a decision point.
    Answered {
        /// Decision that it is about.
        decision_id: Text,
        /// Actor that did it.
        by: Text,
    },
    /// A question was put to people: a round of a decision point, or a request.
    Asked {
        /// Question that it is about.
        question: QuestionKey,
    },
}

/// The kinds of rows, each a variant of [`RowFact`], in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// [`RowFact::Began`].
    Began,
    /// [`RowFact::Again`].
    Again,
    /// [`RowFact::Exited`].
    Exited,
    /// [`RowFact::Halted`].
    Halted,
    /// [`RowFact::Agreed`].
    Agreed,
    /// [`RowFact::Labelled`].
    Labelled,
    /// [`RowFact::Answered`].
    Answered,
    /// [`RowFact::Asked`].
    Asked,
}

impl RowKind {
    /// Every kind, by the byte that a row begins with.
    pub const ALL: [Self; 8] = [
        Self::Began,
        Self::Again,
        Self::Exited,
        Self::Halted,
        Self::Agreed,
        Self::Labelled,
        Self::Answered,
        Self::Asked,
    ];

    /// Reads the fact of a row as an index keeps it; `None` where it is of none.
    #[must_use]
    pub fn of(row: &[u8]) -> Option<Self> {
        Self::ALL.get(usize::from(*row.first()?)).copied()
    }
}

/// 64 bits by which a label is known.
#[must_use]
pub fn label_hash(name: &str, value: &str) -> u64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(name.as_bytes()).update(&[0]).update(value.as_bytes());
    hasher.finalize().as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl RowFact {
    /// Returns what an envelope's event says.
    #[must_use]
    pub fn of(envelope: &Envelope) -> Option<Self> {
        match &envelope.event {
            Event::ExecutionLoop(event) => Self::of_loop(envelope, event),
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) => {
                let goes_on = [HumanDecision::Continue, HumanDecision::Retry];
                let run = RunKey::of(&body.loop_id);
                let agreed = goes_on.contains(&body.record.decision);
                agreed.then(|| Self::Agreed { run, by: body.record.human_id.as_str().into() })
            }
            Event::DecisionPoint(DecisionPointEvent::DecisionPointResolved(body)) => {
                let (decision_id, by) = (body.decision_id.clone(), (*body.by.id).into());
                Some(Self::Answered { decision_id, by })
            }
            Event::Log(LogEvent::RecordsLabelled(body)) => Self::of_labels(body),
            event @ (Event::HumanDecision(_) | Event::DecisionPoint(_)) => {
                question_of(event).map(|id| Self::Asked { question: QuestionKey::of(id) })
            }
            Event::Log(_)
            | Event::EvidenceCapture(_)
            | Event::SandboxFault(_)
            | Event::Registration(_)
            | Event::InterruptionThread(_)
            | Event::Application(_) => None,
        }
    }

    fn of_loop(envelope: &Envelope, event: &ExecutionLoopEvent) -> Option<Self> {
        let run = RunKey::of(event.loop_id());
        Some(match event {
            ExecutionLoopEvent::LoopInitialized(body) => {
                let command = bounded(&body.command_line, COMMAND_KEPT_BYTES);
                Self::Began {
                    run,
                    by: (*envelope.actor.id).into(),
                    approval: body.approval.clone(),
                    command: command.into(),
                    is_cut: command.len() < body.command_line.len(),
                }
            }
            ExecutionLoopEvent::LoopDispatched(body) if body.attempt > 1 => Self::Again { run },
            ExecutionLoopEvent::ResponseEvaluated(body) => Self::Exited { run, exit: body.exit },
            ExecutionLoopEvent::LoopHalted(body) => Self::Halted {
                run,
                reason: body.reason,
                stop_condition: body.stop_condition,
                fault_type: body.fault_type,
            },
            ExecutionLoopEvent::LoopDispatched(_) | ExecutionLoopEvent::ResponseAwaited(_) => {
                return None;
            }
        })
    }

    fn of_labels(body: &RecordsLabelled) -> Option<Self> {
        let run = RunKey::of(body.loop_id.as_deref()?);
        let hash = |label: &Label| label_hash(&label.name, &label.value);
        Some(Self::Labelled { run, labels: body.labels.iter().map(hash).collect() })
    }

    /// Encodes it as an index keeps it.
    #[must_use]
    pub fn encode(&self) -> Option<Vec<u8>> {
        BodyWriter(Vec::new()).write(self).ok().map(|written| written.0)
    }

    /// Looks at the id of the run or the question that begins with the record of a row; `None`
    /// where none does. No more of the row is read.
    pub fn id_begun<T>(row: &[u8], look: impl FnOnce(&str) -> T) -> Option<T> {
        // The kind of a fact comes first, as one byte, and what it is about comes next.
        match row {
            [0, 0, bits @ ..] => of_bits(LOOP, bits, look),
            [7, 0, bits @ ..] => of_bits(DECISION, bits, look),
            [7, 1, bits @ ..] => of_bits(REQUEST, bits, look),
            [0, rest @ ..] => {
                read_first(rest).ok().map(|(run, _): (RunKey, _)| look(&run.loop_id()))
            }
            [7, rest @ ..] => {
                read_first(rest).ok().map(|(asked, _): (QuestionKey, _)| look(&asked.id()))
            }
            _ => None,
        }
    }

    /// Decodes what an index keeps; `None` where it is none of these.
    #[must_use]
    pub fn decode(row: &[u8]) -> Option<Self> {
        read_first(row).ok().filter(|(_, length)| *length == row.len()).map(|(fact, _)| fact)
    }
}

/// The row of a record as it lies in the log, where it has one. One that was withheld must not be
/// given.
#[must_use]
pub fn row_of_record(kind: u16, version: u8, payload: &[u8]) -> Option<Vec<u8>> {
    if !KINDS.contains(&kind) {
        return None;
    }
    RowFact::of(&decode(kind, version, payload).ok()?)?.encode()
}
