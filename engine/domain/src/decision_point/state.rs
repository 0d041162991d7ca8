//! One round of a question, and every decision point that is remembered: found in time that does
//! not depend on how many there are.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::actor::Principal;
use crate::core::clocks::EndedBy;
use crate::core::codec::{Lazy, Part, added};
use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::decision_point::round;
use crate::decision_point::types::{
    ActionBinding, ClaimedStatus, DecisionPointState, MAX_CLOSED_DECISION_POINTS, OnTimeout,
    ResolutionKind, Response, Terms,
};
use crate::human_decision::terms::{Warning, warning_time};

/// An outcome of a round that nobody answered in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtDeadline<'p> {
    /// Takes this option, the default.
    Default(&'p Text),
    /// Ends without a decision.
    Undecided,
    /// Stays open: it can be answered all the same.
    StaysOpen,
}

/// One round of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionPoint {
    /// `DP-` and 32 digits.
    pub decision_id: Text,
    /// The first round of the question.
    pub chain_id: Text,
    /// The round before.
    pub prior_id: Option<Text>,
    /// The round that guidance led to.
    pub next_id: Option<Text>,
    /// Terms of the question, with the proposal of this round.
    pub terms: Terms,
    /// The round, from 1 on.
    pub iteration: u8,
    /// The guidance that led to this round.
    pub guidance: Option<Text>,
    /// Principal who asks.
    pub requested_by: Principal,
    /// State of the round.
    pub state: DecisionPointState,
    /// The votes, where a policy asks for them, oldest first.
    pub votes: Vec<GivenResponse>,
    /// End of the round.
    pub ending: Option<Ending>,
    /// Answers that came when it was over, oldest first; the first 16.
    pub late_responses: Vec<GivenResponse>,
    /// Number of answers that came when it was over.
    pub late_total: u64,
    /// Number of times somebody was reminded.
    pub reminders: u64,
    /// Newest escalation, and the number of them.
    pub escalation: Option<Escalation>,
    /// Time and actor of the spending of the approval.
    pub consumed: Option<Consumed>,
    /// Time when the approval ended, where it was not spent in time and that is on record.
    pub lapsed_at: Option<Timestamp>,
    /// Time when what waited for the answer was released.
    pub released_at: Option<Timestamp>,
    /// Time when the round began.
    pub created_at: Timestamp,
    /// The sequence of the record that began it.
    pub created_sequence: u64,
    /// The story that it belongs to.
    pub correlation: String,
    /// The sequence of the last record that changed it: its version.
    pub version: u64,
    /// Outcome of the action, as whoever spent the approval claims.
    #[serde(default, deserialize_with = "added")]
    pub outcome: Option<ClaimedOutcome>,
    /// Revocation of the approval before it was spent.
    #[serde(default, deserialize_with = "added")]
    pub revoked: Option<Revocation>,
    /// The warning that 80 % of the time to answer are over, once given and while it is live. A
    /// room of its own carries it.
    #[serde(skip)]
    pub warning: Option<Warning>,
}

/// Claim about an action that was approved and done. The beginning and the end of what the tool
/// answered are in the record alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedOutcome {
    /// Principal who says so.
    pub by: Principal,
    /// The host's own name of the call.
    pub tool_use_id: Text,
    /// Outcome of the action.
    pub status: ClaimedStatus,
    /// Length of the whole answer of the tool, in bytes.
    pub response_bytes: u64,
    /// SHA-256 of the whole answer.
    pub response_sha256: Digest,
    /// Time when it was said.
    pub at: Timestamp,
    /// The sequence of its record.
    pub sequence: u64,
}

/// An answer, by whom and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenResponse {
    /// Principal.
    pub by: Principal,
    /// Answer that was given.
    pub response: Response,
    /// Comment that came with it.
    pub comment: Option<Text>,
    /// Time.
    pub at: Timestamp,
    /// The sequence of its record.
    pub sequence: u64,
}

impl GivenResponse {
    /// Returns whether the same somebody gives the same answer.
    #[must_use]
    pub fn is_by(&self, by: &Principal, response: &Response) -> bool {
        self.by.id == by.id && self.by.kind == by.kind && self.response == *response
    }
}

/// End of a round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Kind of the end; `None` where guidance led to another round.
    pub kind: Option<ResolutionKind>,
    /// The answer, where there was one.
    pub response: Option<Response>,
    /// The default, where it was taken.
    pub default_taken: Option<Text>,
    /// Principal who ended it; `None`: the deadline did.
    pub by: Option<Principal>,
    /// Comment or reason that came with it.
    pub comment: Option<Text>,
    /// The decision point that took its place.
    pub superseded_by: Option<Text>,
    /// Time when it ended: the time of the record, or the deadline.
    pub ended_at: Timestamp,
    /// Time when that was recorded.
    pub recorded_at: Timestamp,
    /// The sequence of the record.
    pub sequence: u64,
}

