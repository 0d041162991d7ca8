//! A run: one execution loop as the records about it tell it, found without reading the log whole.
//!
//! The records about a loop, and those of the decision point whose approval began it, are applied
//! to a state of their own. So a run is told by the rules that the live state follows; what the
//! policy of the log allowed is for [`verify`](crate::verify()) to judge.

use crate::begun_twice::{BegunOnce, BegunTwice};
use crate::captured_output::{CapturedOutput, Outputs};
use crate::evidence_copies::{CommandCopies, CommandCopy, holds_instruction};
use crate::interrupted::Interrupted;
use crate::read::{ReadError, ReadOptions};
use crate::recorder_notes::{TerminalSize, ran_at_most};
use crate::records::{
    Filter, Line, NewestQuery, OneOf, Order, Searched, ids_beginning_with, search, search_asking,
    search_only,
};
use holdpoint_domain::core::actor::Authentication;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointEvent};
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceCaptured, OutputStream};
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, Exit, HaltReason, OnFull};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::HumanDecision;
use holdpoint_domain::log::{Label, LogEvent};
use holdpoint_domain::world::term_of_new;
use holdpoint_domain::{ActorId, Envelope, Event, Proof, World};
use holdpoint_log_files::{ReadStorage, Standing};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Actor of something, and what the process that recorded it could prove of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doer {
    /// Actor.
    pub actor: ActorId,
    /// `None` in records that state none.
    pub proof: Option<Proof>,
    /// Proof of the record that says so.
    pub standing: Standing,
}

impl Doer {
    pub(crate) fn of(line: &Line, actor: ActorId, standing: Standing) -> Self {
        Self { actor, proof: line.proof, standing }
    }
}

/// Returns what is proven of the weakest of some records.
pub(crate) fn weakest(doers: &BTreeMap<u64, Doer>) -> Standing {
    let all = || doers.values().map(|doer| doer.standing);
    [Standing::Unproven, Standing::Unwitnessed]
        .into_iter()
        .find(|weak| all().any(|standing| standing == *weak))
        .unwrap_or(Standing::Proven)
}

/// A record as a state is made from it.
pub(crate) fn envelope_of(line: &Line, actor: ActorId, event: Event) -> Envelope {
    Envelope {
        clock: None,
        actor,
        proof: line.proof,
        correlation: line.correlation.clone().unwrap_or_default(),
        causation: line.causation,
        idempotency: None,
        event,
    }
}

/// One run.
#[derive(Clone)]
pub struct Run {
    /// The loop, as its records give it.
    pub entity: ExecutionLoop,
    /// The approval that was spent for its start, as it was then.
    pub approval: Option<Box<DecisionPoint>>,
    /// Actors that wrote each record about it and about its approval, by sequence.
    pub doers: BTreeMap<u64, Doer>,
    /// The exact instruction as it was recorded; empty where it is not on record, or was not asked
    /// for.
    pub instruction: Vec<u8>,
    /// The command of its first attempt, and of each that was given another one, by attempt.
    pub commands: BTreeMap<u8, String>,
    /// Relation of each of them to the envelope that was hashed.
    pub copies: BTreeMap<u8, CommandCopy>,
    /// Its output, in the order of the records, where it was asked for.
    pub outputs: Vec<CapturedOutput>,
    /// The first record about it.
    pub first: u64,
    /// The last record about it.
    pub last: u64,
    /// The record that the one which begins it names as its cause.
    pub cause: Option<u64>,
    /// The records of it whose payload was withheld or cannot be read.
    pub unread: Vec<u64>,
    /// Its labels, which are claims, by name.
    pub labels: BTreeMap<String, String>,
    /// The signal that ended it, where one did and its recorder wrote down who sent it.
    pub interrupted: Option<Interrupted>,
    /// The size of the terminal of each attempt that had one of its own.
    pub terminals: BTreeMap<u8, TerminalSize>,
    /// The most that each attempt ran, in nanoseconds, that ended while its recorder and its guard
    /// were stopped: nobody knows how long it did.
    pub ran_at_most: BTreeMap<u8, u64>,
    /// The attempt and number of the newest entry of its own file that the log has.
    pub taken_up: Option<(u8, u64)>,
    /// True if the records of its end were taken up from its own file: their time is later than it.
    pub is_end_taken_up: bool,
    /// Effect that a full disk was to have on the command of each attempt, where its recorder said
    /// so.
    pub on_full: BTreeMap<u8, OnFull>,
    /// True if a process with a file of its own records it, or did: its start names a key.
    pub has_recorder_key: bool,
}

