//! Finding a request by its id, and what falls due by its time, in time that does not depend on
//! the number of loops and threads. Requests of settled loops are remembered as long as they are
//! among the newest.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use serde::Serialize;

use crate::core::actor::{Actor, Authentication};
use crate::core::clocks::{EndedBy, Moment, Times};
use crate::core::codec::{Carrier, Lazy, Part, Remembered};
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::Entropy;
use crate::core::limits::{CLOCK_AHEAD_NS, MAX_CLOSED_REQUESTS};
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::decision_point::command::{DecisionPointCommand, ExpireDecisionPoint};
use crate::decision_point::event::DecisionPointEvent;
use crate::decision_point::state::{AtDeadline, DecisionPoint};
use crate::governed::aggregate::{ExecutionLoop, RequestPlace};
use crate::human_decision::command::{ExpireDue, HumanDecisionCommand};
use crate::human_decision::event::HumanDecisionEvent;
use crate::human_decision::state::HeldRequest;
use crate::interruption_thread::command::{InterruptionThreadCommand, ThreadCommand};
use crate::interruption_thread::event::InterruptionThreadEvent;
use crate::interruption_thread::state::Thread;
use crate::log::event::ClockStepAccepted;
use crate::world::command::Command;
use crate::world::event::Event;
use crate::world::{LiveState, World};

/// The index of requests. All of it follows from the loops' events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Requests {
    /// The loop of every request of a live loop.
    live: BTreeMap<String, String>,
    /// Times at which something falls due, earliest first.
    due: BTreeSet<(Timestamp, String)>,
    /// Requests of settled loops by the sequence of the record that asked; the newest 1024.
    closed: BTreeMap<u64, (Text, Lazy<HeldRequest>)>,
    /// The same by their ids, once somebody asked for one.
    #[serde(skip)]
    closed_ids: Remembered<BTreeSet<(Text, u64)>>,
}