/// Escalation of a question to somebody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// To whom.
    pub to: Text,
    /// Why.
    pub reason: Option<Text>,
    /// Principal.
    pub by: Principal,
    /// Time.
    pub at: Timestamp,
    /// Number of times it was escalated.
    pub count: u64,
}

/// For what an approval was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumed {
    /// Principal.
    pub by: Principal,
    /// Time.
    pub at: Timestamp,
    /// The sequence of its record.
    pub sequence: u64,
}

/// Revocation of an approval: who, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocation {
    /// Principal.
    pub by: Principal,
    /// Why.
    pub reason: Option<Text>,
    /// Time.
    pub at: Timestamp,
    /// The sequence of its record.
    pub sequence: u64,
}

impl DecisionPoint {
    /// Returns whether it may still be answered.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.state.is_open()
    }

    /// Returns the time when it ends by itself; `None`: it does not.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        let ends = self.is_open() && self.terms.on_timeout != OnTimeout::Hold;
        self.terms.expires_at.filter(|_| ends)
    }

    /// Returns whether it waits although its time is over.
    #[must_use]
    pub fn is_overdue(&self, at: Timestamp) -> bool {
        self.is_open() && self.terms.expires_at.is_some_and(|end| end <= at)
    }

    /// The option that was chosen, or that was taken as the default.
    #[must_use]
    pub fn selected_option(&self) -> Option<&str> {
        let ending = self.ending.as_ref()?;
        let chosen = ending.response.as_ref().and_then(Response::chosen);
        chosen.or(ending.default_taken.as_ref()).map(Text::as_str)
    }

    /// Returns whether somebody said yes and nobody revoked it: an option that does not reject was
    /// chosen, by its name or as the default of a proposal that was accepted, or the default was
    /// taken where a policy says that this approves. Silence approves nothing else. Under rules
    /// before number 6 the guidance was accepted, which says yes to something else than the action
    /// that was bound.
    #[must_use]
    pub fn approves(&self) -> bool {
        self.revoked.is_none() && self.said_yes()
    }

    fn said_yes(&self) -> bool {
        match self.ending.as_ref().and_then(|ending| ending.kind) {
            Some(ResolutionKind::Accept) if self.accepted_guidance() => {
                self.terms.binding.is_none()
            }
            Some(ResolutionKind::Option | ResolutionKind::Accept) => self.is_yes(),
            Some(ResolutionKind::Default) => {
                let policy = self.terms.policy.as_ref();
                self.is_yes() && policy.is_some_and(|policy| policy.default_approves)
            }
            _ => false,
        }
    }

    /// Tells whether the answer is that of rules before number 6, which accepted the guidance.
    fn accepted_guidance(&self) -> bool {
        let response = self.ending.as_ref().and_then(|ending| ending.response.as_ref());
        response == Some(&Response::Accept)
    }

    /// Returns whether the option that was chosen, or taken as the default, is one that rejects.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        let chosen = self.selected_option().and_then(|id| self.terms.proposal.option(id));
        chosen.is_some_and(|option| option.reject)
    }

    /// Returns whether an approval was asked for, given, and can still be revoked: it is neither
    /// spent nor over. One that no action is bound to is never spent.
    #[must_use]
    pub fn is_revocable(&self) -> bool {
        let is_approval = self.terms.policy.is_some() || self.terms.binding.is_some();
        let is_good = self.terms.binding.is_none() || self.spendable_until().is_some();
        is_approval && self.approves() && is_good
    }

    /// Returns whether an option was chosen or taken, and not one that rejects.
    fn is_yes(&self) -> bool {
        let chosen = self.selected_option().and_then(|id| self.terms.proposal.option(id));
        chosen.is_some_and(|option| !option.reject)
    }

    /// Returns whether its answer is a person's: approval is asked for, or something waits for it.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.terms.needs_person()
    }

    /// Returns whether what waits for the answer may go on: it was approved; or, where no approval
    /// is asked for, answered in words or by the default that its terms take.
    #[must_use]
    pub fn releases(&self) -> bool {
        let is_approval = self.terms.policy.is_some() || self.terms.binding.is_some();
        let suffices = match self.ending.as_ref().and_then(|ending| ending.kind) {
            Some(ResolutionKind::Text) => true,
            Some(ResolutionKind::Accept) => !self.is_rejected(),
            Some(ResolutionKind::Default) => self.is_yes(),
            _ => false,
        };
        self.approves() || (suffices && !is_approval)
    }

    /// Returns what becomes of the round when a clock ends its time. A default needs both clocks.
    #[must_use]
    pub fn at_deadline(&self, ended_by: EndedBy) -> AtDeadline<'_> {
        let default = self.default_at_deadline().filter(|_| ended_by == EndedBy::Both);
        match (self.terms.on_timeout, default) {
            (OnTimeout::Hold, _) => AtDeadline::StaysOpen,
            (_, Some(default)) => AtDeadline::Default(default),
            (_, None) => AtDeadline::Undecided,
        }
    }

    /// The option that is taken when the deadline passes now: the default, where the terms
    /// take it. Not while the requester has to propose anew: somebody objected to what is offered.
    #[must_use]
    pub fn default_at_deadline(&self) -> Option<&Text> {
        let is_asked_for = self.terms.on_timeout == OnTimeout::Default;
        let is_offered = self.state == DecisionPointState::Pending;
        self.terms.proposal.default_option.as_ref().filter(|_| is_asked_for && is_offered)
    }

    /// Until when the approval may be spent; `None` where there is none to be spent any more. The
    /// time runs from the answer on, or from the deadline at which the default was taken, whenever
    /// that was recorded.
    #[must_use]
    pub fn spendable_until(&self) -> Option<Timestamp> {
        let is_over = self.consumed.is_some() || self.lapsed_at.is_some();
        self.valid_until().filter(|_| !is_over)
    }

    /// Until when the approval of an action was good, spent or not.
    #[must_use]
    pub fn valid_until(&self) -> Option<Timestamp> {
        let ending = self.ending.as_ref().filter(|_| self.approves())?;
        self.terms.binding.as_ref()?;
        Some(ending.ended_at.plus_ms(self.terms.valid_for_ms))
    }

    /// Returns whether something may still happen to it: it is open, or an approval is to be spent.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.is_open() || self.spendable_until().is_some()
    }

    /// Returns when a warning is due, after 80 % of the time to answer; `None`: none is.
    #[must_use]
    pub fn warning_at(&self) -> Option<Timestamp> {
        let end = self.terms.expires_at.filter(|_| self.is_open());
        end.map(|end| warning_time(self.created_at, end))
    }

    /// The warning that is still to be given.
    #[must_use]
    pub fn warning_due(&self) -> Option<Timestamp> {
        self.warning_at().filter(|_| self.warning.is_none())
    }

    /// Returns what happens to it by itself, and when.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        self.warning_due().or_else(|| self.deadline()).or_else(|| self.spendable_until())
    }

    /// Counts the votes there are for an answer.
    #[must_use]
    pub fn votes_for(&self, response: &Response) -> usize {
        self.votes.iter().filter(|vote| vote.response.is_same_choice(response)).count()
    }

    /// Describes how it ended, in one line; control characters visible.
    #[must_use]
    pub fn outcome_line(&self) -> String {
        round::outcome_line(self)
    }

    /// The action that an approval is for.
    #[must_use]
    pub const fn binding(&self) -> Option<&ActionBinding> {
        self.terms.binding.as_ref()
    }

    /// The name of the requester, as it may be shown.
    pub(crate) fn requester(&self) -> String {
        crate::core::text::visible(&self.requested_by.id).to_string()
    }
}