/// Somebody who said yes to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approver<'r> {
    /// The name.
    pub id: &'r str,
    /// True if nothing proves it.
    pub is_claim: bool,
}

/// Marks for programs on commands of a run that nothing proves to be what was hashed.
#[derive(Debug, Serialize)]
pub struct CommandClaims<'r> {
    /// Tells whether there is one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    command_claimed: bool,
    /// The commands that were hashed in the place of those that are stated, by attempt.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hashed_commands: BTreeMap<u8, &'r str>,
}

/// Outcome of looking for a run.
pub enum RunLookup {
    /// The run.
    Run(Box<Run>),
    /// No record is about it.
    Nothing,
    /// There are records about it, from this one on, and none of them begins it: those are
    /// withheld, in an archive that is not read, or the rules forbid its beginning.
    NoBeginning(u64),
    /// Several records begin it.
    BegunTwice(BegunTwice),
}

/// Finds the run of a loop, with what was kept of its output, and says how much was read for it.
///
/// # Errors
/// As [`crate::verify()`].
pub fn run_of<S: ReadStorage>(
    storage: &S,
    loop_id: &str,
    options: ReadOptions<'_>,
) -> Result<(RunLookup, Searched), ReadError> {
    let about = Filter { loop_id: Some(loop_id.to_string()), ..Filter::default() };
    let asked = NewestQuery::about(&BTreeSet::new());
    let mut told = RunReader::by(storage, options);
    let mut take = |line: Line, standing| told.take(line, standing);
    let searched = search_asking(storage, &about, &asked, options, &mut take)?;
    told.found(loop_id, searched)
}

/// The runs and the questions whose ids begin in some way.
pub struct IdMatches {
    /// The ids.
    pub ids: BTreeSet<String>,
    /// The run, where it is the only one of them, and was met while they were looked for.
    pub run: Option<RunLookup>,
    /// Extent of what was read.
    pub searched: Searched,
}

/// Looks for what [`ids_beginning_with`] does and for the run that it may be, in one reading where
/// indexes and the newest segment alone tell.
///
/// # Errors
/// As [`crate::verify()`].
pub fn run_beginning_with<S: ReadStorage>(
    storage: &S,
    beginnings: &BTreeSet<String>,
    options: ReadOptions<'_>,
) -> Result<IdMatches, ReadError> {
    let mut told = RunReader::by(storage, options);
    let mut take = |line: Line, standing| told.take(line, standing);
    let Some((ids, searched)) = search_only(storage, beginnings, options, &mut take)? else {
        let (ids, searched) = ids_beginning_with(storage, beginnings, options)?;
        return Ok(IdMatches { ids, run: None, searched });
    };
    let Some(id) = ids.first().filter(|_| told.gathered.ends.is_some()).cloned() else {
        return Ok(IdMatches { ids, run: None, searched });
    };
    let (run, searched) = told.found(&id, searched)?;
    Ok(IdMatches { ids, run: Some(run), searched })
}

/// A run as its records are met.
struct RunReader<'t, S> {
    storage: &'t S,
    options: ReadOptions<'t>,
    gathered: Gathered,
    failed: Option<ReadError>,
    also_read: Option<Searched>,
}

impl<'t, S: ReadStorage> RunReader<'t, S> {
    fn by(storage: &'t S, options: ReadOptions<'t>) -> Self {
        let gathered = Gathered::keeping_output();
        Self { storage, options, gathered, failed: None, also_read: None }
    }

    fn take(&mut self, line: Line, standing: Standing) -> ControlFlow<()> {
        if let Some(approval) = approval_of(&line) {
            let asked = [approval.to_string()].into();
            match Approvals::read(self.storage, asked, line.sequence, self.options) {
                Ok(mut read) => {
                    self.gathered.approved(approval, &read, line.sequence);
                    self.also_read = read.searched.take();
                }
                Err(error) => self.failed = Some(error),
            }
        }
        self.gathered.take(line, standing);
        if self.failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The run, when all was met.
    fn found(
        self,
        loop_id: &str,
        mut searched: Searched,
    ) -> Result<(RunLookup, Searched), ReadError> {
        self.failed.map_or(Ok(()), Err)?;
        self.also_read.into_iter().for_each(|also_read| searched.join(also_read));
        Ok((self.gathered.into_run(loop_id), searched))
    }
}

/// The approval that is spent for the loop which a record begins.
pub(crate) fn approval_of(line: &Line) -> Option<&str> {
    match &line.event {
        Some(Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body))) => {
            body.approval.as_ref().map(|id| id.as_str())
        }
        _ => None,
    }
}