/// [`Requests`] as they are carried: the members in their order, and of each that is remembered the
/// bytes in which it is.
pub(crate) type RequestsCheckpoint<'a> =
    (Vec<(String, String)>, Vec<(Timestamp, String)>, Vec<(u64, (Text, &'a [u8]))>);

/// Something that falls due: in a request, in an interruption thread, in a decision point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Due {
    /// Command that records it: [`HumanDecisionCommand::ExpireDue`], whose random bits are still to
    /// be drawn, [`InterruptionThreadCommand::ExpireThread`] or
    /// [`DecisionPointCommand::ExpireDecisionPoint`].
    pub command: Command,
    /// Time when it fell due.
    pub due_at: Timestamp,
    /// True if something is over: a deadline, what a thread kept, an approval. Else only the
    /// warning is due.
    pub timed_out: bool,
    /// The story that it belongs to: the correlation of the record to be written.
    pub correlation: String,
    /// The sequence of the record that asked, or that changed it last: the causation of the
    /// record to be written.
    pub caused_by: u64,
}

impl World {
    /// Everything that is due at this moment by any clock, earliest first. A writer records it
    /// before anything else, one command for each. A deadline that is now is due.
    #[must_use]
    pub fn due(&self, now: impl Into<Moment>) -> Vec<Due> {
        let now = now.into();
        let requests = self.hot.requests.due.iter().take_while(|(due_at, _)| *due_at <= now.at);
        let requests = requests.filter_map(|(due_at, id)| self.request_due(*due_at, id, now));
        let threads = self.hot.threads.expired(now.at);
        let threads = threads.map(thread_due);
        let points = self.hot.decision_points.due(now.at);
        let points = points.map(|(due_at, point)| self.point_due(due_at, point, now));
        // What only the own clock says is over.
        let others = self.hot.clocks.ids().filter_map(|id| self.due_of(id, now));
        let others = others.filter(|due| due.due_at > now.at);
        let mut due: Vec<Due> = requests.chain(threads).chain(points).chain(others).collect();
        due.sort_by_key(|one| one.due_at);
        due
    }

    /// Lists what is due of one question or approval at this moment, by any clock.
    #[must_use]
    pub fn due_of(&self, id: &str, now: impl Into<Moment>) -> Option<Due> {
        let now = now.into();
        let is_over = |end: &Timestamp| self.times_of(id, now).over(*end).is_some();
        if let Some(point) = self.hot.decision_points.live.get(id) {
            let due_at = point.next_due().filter(is_over)?;
            return Some(self.point_due(due_at, point, now));
        }
        if let Some((tenant_id, correlation_id)) = id.split_once(ZERO) {
            let thread = self.hot.threads.live(tenant_id, correlation_id)?;
            let due_at = thread.next_expiry().filter(is_over)?;
            return Some(thread_due((due_at, thread)));
        }
        let held = self.find_request(id)?.held();
        let due_at = held.next_due().filter(is_over)?;
        self.request_due(due_at, id, now)
    }

    /// The log's time by which limits are judged at a moment: that of the record, but behind a step
    /// of the clock that a person accepted.
    #[must_use]
    pub fn log_time(&self, now: impl Into<Moment>) -> Timestamp {
        self.hot.clocks.log_time(now.into())
    }

    /// A moment on the scale of the times of a question, or of the approval that it became. Its
    /// latest is the time by which whoever only reads shows what is over.
    #[must_use]
    pub fn times_of(&self, id: &str, now: impl Into<Moment>) -> Times {
        self.hot.clocks.times(id, now.into())
    }

    /// Returns what becomes of a round at its deadline, where it is recorded as soon as a clock
    /// says that its time is over; of one that is over now, where it is recorded now.
    #[must_use]
    pub fn at_deadline<'p>(&self, point: &'p DecisionPoint, now: Moment) -> AtDeadline<'p> {
        let times = |now| self.times_of(&point.decision_id, now);
        let ended_by = point.deadline().and_then(|end| {
            let left_ns = times(now).left_ns(end);
            // Nobody records the end of a limit within a millisecond of it: clocks that are less
            // apart than that agree.
            let delay_ns = if left_ns > 0 { 1_000_000 } else { 0 };
            times(now.later(left_ns.saturating_add(delay_ns))).over(end)
        });
        point.at_deadline(ended_by.unwrap_or(EndedBy::Both))
    }

    /// Returns the time when something falls due next.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let of_requests = self.hot.requests.due.first().map(|(due_at, _)| *due_at);
        let of_points = self.hot.decision_points.next_due();
        of_requests.into_iter().chain(self.hot.threads.next_due()).chain(of_points).min()
    }

    fn point_due(&self, due_at: Timestamp, point: &DecisionPoint, now: Moment) -> Due {
        let times = self.times_of(&point.decision_id, now);
        let end = point.deadline().or_else(|| point.spendable_until());
        let decision_id = String::from(point.decision_id.as_str());
        Due {
            command: Command::DecisionPoint(DecisionPointCommand::ExpireDecisionPoint(
                ExpireDecisionPoint { decision_id },
            )),
            due_at,
            timed_out: end.is_some_and(|end| times.over(end).is_some()),
            correlation: point.correlation.clone(),
            caused_by: point.version,
        }
    }

    fn request_due(&self, due_at: Timestamp, request_id: &str, now: Moment) -> Option<Due> {
        let RequestPlace::Live(entity, held) = self.find_request(request_id)? else { return None };
        let times = self.times_of(request_id, now);
        let (request_id, entropy) = (String::from(request_id), Entropy::default());
        Some(Due {
            command: Command::HumanDecision(HumanDecisionCommand::ExpireDue(ExpireDue {
                request_id,
                entropy,
            })),
            due_at,
            timed_out: times.over(held.request.timeout_at).is_some(),
            correlation: entity.correlation.clone(),
            caused_by: held.requested_sequence,
        })
    }

    /// The request with this id: of a live loop, or among the newest of settled ones.
    #[must_use]
    pub fn find_request(&self, request_id: &str) -> Option<RequestPlace<'_>> {
        let requests = &self.hot.requests;
        if let Some(loop_id) = requests.live.get(request_id) {
            let entity = self.live_loop(loop_id)?;
            return Some(RequestPlace::Live(entity, entity.request(request_id)?));
        }
        requests.closed_with(request_id).map(RequestPlace::Closed)
    }

    /// Every request that waits for an answer, with its loop, the one due first first.
    pub fn open_requests(&self) -> impl Iterator<Item = (&ExecutionLoop, &HeldRequest)> {
        let ids = self.hot.requests.due.iter().map(|(_, request_id)| request_id);
        ids.filter_map(|request_id| match self.find_request(request_id)? {
            RequestPlace::Live(entity, held) => Some((entity, held)),
            RequestPlace::Closed(_) => None,
        })
    }

    /// The newest requests of loops that settled, at most 1024, in the order of their asking.
    pub fn closed_requests(&self) -> impl Iterator<Item = &HeldRequest> {
        self.hot.requests.closed()
    }
}