/// Live decision points, and the newest of those that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DecisionPoints {
    /// Open, or with an approval to be spent.
    pub(crate) live: BTreeMap<Text, DecisionPoint>,
    /// The rest, by the record that ended them; the newest 1024.
    pub(crate) closed: Closed,
    #[serde(skip)]
    pub(crate) index: Index,
}

/// Index that follows from the decision points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Times at which something happens by itself, earliest first.
    due: BTreeSet<(Timestamp, Text)>,
    /// Live ones by the action that they are bound to.
    pub(crate) bound: BTreeSet<(ActionBinding, Text)>,
    /// Open ones by their issue.
    pub(crate) issues: BTreeSet<(Text, Text)>,
    /// The record that ended a remembered one.
    ended: BTreeMap<Text, u64>,
}

impl DecisionPoints {
    pub(crate) fn find(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let key = Text::from(decision_id);
        let closed = || self.closed.get(self.index.ended.get(&key)?)?.1.get();
        self.live.get(&key).or_else(closed)
    }

    /// Those whose round takes an answer now.
    pub(crate) fn open(&self, at: Timestamp) -> impl Iterator<Item = &DecisionPoint> {
        self.live.values().filter(move |point| point.is_open() && !point.is_overdue(at))
    }

    /// Returns whether this one is live.
    pub(crate) fn is_live(&self, decision_id: &str) -> bool {
        self.live.contains_key(&Text::from(decision_id))
    }

    /// A new round.
    pub(crate) fn begin(&mut self, point: DecisionPoint) {
        self.index.follow(&point);
        self.live.insert(point.decision_id.clone(), point);
    }