/// The records of decision points and of the rounds before them.
#[derive(Default)]
pub(crate) struct Approvals {
    records: BTreeMap<String, Vec<(Line, Standing)>>,
    /// The round before, by the id of the one that followed it.
    prior: BTreeMap<String, String>,
    /// Search that was made for them; `None`: nothing had to be read.
    pub(crate) searched: Option<Searched>,
}

impl Approvals {
    /// Those of some decision points, up to a record.
    pub(crate) fn read<S: ReadStorage>(
        storage: &S,
        mut due: BTreeSet<String>,
        last: u64,
        options: ReadOptions<'_>,
    ) -> Result<Self, ReadError> {
        let mut read = Self::default();
        let mut asked = BTreeSet::new();
        while !due.is_empty() {
            asked.extend(due.iter().cloned());
            let one_of = Some(OneOf::Decisions(due));
            let about = Filter { one_of, last: Some(last), ..Filter::default() };
            let mut take = |line, standing| {
                read.take(line, standing);
                ControlFlow::Continue(())
            };
            let searched =
                search(storage, &about, Order::OldestFirst, options, &mut |_| {}, &mut take)?;
            match &mut read.searched {
                Some(before) => before.join(searched),
                none => *none = Some(searched),
            }
            // Whoever writes a log may make rounds follow each other in a circle.
            due = read.prior.values().filter(|id| !asked.contains(*id)).cloned().collect();
        }
        Ok(read)
    }

    fn take(&mut self, line: Line, standing: Standing) {
        if let Some(Event::DecisionPoint(DecisionPointEvent::RoundOpened(body))) = &line.event {
            self.prior.insert(body.decision_id.to_string(), body.prior_id.to_string());
        }
        if let Some(id) = line.decision_id.clone() {
            self.records.entry(id).or_default().push((line, standing));
        }
    }

    /// The records of one of them and of the rounds before it, before a record, in their order;
    /// none where one of those began twice: nobody can tell which of them are about which.
    pub(crate) fn before(&self, decision_id: &str, sequence: u64) -> Vec<&(Line, Standing)> {
        let (mut rounds, mut due) = (BTreeSet::new(), Some(decision_id));
        while let Some(id) = due.filter(|id| rounds.insert(*id)) {
            due = self.prior.get(id).map(String::as_str);
        }
        let of = |id: &str| self.records.get(id).into_iter().flatten();
        let all = rounds.into_iter().flat_map(of);
        let mut before: Vec<_> = all.filter(|(line, _)| line.sequence < sequence).collect();
        before.sort_by_key(|(line, _)| line.sequence);
        let mut begun = BTreeSet::new();
        let mut new = before.iter().filter_map(|(line, _)| term_of_new(line.event.as_ref()?));
        let begins_once = new.all(|term| begun.insert(term.canonical()));
        if begins_once { before } else { Vec::new() }
    }

    /// One of them as it was before a record.
    pub(crate) fn point(&self, decision_id: &str, sequence: u64) -> Option<DecisionPoint> {
        let mut world = World::default().keeping_settled();
        for (line, _) in self.before(decision_id, sequence) {
            if let (Some(actor), Some(event)) = (line.actor.clone(), line.event.clone()) {
                world.evolve(line.sequence, line.time, &envelope_of(line, actor, event));
            }
        }
        world.decision_point(decision_id).cloned()
    }
}

/// Facts that the records of a run come to so far.
pub(crate) struct Gathered {
    world: World,
    approval: Option<Box<DecisionPoint>>,
    keeps_output: bool,
    doers: BTreeMap<u64, Doer>,
    instruction: Vec<u8>,
    outputs: Outputs,
    attempt: u8,
    ends: Option<(u64, u64)>,
    /// The records that begin it.
    begun: Vec<u64>,
    cause: Option<u64>,
    unread: Vec<u64>,
    labels: BTreeMap<String, String>,
    interrupted: Option<Interrupted>,
    terminals: BTreeMap<u8, TerminalSize>,
    ran_at_most: BTreeMap<u8, u64>,
    taken_up: Option<(u8, u64)>,
    is_end_taken_up: bool,
    has_recorder_key: bool,
    on_full: BTreeMap<u8, OnFull>,
    commands: BTreeMap<u8, String>,
    copies: (CommandCopies, BTreeMap<u8, CommandCopy>),
}