/// The times of all that a thread keeps, as one limit. No id of another one has a zero in it.
pub(super) fn limit_of_thread((tenant_id, correlation_id): (&str, &str)) -> String {
    format!("{tenant_id}{ZERO}{correlation_id}")
}

/// Between the names of a thread in the id of its limit.
const ZERO: char = '\0';

fn thread_due((due_at, thread): (Timestamp, &Thread)) -> Due {
    let correlation = String::from(thread.correlation_id.as_str());
    Due {
        command: Command::InterruptionThread(InterruptionThreadCommand::ExpireThread(
            ThreadCommand {
                tenant_id: String::from(thread.tenant_id.as_str()),
                correlation_id: correlation.clone(),
            },
        )),
        due_at,
        timed_out: true,
        correlation,
        caused_by: thread.version,
    }
}

impl World {
    /// The record, with its moment on the scale of the times of the limit that it is about, and
    /// the newest record before it that says that the clock was set back.
    pub(super) fn on_its_scale<'a>(&self, record: Record<'a>, event: &Event) -> Record<'a> {
        let steady = if let Event::DecisionPoint(event) = event {
            event.steady()
        } else if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionWarned(body)) = event {
            body.steady
        } else if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) = event
        {
            body.steady
        } else {
            None
        };
        let now = Moment { steady, ..record.moment() };
        let of_thread = event.thread().filter(|_| !self.hot.clocks.is_empty());
        let times = match of_thread.map(limit_of_thread) {
            Some(limit) => self.times_of(&limit, now),
            None => self.times_of(event.limit().unwrap_or_default(), now),
        };
        Record { times, set_back: self.hot.set_back, ..record }
    }
}

impl LiveState {
    /// Follows which limits begin with an event, and which are no more.
    pub(super) fn follow_limits(&mut self, record: Record<'_>, event: &Event) {
        let Self { clocks, decision_points, loops, threads, .. } = self;
        let now = record.moment();
        match event {
            Event::DecisionPoint(event) => {
                let id = event.decision_id();
                let Some(point) = decision_points.live.get(id) else {
                    if let DecisionPointEvent::GuidanceGiven(body) = event {
                        clocks.go_on(id, &body.next_id);
                    }
                    return clocks.end(id);
                };
                let has_own_time = point.iteration <= 1 || point.terms.round_timeout_ms.is_some();
                let ended = point.ending.as_ref().map(|ending| ending.sequence);
                let begins = if let DecisionPointEvent::DecisionPointResolved(_) = event {
                    ended == Some(record.sequence)
                } else {
                    has_own_time && point.created_sequence == record.sequence
                };
                if begins {
                    clocks.begin(id, now);
                }
            }
            Event::HumanDecision(event) => {
                let id = event.request_id();
                let held = loops.get(event.loop_id()).and_then(|entity| entity.request(id));
                let held = held.filter(|held| held.is_open());
                match held.map(|held| held.requested_sequence == record.sequence) {
                    Some(true) => clocks.begin(id, now),
                    Some(false) => {}
                    None => clocks.end(id),
                }
            }
            Event::Log(_)
            | Event::ExecutionLoop(_)
            | Event::EvidenceCapture(_)
            | Event::SandboxFault(_)
            | Event::Registration(_)
            | Event::Application(_) => {}
            Event::InterruptionThread(event) => {
                // Where no clock is wrong there is nothing to note.
                if clocks.is_empty() && clocks.log_time(now) == now.clock && now.at == now.clock {
                    return;
                }
                let begins_time = matches!(
                    event,
                    InterruptionThreadEvent::TurnTaken(_)
                        | InterruptionThreadEvent::TurnCommitted(_)
                        | InterruptionThreadEvent::PlanDrafted(_)
                        | InterruptionThreadEvent::PlanEnded(_)
                );
                let name @ (tenant_id, correlation_id) = event.thread();
                let limit = limit_of_thread(name);
                let thread = threads.live(tenant_id, correlation_id);
                match thread.and_then(|thread| thread.next_expiry()) {
                    Some(_) if begins_time => clocks.begin_another(&limit, now),
                    Some(_) => {}
                    None => clocks.end(&limit),
                }
            }
        }
    }
}