    /// Changes a remembered one. What ends by it leaves the live ones; the oldest that is then
    /// remembered no longer is handed back, with the sequence of the record that ended it.
    pub(crate) fn change(
        &mut self,
        decision_id: &str,
        change: impl FnOnce(&mut DecisionPoint),
    ) -> Vec<(u64, DecisionPoint)> {
        let key = Text::from(decision_id);
        if let Some(point) = self.live.get_mut(&key) {
            self.index.forget(point);
            change(point);
            self.index.follow(point);
            if point.is_live() {
                return Vec::new();
            }
            let ended =
                self.live.remove(&key).map(|point| DecisionPoint { warning: None, ..point });
            return ended.map(|point| self.close(point)).unwrap_or_default();
        }
        let ended = self.index.ended.get(&key).and_then(|at| self.closed.get_mut(at));
        if let Some(point) = ended.and_then(|(_, point)| point.get_mut()) {
            change(point);
        }
        Vec::new()
    }

    fn close(&mut self, point: DecisionPoint) -> Vec<(u64, DecisionPoint)> {
        self.index.ended.insert(point.decision_id.clone(), point.version);
        let id = point.decision_id.clone();
        self.closed.insert(point.version, (id, Lazy::from(Box::new(point))));
        let mut older = Vec::new();
        while self.closed.len() > MAX_CLOSED_DECISION_POINTS {
            let Some((ended, (id, oldest))) = self.closed.pop_first() else { break };
            self.index.ended.remove(&id);
            older.extend(oldest.into_value().map(|oldest| (ended, *oldest)));
        }
        older
    }

    /// Returns what is due by now, the earliest first.
    pub(crate) fn due(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, &DecisionPoint)> {
        let due = self.index.due.iter().take_while(move |(due_at, _)| *due_at <= at);
        due.filter_map(|(due_at, id)| Some((*due_at, self.live.get(id)?)))
    }

    /// Returns the number of those that ended and are remembered.
    pub(crate) fn closed_count(&self) -> usize {
        self.closed.len()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.index.due.first().map(|(at, _)| *at)
    }

    /// Returns what is carried: the live ones, and those that ended with the record that ended
    /// them.
    pub(crate) fn carried(&self) -> (Vec<&DecisionPoint>, &Closed) {
        (self.live.values().collect(), &self.closed)
    }

    /// The warnings that were given, by decision.
    pub(crate) fn warnings(&self) -> Vec<(&Text, &Warning)> {
        self.live.iter().filter_map(|(id, point)| Some((id, point.warning.as_ref()?))).collect()
    }

    pub(crate) fn have_warnings(&mut self, warnings: Vec<(Text, Warning)>) {
        for (id, warning) in warnings {
            self.change(&id, |point| point.warning = Some(warning));
        }
    }

    /// Those that were carried; the index follows from them.
    pub(crate) fn from_carried(live: Vec<DecisionPoint>, closed: Closed) -> Self {
        let mut index = Index::default();
        live.iter().for_each(|point| index.follow(point));
        index.ended = closed.iter().map(|(at, (id, _))| (id.clone(), *at)).collect();
        let live = live.into_iter().map(|point| (point.decision_id.clone(), point)).collect();
        Self { live, closed, index }
    }

    /// Decodes those that ended; the ids by which they are found are then theirs.
    pub(crate) fn decode(&mut self) {
        for (id, point) in self.closed.values_mut() {
            if let Some(point) = point.get_mut() {
                id.clone_from(&point.decision_id);
            }
        }
    }

    /// Returns what is carried on as it was carried.
    pub(crate) fn parts(&mut self) -> impl Iterator<Item = &mut Part> {
        self.closed.values_mut().filter_map(|(_, point)| point.part_mut())
    }
}

/// Those that ended, by the record that ended them.
pub(crate) type Closed = BTreeMap<u64, (Text, Lazy<DecisionPoint>)>;

impl Index {
    fn follow(&mut self, point: &DecisionPoint) {
        let id = &point.decision_id;
        point.next_due().map(|at| self.due.insert((at, id.clone())));
        if point.is_live() {
            point.binding().map(|to| self.bound.insert((to.clone(), id.clone())));
        }
        if point.is_open() {
            let issue = point.terms.issue_id.as_ref();
            issue.map(|issue| self.issues.insert((issue.clone(), id.clone())));
        }
    }

    fn forget(&mut self, point: &DecisionPoint) {
        let id = &point.decision_id;
        point.next_due().map(|at| self.due.remove(&(at, id.clone())));
        point.binding().map(|to| self.bound.remove(&(to.clone(), id.clone())));
        let issue = point.terms.issue_id.as_ref();
        issue.map(|issue| self.issues.remove(&(issue.clone(), id.clone())));
    }
}