impl Default for Gathered {
    fn default() -> Self {
        Self {
            world: World::default().keeping_settled(),
            approval: None,
            keeps_output: false,
            doers: BTreeMap::new(),
            instruction: Vec::new(),
            outputs: Outputs::default(),
            attempt: 0,
            ends: None,
            begun: Vec::new(),
            cause: None,
            unread: Vec::new(),
            labels: BTreeMap::new(),
            interrupted: None,
            terminals: BTreeMap::new(),
            ran_at_most: BTreeMap::new(),
            taken_up: None,
            is_end_taken_up: false,
            has_recorder_key: false,
            on_full: BTreeMap::new(),
            commands: BTreeMap::new(),
            copies: Default::default(),
        }
    }
}

impl Gathered {
    fn keeping_output() -> Self {
        Self { keeps_output: true, ..Self::default() }
    }

    /// Takes what led to the approval that the loop begins with, before the record that begins it.
    pub(crate) fn approved(&mut self, approval: &str, read: &Approvals, sequence: u64) {
        for (line, standing) in read.before(approval, sequence) {
            self.apply(line, line.event.clone(), *standing);
        }
        self.approval = self.world.decision_point(approval).cloned().map(Box::new);
    }

    /// The next record about the loop.
    pub(crate) fn take(&mut self, mut line: Line, standing: Standing) {
        let first = self.ends.map_or(line.sequence, |(first, _)| first);
        self.ends = Some((first, line.sequence));
        let Some(event) = line.event.take() else { return self.unread.push(line.sequence) };
        if line.taken_up.is_some() {
            self.taken_up = self.taken_up.max(line.taken_up);
            self.is_end_taken_up |=
                matches!(event, Event::ExecutionLoop(_) | Event::SandboxFault(_));
        }
        if self.keeps_output {
            self.outputs.take(&event, line.sequence, standing);
        }
        let (copies, compared) = &mut self.copies;
        compared.extend(copies.take(&event));
        match &event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => {
                self.commands.insert(1, body.command_line.to_string());
                self.begun.push(line.sequence);
                self.cause = line.causation;
            }
            Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => {
                self.attempt = body.attempt;
                self.is_end_taken_up = false;
                let next = body.instruction.as_ref().map(|next| next.command_line.to_string());
                self.commands.extend(next.map(|command| (body.attempt, command)));
            }
            Event::ExecutionLoop(ExecutionLoopEvent::ResponseAwaited(body)) => {
                self.has_recorder_key |= body.recorder_key.is_some();
                self.on_full.extend(body.on_full.map(|on_full| (body.attempt, on_full)));
            }
            Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) => {
                self.take_evidence(body);
            }
            // Labels are those of the batch in which the run began; others are of another one.
            Event::Log(LogEvent::RecordsLabelled(body)) if body.first_sequence <= first => {
                let label = |label: &Label| (label.name.to_string(), label.value.to_string());
                self.labels.extend(body.labels.iter().map(label));
            }
            _ => {}
        }
        self.apply(&line, Some(event), standing);
    }

    fn take_evidence(&mut self, body: &EvidenceCaptured) {
        self.interrupted = Interrupted::of(body).or(self.interrupted);
        self.terminals.extend(TerminalSize::of(body).map(|size| (self.attempt, size)));
        self.ran_at_most.extend(ran_at_most(body).map(|most| (self.attempt, most)));
        if self.keeps_output && holds_instruction(body) {
            self.instruction = body.raw_data.as_bytes().to_vec();
        }
    }

    fn apply(&mut self, line: &Line, event: Option<Event>, standing: Standing) {
        let (Some(event), Some(actor)) = (event, line.actor.clone()) else { return };
        self.doers.insert(line.sequence, Doer::of(line, actor.clone(), standing));
        self.world.evolve(line.sequence, line.time, &envelope_of(line, actor, event));
    }

    /// Returns what its records come to.
    pub(crate) fn into_run(self, loop_id: &str) -> RunLookup {
        let Some((first, last)) = self.ends else { return RunLookup::Nothing };
        if let [first, again, ..] = self.begun[..] {
            let what = BegunOnce::Loop(loop_id.to_string());
            return RunLookup::BegunTwice(BegunTwice { what, first, again });
        }
        let Some(entity) = self.world.find_loop(loop_id).cloned() else {
            return RunLookup::NoBeginning(first);
        };
        let is_interrupted =
            entity.halt.as_ref().is_some_and(|halt| halt.reason == HaltReason::Interrupted);
        let interrupted = self.interrupted.filter(|_| is_interrupted);
        let Self { approval, doers, instruction, outputs, cause, unread, labels, .. } = self;
        let (terminals, on_full, commands) = (self.terminals, self.on_full, self.commands);
        let (taken_up, is_end_taken_up) = (self.taken_up, self.is_end_taken_up);
        let (_, copies) = self.copies;
        RunLookup::Run(Box::new(Run {
            entity,
            approval,
            doers,
            instruction,
            commands,
            copies,
            outputs: outputs.into_all(),
            first,
            last,
            cause,
            unread,
            labels,
            interrupted,
            terminals,
            ran_at_most: self.ran_at_most,
            taken_up,
            is_end_taken_up,
            on_full,
            has_recorder_key: self.has_recorder_key,
        }))
    }
}