/// Returns whether a step of the clock is accepted: by a person, as the record has it, when all
/// that was due by the old time has ended.
pub(super) fn may_step(
    world: &World,
    record: Record<'_>,
    body: &ClockStepAccepted,
    checks: &mut RuleChecks,
) -> bool {
    let rule = Rule::ClockStep;
    let is_person = record.proof.is_some_and(|proof| proof.by == Authentication::Terminal)
        && record.actor.kind == Actor::Human
        && body.by.is(record.actor);
    checks.demand(is_person, rule, "a person at a terminal", &body.by.id);
    let is_its_own = checks.expect(rule, record.at, body.log_time)
        & checks.expect(rule, record.clock, body.clock);
    let ahead_ns = world.log_time(record.moment()).nanoseconds_since(record.clock);
    let is_ahead = checks.demand(ahead_ns > CLOCK_AHEAD_NS, rule, "more than a minute", ahead_ns);
    let left = world.due(record.moment()).len();
    let is_done = checks.demand(left == 0, rule, "the end of all that was due", left);
    is_person && is_its_own && is_ahead && is_done
}

impl Requests {
    /// Returns what is remembered of settled loops, and no live ones yet.
    fn remembering(closed: Vec<HeldRequest>) -> Self {
        let mut requests = Self::default();
        closed.into_iter().for_each(|held| requests.remember(held));
        requests
    }

    /// The requests that were carried.
    pub(crate) fn from_carried(
        (live, due, closed): RequestsCheckpoint<'_>,
        of: &Arc<Carrier>,
    ) -> Self {
        let remembered = |(at, (id, held)): (u64, (Text, &[u8]))| (at, (id, of.part(held).into()));
        Self {
            live: live.into_iter().collect(),
            due: due.into_iter().collect(),
            closed: closed.into_iter().map(remembered).collect(),
            closed_ids: Remembered::default(),
        }
    }

    /// Decodes what is remembered, and makes anew what follows from it and from the live loops.
    pub(crate) fn decode(&mut self, loops: &Loops) {
        *self = Self::remembering(self.closed().cloned().collect());
        loops.values().for_each(|entity| self.follow(entity));
    }

    /// Notes it where something that is remembered cannot be decoded.
    pub(crate) fn check(&self) {
        self.closed.values().for_each(|(_, held)| held.check());
    }

