//! Every decision point that is remembered, and the ways to find one in time that does not depend
//! on how many there are.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use serde::Serialize;

use super::DecisionPoint;
use crate::decision_point::{ActionBinding, MAX_CLOSED_DECISION_POINTS};
use crate::event::Text;
use crate::time::Timestamp;
use crate::world::{Kept, World};

/// Live decision points, and the newest of those that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct DecisionPoints {
    /// Open, or with an approval to be spent.
    live: BTreeMap<Text, DecisionPoint>,
    /// The rest, by the record that ended them; the newest 1024.
    closed: Closed,
    #[serde(skip)]
    index: Index,
}

/// What follows from the decision points.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Index {
    /// What happens by itself, earliest first.
    due: BTreeSet<(Timestamp, Text)>,
    /// Live ones by the action that they are bound to.
    bound: BTreeSet<(ActionBinding, Text)>,
    /// Open ones by their issue.
    issues: BTreeSet<(Text, Text)>,
    /// The record that ended a remembered one.
    ended: BTreeMap<Text, u64>,
}

impl World {
    /// The decision point with this id: live, among the newest that ended, or
    /// [recalled](World::recall).
    #[must_use]
    pub fn decision_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        self.known_point(decision_id).or_else(|| self.settled_point(decision_id))
    }

    /// Every decision point that is open or has an approval to be spent, by id.
    pub fn live_decision_points(&self) -> impl Iterator<Item = &DecisionPoint> {
        self.hot.decision_points.live.values()
    }

    /// Those that ended and are remembered, in the order of their ending: all of them where the
    /// world keeps what settles, else the newest 1024.
    pub fn closed_decision_points(&self) -> impl Iterator<Item = &DecisionPoint> {
        let older = self.settled.iter().flat_map(|settled| settled.decision_points.values());
        let closed = self.hot.decision_points.closed.values();
        older.chain(closed.filter_map(|(_, point)| point.get()))
    }

    /// The open decision points of an issue, by id.
    pub fn open_decisions_of<'w, 'i>(
        &'w self,
        issue_id: &'i str,
    ) -> impl Iterator<Item = &'w DecisionPoint> + use<'w, 'i> {
        let points = &self.hot.decision_points;
        let from = (Text::from(issue_id), Text::default());
        let of_issue =
            points.index.issues.range(from..).take_while(move |(id, _)| **id == *issue_id);
        of_issue.filter_map(|(_, id)| points.live.get(id))
    }

    /// The live decision points that are bound to an action, by id.
    pub fn decisions_bound_to<'w>(
        &'w self,
        binding: &'w ActionBinding,
    ) -> impl Iterator<Item = &'w DecisionPoint> {
        let points = &self.hot.decision_points;
        let from = (binding.clone(), Text::default());
        let bound = points.index.bound.range(from..).take_while(move |(to, _)| to == binding);
        bound.filter_map(|(_, id)| points.live.get(id))
    }
}

impl DecisionPoints {
    pub(crate) fn find(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let key = Text::from(decision_id);
        let closed = || self.closed.get(self.index.ended.get(&key)?)?.1.get();
        self.live.get(&key).or_else(closed)
    }

    /// Whether this one is live.
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
            return self.live.remove(&key).map(|point| self.close(point)).unwrap_or_default();
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
        self.closed.insert(point.version, (id, Kept::from(Box::new(point))));
        let mut older = Vec::new();
        while self.closed.len() > MAX_CLOSED_DECISION_POINTS {
            let Some((ended, (id, oldest))) = self.closed.pop_first() else { break };
            self.index.ended.remove(&id);
            older.extend(oldest.into_value().map(|oldest| (ended, *oldest)));
        }
        older
    }

    /// What is due by now, the earliest first.
    pub(crate) fn due(&self, at: Timestamp) -> impl Iterator<Item = (Timestamp, &DecisionPoint)> {
        let due = self.index.due.iter().take_while(move |(due_at, _)| *due_at <= at);
        due.filter_map(|(due_at, id)| Some((*due_at, self.live.get(id)?)))
    }

    /// How many that ended are remembered.
    pub(crate) fn closed_count(&self) -> usize {
        self.closed.len()
    }

    pub(crate) fn next_due(&self) -> Option<Timestamp> {
        self.index.due.first().map(|(at, _)| *at)
    }

    /// What is carried: the live ones, and those that ended with the record that ended them.
    pub(crate) fn carried(&self) -> (Vec<&DecisionPoint>, &Closed) {
        (self.live.values().collect(), &self.closed)
    }

    /// Those that were carried; the index follows from them.
    pub(crate) fn from_carried(
        live: Vec<DecisionPoint>,
        closed: Vec<(u64, (Text, Kept<DecisionPoint>))>,
    ) -> Self {
        let closed: Closed = closed.into_iter().collect();
        let mut index = Index::default();
        live.iter().for_each(|point| index.follow(point));
        index.ended = closed.iter().map(|(at, (id, _))| (id.clone(), *at)).collect();
        let live = live.into_iter().map(|point| (point.decision_id.clone(), point)).collect();
        Self { live, closed, index }
    }

    /// Decodes those that ended; the ids by which they are found are then theirs. Says whether
    /// each is one.
    pub(crate) fn decode(&mut self) -> bool {
        let are_points = self.closed.values_mut().all(|(_, point)| point.decode());
        for (id, point) in self.closed.values_mut() {
            if let Some(point) = point.get() {
                id.clone_from(&point.decision_id);
            }
        }
        are_points
    }
}

/// Those that ended, by the record that ended them.
pub(crate) type Closed = BTreeMap<u64, (Text, Kept<DecisionPoint>)>;

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