impl Run {
    /// The records of the answers RETRY about it.
    pub fn retries(&self) -> impl Iterator<Item = u64> {
        let decided = self.entity.decisions.requests.iter().filter_map(|held| held.decided());
        let retries = decided.filter(|it| it.record.decision == HumanDecision::Retry);
        retries.map(|decided| decided.sequence)
    }

    /// Returns whether its evidence is what its chain says: no record of it is missing or other
    /// than the hashes that follow it.
    #[must_use]
    pub fn is_linked(&self) -> bool {
        self.entity.chain.as_ref().is_none_or(|chain| !chain.is_broken)
    }

    /// Those who said yes to it: to its start, then to each of its questions.
    pub fn approvers(&self) -> impl Iterator<Item = Approver<'_>> {
        let approval = self.approval.as_deref().filter(|point| point.approves());
        let by = approval.and_then(|point| point.ending.as_ref()?.by.as_ref());
        let approver = by.map(|by| Approver {
            id: &by.id,
            is_claim: by.authenticated_by == Authentication::None,
        });
        let answers = self.entity.decisions.requests.iter().filter_map(|held| held.decided());
        let goes_on = |decision| matches!(decision, HumanDecision::Continue | HumanDecision::Retry);
        let yes = answers.filter(move |decided| goes_on(decided.record.decision));
        let is_claim = |doer: &Doer| doer.proof.is_none_or(Proof::is_claim);
        let answerer = yes.map(move |decided| Approver {
            id: &decided.record.human_id,
            is_claim: self.doers.get(&decided.sequence).is_none_or(is_claim),
        });
        approver.into_iter().chain(answerer)
    }

    /// The command that an attempt executed.
    #[must_use]
    pub fn command_of(&self, attempt: u8) -> Option<&str> {
        self.commands.range(..=attempt).next_back().map(|(_, command)| command.as_str())
    }

    /// Returns whether nothing proves that the command of an attempt is what was hashed.
    #[must_use]
    pub fn is_claim(&self, attempt: u8) -> bool {
        let given = self.commands.range(..=attempt.max(1)).next_back();
        given.is_none_or(|(attempt, _)| self.copies.get(attempt) != Some(&CommandCopy::Same))
    }

    /// The commands that were hashed in the place of those that records state, by attempt.
    #[must_use]
    pub fn hashed_commands(&self) -> BTreeMap<u8, &str> {
        let copies = self.copies.iter();
        copies.filter_map(|(attempt, it)| Some((*attempt, it.hashed_command()?))).collect()
    }

    /// Marks for programs on commands that are claims.
    #[must_use]
    pub fn command_claims(&self) -> CommandClaims<'_> {
        let command_claimed = self.commands.keys().any(|attempt| self.is_claim(*attempt));
        CommandClaims { command_claimed, hashed_commands: self.hashed_commands() }
    }

    /// The exit status of the process of its last attempt, where that ended with one.
    #[must_use]
    pub fn exit_status(&self) -> Option<i32> {
        match self.entity.current_attempt()?.response.as_ref()?.exit {
            Exit::Status(status) => Some(status),
            Exit::Signal(_) | Exit::Unknown => None,
        }
    }

    /// Returns what is proven of the weakest of the records about it and about its approval.
    #[must_use]
    pub fn standing(&self) -> Standing {
        weakest(&self.doers)
    }

    /// The newest of an attempt's outputs on a stream; of the last attempt that has any where none
    /// is named.
    #[must_use]
    pub fn output(&self, stream: OutputStream, attempt: Option<u8>) -> Option<&CapturedOutput> {
        let is_wanted = |output: &&CapturedOutput| {
            output.stream == stream && attempt.is_none_or(|attempt| output.attempt == attempt)
        };
        let has_some = |output: &&CapturedOutput| attempt.is_some() || output.length() > 0;
        let newest = || self.outputs.iter().rev().filter(is_wanted);
        newest().find(has_some).or_else(|| newest().next())
    }
}