    /// Returns what is carried on as it was carried.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.closed.values_mut().filter_map(|(_, held)| held.part_mut())
    }

    /// Returns what is remembered of settled loops, in the order of asking.
    pub(crate) fn closed(&self) -> impl Iterator<Item = &HeldRequest> {
        self.closed.values().filter_map(|(_, held)| held.get())
    }

    /// Returns the number of requests of settled loops that are remembered.
    pub(crate) fn closed_count(&self) -> usize {
        self.closed.len()
    }

    /// Returns whether some request has this id.
    pub(crate) fn contains(&self, request_id: &str) -> bool {
        self.live.contains_key(request_id) || self.closed_at(request_id).is_some()
    }

    /// Brings the index up to what a live loop's requests are now.
    pub(crate) fn follow(&mut self, entity: &ExecutionLoop) {
        for held in &entity.decisions.requests {
            let request_id = String::from(held.request_id());
            self.forget_due(held);
            if let Some(due_at) = held.next_due() {
                self.due.insert((due_at, request_id.clone()));
            }
            self.live.insert(request_id, String::from(entity.loop_id()));
        }
    }

    /// A loop settled: its requests are remembered for a while.
    pub(crate) fn close(&mut self, entity: &ExecutionLoop) {
        for held in &entity.decisions.requests {
            self.forget_due(held);
            self.live.remove(held.request_id());
            self.remember(held.clone());
        }
        while self.closed.len() > MAX_CLOSED_REQUESTS {
            let Some((at, (id, _))) = self.closed.pop_first() else { break };
            self.closed_ids.get_mut().map(|ids| ids.remove(&(id, at)));
        }
    }

    /// Counts an answer that came after the loop settled.
    pub(crate) fn closed_mut(&mut self, request_id: &str) -> Option<&mut HeldRequest> {
        let at = self.closed_at(request_id)?;
        self.closed.get_mut(&at)?.1.get_mut()
    }

    /// The newest of settled loops with this id.
    pub(crate) fn closed_with(&self, request_id: &str) -> Option<&HeldRequest> {
        self.closed.get(&self.closed_at(request_id)?)?.1.get()
    }

    /// The record that asked the newest of settled loops with this id.
    fn closed_at(&self, request_id: &str) -> Option<u64> {
        let by_id = || self.closed.iter().map(|(at, (id, _))| (id.clone(), *at)).collect();
        let ids = self.closed_ids.get_or_make(by_id);
        let (first, last) = ((request_id.into(), 0), (request_id.into(), u64::MAX));
        ids.range(first..=last).next_back().map(|(_, at)| *at)
    }

    pub(crate) fn remember(&mut self, held: HeldRequest) {
        let (id, at) = (Text::from(held.request_id()), held.requested_sequence);
        let before = self.closed.insert(at, (id.clone(), Lazy::from(Box::new(held))));
        if let Some(ids) = self.closed_ids.get_mut() {
            before.map(|(before, _)| ids.remove(&(before, at)));
            ids.insert((id, at));
        }
    }

    fn forget_due(&mut self, held: &HeldRequest) {
        for due_at in [held.warning_at(), held.request.timeout_at] {
            self.due.remove(&(due_at, String::from(held.request_id())));
        }
    }
}

/// Live loops by id.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Loops(BTreeMap<Text, Lazy<ExecutionLoop>>);

impl Loops {
    pub(crate) fn get(&self, loop_id: &str) -> Option<&ExecutionLoop> {
        self.0.get(loop_id)?.get()
    }

    pub(crate) fn get_mut(&mut self, loop_id: &str) -> Option<&mut ExecutionLoop> {
        self.0.get_mut(loop_id)?.get_mut()
    }

    pub(crate) fn contains_key(&self, loop_id: &str) -> bool {
        self.0.contains_key(loop_id)
    }

    pub(crate) fn insert(&mut self, loop_id: Text, entity: impl Into<Box<ExecutionLoop>>) {
        self.0.insert(loop_id, Lazy::from(entity.into()));
    }

    pub(crate) fn remove(&mut self, loop_id: &str) -> Option<Box<ExecutionLoop>> {
        self.0.remove(loop_id)?.into_value()
    }

    /// By id.
    pub(crate) fn values(&self) -> impl Iterator<Item = &ExecutionLoop> {
        self.0.values().filter_map(Lazy::get)
    }

    /// Returns what is carried, by id.
    pub(crate) const fn carried(&self) -> &BTreeMap<Text, Lazy<ExecutionLoop>> {
        &self.0
    }

    /// By id, with the bytes of each.
    pub(crate) fn from_carried(carried: Vec<(Text, &[u8])>, of: &Arc<Carrier>) -> Self {
        let loops = carried.into_iter();
        Self(loops.map(|(id, entity)| (id, of.part(entity).into())).collect())
    }

    /// Decodes all of them; the ids by which they are found are then theirs.
    pub(crate) fn decode(&mut self) {
        let loops = core::mem::take(&mut self.0).into_values().filter_map(Lazy::into_value);
        loops.for_each(|entity| self.insert(entity.loop_id().into(), entity));
    }

    /// Does the same as [`Requests::check`].
    pub(crate) fn check(&self) {
        self.0.values().for_each(Lazy::check);
    }

    /// Does the same as [`Requests::parts`].
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.0.values_mut().filter_map(Lazy::part_mut)
    }
}
